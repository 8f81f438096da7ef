/* SPDX-License-Identifier: ISC */
#include "server/monitor/authorized-keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/addr-match.h"
#include "keys/timestamp.h"

enum { ENV_MAX = 1024 }; /* environment= options of a line */

void
authkeys_options_init(struct authkeys_options *o)
{
	*o = (struct authkeys_options){ 0 };
	permits_init(&o->permits);
	o->permits.no_touch = false;
}

void
authkeys_options_clear(struct authkeys_options *o)
{
	free(o->from);
	free(o->principals);
	permits_clear(&o->permits);
	*o = (struct authkeys_options){ 0 };
}

/* Options without a value. Each sets one flag to `value`, or with "no-" in
 * front to the opposite. */
static const struct {
	const char *name;
	size_t flag; /* offset of the flag in struct authkeys_options */
	bool negatable, value;
	unsigned bits; /* 0: the flag is a bool; else an unsigned that is set to
			* these bits */
} flags[] = {
#define PERMIT(field) offsetof(struct authkeys_options, permits.field)
	{ "pty", PERMIT(pty), true, true, 0 },
	{ "user-rc", PERMIT(user_rc), true, true, 0 },
	{ "agent-forwarding", PERMIT(agent_forwarding), true, true, 0 },
	{ "port-forwarding", PERMIT(forward), true, true,
	    PERMITS_FORWARD_ALL },
	{ "X11-forwarding", PERMIT(x11_forwarding), true, true, 0 },
	{ "touch-required", PERMIT(no_touch), true, false, 0 },
	{ "verify-required", PERMIT(verify_required), true, true, 0 },
	{ "cert-authority", offsetof(struct authkeys_options, cert_authority),
	    false, true, 0 },
#undef PERMIT
};

static void
set_bits(void *field, unsigned bits, bool on)
{
	if (bits != 0)
		*(unsigned *)field = on ? bits : 0;
	else
		*(bool *)field = on;
}

static bool
set_flag(struct authkeys_options *o, const char *name, size_t len)
{
	struct permits *p = &o->permits;
	bool negated = false;

	if (len == 8 && strncasecmp(name, "restrict", len) == 0) {
		p->pty = p->user_rc = p->agent_forwarding = false;
		p->x11_forwarding = false;
		p->forward = 0;
		p->tunnel_modes = 0; /* no later option allows tunnels again */
		return true;
	}
	if (len > 3 && strncasecmp(name, "no-", 3) == 0) {
		negated = true;
		name += 3;
		len -= 3;
	}
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (!str_is_span_nocase(flags[i].name, name, len) ||
		    (negated && !flags[i].negatable))
			continue;
		set_bits((char *)o + flags[i].flag, flags[i].bits,
		    flags[i].value != negated);
		return true;
	}
	return false;
}

/* Reads a quoted text, in which \" is a quote, and moves *s behind it. NULL: it
 * has no end, or out of memory. Caller frees. */
static char *
take_quoted(const char **s)
{
	const char *p = *s;
	char *text, *to;

	if (*p++ != '"' || (text = to = malloc(strlen(p) + 1)) == NULL)
		return NULL;
	for (; *p != '"'; p++) {
		if (*p == '\0') {
			free(text);
			return NULL;
		}
		if (p[0] == '\\' && p[1] == '"')
			p++;
		*to++ = *p;
	}
	*to = '\0';
	*s = p + 1;
	return text;
}

static int
set_once(char **field, char **text, const char **why)
{
	if (*field != NULL) {
		*why = "option is given twice";
		return ERR_SYNTAX;
	}
	*field = *text;
	*text = NULL;
	return 0;
}

/* Of several expiry-time options the earliest counts. The time 0 is refused,
 * because it would mean that there is no limit. */
static int
set_expiry(struct permits *p, const char *text)
{
	uint64_t when;

	if (timestamp_parse(text, &when) != 0 || when == 0)
		return ERR_SYNTAX;
	if (p->expires == 0 || (int64_t)when < p->expires)
		p->expires = (int64_t)when;
	return 0;
}

static int
set_tunnel(struct permits *p, const char *text)
{
	if (str_equal_nocase(text, "any")) {
		p->tunnel_unit = PERMITS_TUNNEL_ANY;
		return 0;
	}
	return str_to_int(text, 0, PERMITS_TUNNEL_MAX, &p->tunnel_unit);
}

/* Returns r; if it is an error, sets *why to the problem. */
static int
checked(int r, const char *problem, const char **why)
{
	if (r != 0)
		*why = problem;
	return r;
}

/* Handles an option with a value. *text becomes NULL if the value is kept; else
 * the caller frees it. */
static int
set_value(struct authkeys_options *o, const char *name, size_t len,
    char **text, const char **why)
{
#define IS(word) (len == sizeof(word) - 1 && strncasecmp(name, word, len) == 0)
	struct permits *p = &o->permits;

	if (IS("command"))
		return set_once(&p->command, text, why);
	if (IS("from"))
		return set_once(&o->from, text, why);
	if (IS("principals"))
		return set_once(&o->principals, text, why);
	if (IS("environment"))
		return checked(p->env.n < ENV_MAX ? permits_add_env(p, *text) :
						    ERR_LIMIT,
		    "bad environment string", why);
	if (IS("expiry-time"))
		return checked(set_expiry(p, *text), "bad expiry time", why);
	if (IS("permitopen"))
		return checked(permits_add_open(p, *text), "bad permitopen",
		    why);
	if (IS("permitlisten"))
		return checked(permits_add_listen(p, *text),
		    "bad permitlisten", why);
	if (IS("tunnel"))
		return checked(set_tunnel(p, *text), "bad tunnel device",
		    why);
	*why = "unknown key option";
	return ERR_UNSUPPORTED;
#undef IS
}

