/* SPDX-License-Identifier: ISC */
/* Parses the options (-O) and the validity (-V) of a certificate that is to be
 * made. */
#include "keytools/keygen/keygen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/timestamp.h"
#include "keytools/keygen/keygen-cert.h"

/* ---- validity ----------------------------------------------------------- */

/* A time relative to now: "+1d", "-2h". */
static bool
relative(const char *text, time_t now, uint64_t *out)
{
	int64_t seconds;

	if (str_to_seconds(text + 1, &seconds) != 0)
		return false;
	if (*text == '-')
		seconds = -seconds;
	if (seconds > 0 ? now > INT64_MAX - seconds : now < -seconds)
		return false;
	*out = (uint64_t)(now + seconds);
	return true;
}

/* A time as "0x" and hexadecimal digits: seconds since 1970. */
static bool
hexadecimal(const char *text, uint64_t *out)
{
	size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");

	if (digits == 0 || digits > 16 || text[2 + digits] != '\0')
		return false;
	*out = strtoull(text + 2, NULL, 16);
	return true;
}

static bool
moment(const char *text, time_t now, uint64_t *out)
{
	if (*text == '+' || *text == '-')
		return relative(text, now, out);
	if (strncmp(text, "0x", 2) == 0)
		return hexadecimal(text, out);
	return timestamp_parse(text, out) == 0;
}

static void
parse_range(const char *text, time_t now, uint64_t *after, uint64_t *before)
{
	size_t len = strcspn(text, ":");
	char *from = xstrndup(text, len);
	const char *to = text + len + 1;

	if (strcmp(from, "always") != 0 && !moment(from, now, after))
		fatal("Invalid from time \"%s\"", from);
	if (strcmp(to, "forever") != 0 && !moment(to, now, before))
		fatal("Invalid to time \"%s\"", to);
	free(from);
}

void
keygen_validity_parse(const char *text, time_t now, uint64_t *after,
    uint64_t *before)
{
	const char *colon = text != NULL ? strchr(text, ':') : NULL;

	*after = 0;
	*before = CERT_FOREVER;
	if (text == NULL)
		return;
	if (colon != NULL && colon != text && colon[1] != '\0') {
		parse_range(text, now, after, before);
	} else {
		if (*text != '+' || !relative(text, now, before))
			fatal("Invalid certificate life specification %s",
			    text);
		/* Begins at a full minute in the past, because the clock of the
		 * host that checks the certificate may be behind. */
		*after = (uint64_t)(now - 59) / 60 * 60;
	}
	if (*before <= *after)
		fatal("Empty certificate validity interval");
}

char *
keygen_validity(const struct cert *c)
{
	char *from = timestamp_format(c->valid_after), *text;
	char *to = timestamp_format(c->valid_before);

	if (from == NULL || to == NULL)
		fatal("out of memory");
	if (c->valid_after == 0 && c->valid_before == CERT_FOREVER)
		text = xstrdup("forever");
	else if (c->valid_after == 0)
		xasprintf(&text, "before %s", to);
	else if (c->valid_before == CERT_FOREVER)
		xasprintf(&text, "after %s", from);
	else
		xasprintf(&text, "from %s to %s", from, to);
	free(from);
	free(to);
	return text;
}

/* ---- options ------------------------------------------------------------ */

/* Certificate options without a value. */
static const struct flag {
	const char *on, *off; /* words of -O */
	const char *name;     /* name in the certificate */
	bool critical, usual; /* usual: users have it without any -O */
} flags[] = {
	{ "permit-x11-forwarding", "no-x11-forwarding",
	    "permit-X11-forwarding", false, true },
	{ "permit-agent-forwarding", "no-agent-forwarding",
	    "permit-agent-forwarding", false, true },
	{ "permit-port-forwarding", "no-port-forwarding",
	    "permit-port-forwarding", false, true },
	{ "permit-pty", "no-pty", "permit-pty", false, true },
	{ "permit-user-rc", "no-user-rc", "permit-user-rc", false, true },
	{ "no-touch-required", "touch-required", "no-touch-required", false,
	    false },
	{ "verify-required", "no-verify-required", "verify-required", true,
	    false },
};

struct choices {
	bool on[ARRAY_LEN(flags)];
	struct cert_request *request;
};

static void
add(struct cert_options *o, const char *name, const char *value)
{
	if (cert_options_add(o, name, value) != 0)
		fatal("out of memory");
}

/* True for an IP address, or a network "address/bits" whose address is zero
 * behind these bits. */
static bool
is_network(const char *text, size_t len)
{
	char *word = xstrndup(text, len), *slash = strchr(word, '/');
	unsigned char bytes[sizeof(struct in6_addr)];
	int64_t bits = 0, all;
	bool ok;

	if (slash != NULL)
		*slash = '\0';
	all = strchr(word, ':') != NULL ? 128 : 32;
	ok = inet_pton(all == 128 ? AF_INET6 : AF_INET, word, bytes) == 1;
	if (ok && slash != NULL) {
		ok = str_to_int(slash + 1, 0, all, &bits) == 0;
		for (; ok && bits < all; bits++)
			ok = (bytes[bits / 8] >> (7 - bits % 8) & 1) == 0;
	}
	free(word);
	return ok;
}

static void
check_networks(const char *list)
{
	const char *pos = list;

	for (;;) {
		size_t len = strcspn(pos, ",");

		if (!is_network(pos, len))
			fatal("Invalid source-address list: %s", list);
		if (pos[len] == '\0')
			return;
		pos += len + 1;
	}
}

/* Takes the option "word=value" as a critical option; false: text is another
 * option. */
static bool
valued(struct choices *c, const char *text, const char *word)
{
	const char *value = text + strlen(word) + 1;

	if (strncasecmp(text, word, strlen(word)) != 0 || value[-1] != '=')
		return false;
	if (*value == '\0')
		fatal("Empty %s option", word);
	if (cert_options_has(&c->request->critical, word))
		fatal("%s already specified", word);
	add(&c->request->critical, word, value);
	return true;
}

/* Takes an option with a name of the user's choice, "critical:name=value" or
 * "extension:name"; false: text is another option. */
static bool
custom(struct cert_options *o, const char *text, const char *word)
{
	char *name, *equals;

	if (!str_has_prefix(text, word) || text[strlen(word)] == '\0')
		return false;
	name = xstrdup(text + strlen(word));
	equals = strchr(name, '=');
	if (equals != NULL)
		*equals++ = '\0';
	add(o, name, equals);
	free(name);
	return true;
}

static bool
flag(struct choices *c, const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		bool on = strcasecmp(text, flags[i].on) == 0;

		if (!on && strcasecmp(text, flags[i].off) != 0)
			continue;
		c->on[i] = on;
		return true;
	}
	return false;
}

static void
take(struct choices *c, const char *text)
{
	if (strcasecmp(text, "clear") == 0) {
		memset(c->on, 0, sizeof c->on);
		return;
	}
	if (valued(c, text, "source-address")) {
		check_networks(strchr(text, '=') + 1);
		return;
	}
	if (!flag(c, text) && !valued(c, text, "force-command") &&
	    !custom(&c->request->critical, text, "critical:") &&
	    !custom(&c->request->extensions, text, "extension:"))
		fatal("Unsupported certificate option \"%s\"", text);
}

void
keygen_cert_options(const struct keygen_options *o,
    struct cert_request *request)
{
	struct choices c = { .request = request };

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		c.on[i] = flags[i].usual && request->kind == CERT_USER;
	for (size_t i = 0; i < o->options.n; i++)
		take(&c, o->options.v[i]);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (c.on[i])
			add(flags[i].critical ? &request->critical :
						&request->extensions,
			    flags[i].name, NULL);
	}
}