/* Parses the options at *s up to the first unquoted blank, and moves *s
 * there. */
static int
parse_options(const char **s, struct authkeys_options *o,
    const char **why)
{
	const char *p = *s;
	char *text;
	size_t len;
	int r;

	*why = NULL;
	for (;;) {
		len = strcspn(p, "=, \t");
		if (p[len] == '=') {
			const char *value = p + len + 1;

			text = take_quoted(&value);
			if (text == NULL) {
				*why = "missing quote";
				return ERR_SYNTAX;
			}
			r = set_value(o, p, len, &text, why);
			free(text);
			if (r != 0)
				return r;
			p = value;
		} else {
			if (!set_flag(o, p, len)) {
				*why = "unknown key option";
				return ERR_UNSUPPORTED;
			}
			p += len;
		}
		if (*p == ' ' || *p == '\t' || *p == '\0')
			break;
		if (*p++ != ',' || *p == '\0') {
			*why = "options are not separated by commas";
			return ERR_SYNTAX;
		}
	}
	*s = p;
	return 0;
}

int
authkeys_parse_options(const char *text, struct authkeys_options *o,
    const char **why)
{
	int r;

	authkeys_options_init(o);
	r = parse_options(&text, o, why);
	if (r == 0 && *text != '\0') {
		*why = "blanks between options";
		r = ERR_SYNTAX;
	}
	if (r != 0)
		authkeys_options_clear(o);
	return r;
}

static const char *
skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Decodes the blob in "type base64" at s. ERR_FORMAT: that is no key. Only the
 * type in the blob is checked, because files may have thousands of lines.
 * Caller frees. */
static int
parse_key(const char *s, uint8_t **blob, size_t *len)
{
	size_t type_len = strcspn(s, " \t"), b64_len;
	const char *b64 = skip_blanks(s + type_len);
	struct span type;
	struct rd r;

	b64_len = strcspn(b64, " \t\r\n");
	if (type_len == 0 || b64_len == 0 ||
	    str_base64_decode(b64, b64_len, blob, len) != 0)
		return ERR_FORMAT;
	r = rd_from(*blob, *len);
	type = rd_string(&r);
	if (rd_err(&r) == 0 && type.len == type_len &&
	    memcmp(type.p, s, type_len) == 0)
		return 0;
	free(*blob);
	return ERR_FORMAT;
}

/* Compares the key at s. 0: it has the wanted blob; ERR_NOT_FOUND: it is
 * another key; ERR_FORMAT: the text is no key. Lines have plain keys, so
 * comparing the bytes is enough. */
static int
look_for_key(const char *s, struct span blob_wanted)
{
	uint8_t *blob;
	size_t len;
	bool same;
	int r = parse_key(s, &blob, &len);

	if (r != 0)
		return r;
	same = len == blob_wanted.len && memcmp(blob, blob_wanted.p, len) == 0;
	free(blob);
	return same ? 0 : ERR_NOT_FOUND;
}

/* Whether the line is of the wanted kind. A line with cert-authority does not
 * let its own key in, and a line without does not let in certificates that its
 * key has signed. */
static int
check_kind(const struct authkeys_wanted *wanted,
    const struct authkeys_options *o, const char **why)
{
	/* Its author wanted a restriction, which has no effect on a plain key,
	 * so the line lets nobody in. */
	if (o->principals != NULL && !o->cert_authority) {
		*why = "principals without cert-authority";
		return ERR_SYNTAX;
	}
	return o->cert_authority == wanted->is_ca ? 0 : ERR_NOT_FOUND;
}

int
authkeys_match_line(const char *line, const struct authkeys_wanted *wanted,
    struct authkeys_options *o, const char **why)
{
	const char *s = skip_blanks(line), *rest;
	int r;

	authkeys_options_init(o);
	*why = NULL;
	if (*s == '\0' || *s == '\n' || *s == '\r' || *s == '#')
		return ERR_NOT_FOUND;
	r = look_for_key(s, wanted->blob);
	/* The line does not begin with a key, so options come first. They
	 * matter only if the key behind them is the wanted one. */
	if (r == ERR_FORMAT) {
		rest = s;
		r = parse_options(&rest, o, why);
		if (r == 0)
			r = look_for_key(skip_blanks(rest), wanted->blob);
		if (r == ERR_FORMAT)
			*why = "no key behind the options";
	}
	if (r == 0)
		r = check_kind(wanted, o, why);
	if (r != 0)
		authkeys_options_clear(o);
	return r;
}

enum authkeys_applies
authkeys_options_apply(const struct authkeys_options *o, const char *host,
    const char *address, int64_t now)
{
	int r;

	if (o->permits.expires != 0 && now >= o->permits.expires)
		return AUTHKEYS_EXPIRED;
	if (o->from == NULL)
		return AUTHKEYS_APPLIES;
	r = addr_match_host(host, address, o->from);
	if (r == 1)
		return AUTHKEYS_APPLIES;
	return r < -1 ? AUTHKEYS_BAD_NETWORK : AUTHKEYS_OTHER_CLIENT;
}
