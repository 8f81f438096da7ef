/* SPDX-License-Identifier: ISC */
/* Canonical host names (CanonicalizeHostname): which names are looked up, and
 * which of their aliases in the DNS are accepted. */
#include "conf/client-conf-internal.h"

#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	NAME_MAX_BYTES = 253, /* RFC 1035 section 2.3.4, as text */
	SEARCH_MS = 60000,    /* if ConnectTimeout is not set */
};

/* ---- values ------------------------------------------------------------- */

const struct conf_enum client_canonical_values[] = {
	{ "false", CLIENT_CANONICAL_NO },
	{ "true", CLIENT_CANONICAL_YES },
	{ "always", CLIENT_CANONICAL_ALWAYS },
	{ "no", CLIENT_CANONICAL_NO },
	{ "yes", CLIENT_CANONICAL_YES },
	{ "none", CLIENT_CANONICAL_NO },
	{ NULL, 0 },
};

static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* Is s a domain name: labels of letters, digits, - and _, none of them
 * empty? */
static bool
is_domain(const char *s)
{
	size_t len = strlen(s);

	if (len == 0 || len > NAME_MAX_BYTES ||
	    !isalnum((unsigned char)s[0]) || s[len - 1] == '.' ||
	    strstr(s, "..") != NULL)
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("-_.", *s) == NULL)
			return false;
	return true;
}

static void
drop_last_dot(char *s)
{
	size_t len = strlen(s);

	if (len > 0 && s[len - 1] == '.')
		s[len - 1] = '\0';
}

static char *
domain_word(const char *word)
{
	char *s = xstrdup(word);

	lower(s);
	drop_last_dot(s);
	if (is_domain(s))
		return s;
	free(s);
	return NULL;
}

/* Checks "PATTERNS:PATTERNS" and makes it lower case: names that may be
 * replaced, and aliases that may replace them. The caller frees the result;
 * NULL: it is malformed. */
static char *
rule_word(const char *word)
{
	const char *colon = strchr(word, ':');
	char *s;

	if (colon == NULL || colon[1] == '\0')
		return NULL;
	s = xstrdup(word);
	lower(s);
	return s;
}

/* Passes each word through `convert`, and parses the results as a list. */
static int
parse_converted(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at,
    char *(*convert)(const char *word))
{
	struct strlist all = { 0 };
	char *s;
	int r = 0;

	if (words->n == 1 && str_equal_nocase(words->v[0], "none"))
		return conf_list.parse(row, field, words, at);
	for (size_t i = 0; r == 0 && i < words->n; i++) {
		/* conf_list.parse() refuses a "none" that does not stand
		 * alone. */
		s = str_equal_nocase(words->v[i], "none") ?
		    xstrdup("none") : convert(words->v[i]);
		r = s != NULL ? strlist_add(&all, s) :
				conf_error(at, "%s: bad value \"%s\"",
				    row->name, words->v[i]);
		free(s);
	}
	if (r == 0)
		r = conf_list.parse(row, field, &all, at);
	strlist_clear(&all);
	return r;
}

static int
parse_domains(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	return parse_converted(row, field, words, at, domain_word);
}

static int
parse_rules(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	return parse_converted(row, field, words, at, rule_word);
}

const struct conf_type client_domains_type = { parse_domains,
	conf_format_list, conf_clear_list, NULL, false };
const struct conf_type client_cnames_type = { parse_rules, conf_format_list,
	conf_clear_list, NULL, false };

/* ---- which names -------------------------------------------------------- */

struct search {
	struct client_conf *c;
	client_conf_resolve_fn resolve;
	uint64_t end_ms;
	bool direct; /* no proxy stands between us and the host */
};

/* The address in the form in which the system writes it (127.1 is 127.0.0.1).
 * The caller frees it. NULL: name is not a numeric address. */
static char *
as_address(const char *name, int family)
{
	const struct addrinfo hints = { .ai_family = family,
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai = NULL;
	char text[NI_MAXHOST];
	int r;

	if (getaddrinfo(name, NULL, &hints, &ai) != 0)
		return NULL;
	r = getnameinfo(ai->ai_addr, ai->ai_addrlen, text, sizeof text, NULL,
	    0, NI_NUMERICHOST);
	freeaddrinfo(ai);
	return r == 0 ? xstrdup(text) : NULL;
}

static unsigned
dots_in(const char *name)
{
	unsigned n = 0;

	for (; *name != '\0'; name++)
		n += *name == '.';
	return n;
}

/* Does CanonicalizePermittedCNAMEs allow `from` to be replaced by `to`, its
 * alias in the DNS? The DNS answer may be forged, so a name that is no plain
 * domain name is never accepted: a command or a file could misread it. */
static bool
is_permitted(const struct client_conf *c, const char *from, const char *to)
{
	bool permitted = false;
	char *sources, *targets;

	if (!is_domain(to))
		return false;
	for (size_t i = 0; i < c->canonical.cnames.n && !permitted; i++) {
		sources = xstrdup(c->canonical.cnames.v[i]);
		targets = strchr(sources, ':');
		*targets++ = '\0';
		permitted = str_match_list(from, sources, true) > 0 &&
		    str_match_list(to, targets, true) > 0;
		free(sources);
	}
	return permitted;
}

static void
set_hostname(struct client_conf *c, char *name)
{
	free(c->host.hostname);
	c->host.hostname = name;
}

/* Called when the name was found: makes it, or its alias if that is permitted,
 * the host's name, and keeps the addresses for the connection. Takes ownership
 * of name and list. */
static void
take(const struct search *s, char *name, struct addrinfo *list,
    const char *alias)
{
	struct client_conf *c = s->c;
	char *to = xstrdup(alias != NULL ? alias : "");

	drop_last_dot(name);
	lower(to);
	drop_last_dot(to);
	if (*to != '\0' && strcmp(to, name) != 0) {
		if (is_permitted(c, name, to)) {
			log_debug("%s is an alias of %s", name, to);
			free(name);
			name = xstrdup(to);
		} else {
			log_debug("%s is not followed to %.300s: "
				  "CanonicalizePermittedCNAMEs does not say so",
			    name, to);
		}
	}
	free(to);
	if (strcmp(name, c->host.hostname) != 0)
		log_debug("the canonical name of %s is %s", c->host.hostname,
		    name);
	set_hostname(c, name);
	if (c->load.addresses != NULL)
		freeaddrinfo(c->load.addresses);
	c->load.addresses = s->direct ? list : NULL;
	c->load.addresses_family = c->tcp.address_family;
	if (!s->direct)
		freeaddrinfo(list);
}

/* Looks up the name, which it owns from then on. Returns 0 if it is the host's
 * name now, ERR_NOT_FOUND or ERR_TIMEOUT. expected: that it is not found is
 * logged as an error. */
static int
try_name(const struct search *s, char *name, bool expected)
{
	struct addrinfo *list = NULL;
	char *alias = NULL;
	int r;

	if (clock_ms() >= s->end_ms) {
		log_error("%s: no time is left to look up %s",
		    called_ssh(), name);
		free(name);
		return ERR_TIMEOUT;
	}
	r = s->resolve(name, s->c->tcp.address_family, expected, &list,
	    &alias);
	if (r == 0)
		take(s, name, list, alias);
	else
		free(name);
	free(alias);
	return r;
}

/* Looks up the host's name with each of CanonicalDomains behind it. A name that
 * ends with a dot is complete and is looked up alone. */
static int
try_names(const struct search *s)
{
	const struct client_conf *c = s->c;
	const char *host = c->host.hostname;
	size_t len = strlen(host);
	int r = ERR_NOT_FOUND;
	char *name;

	if (len > 0 && host[len - 1] == '.')
		return try_name(s, xstrdup(host), false);
	for (size_t i = 0; r == ERR_NOT_FOUND && i < c->canonical.domains.n;
	     i++) {
		xasprintf(&name, "%s.%s.", host, c->canonical.domains.v[i]);
		r = try_name(s, name, false);
	}
	return r;
}

static bool
is_complete(const struct client_conf *c)
{
	const char *host = c->host.hostname;
	size_t len = strlen(host);

	return dots_in(host) > (unsigned)c->canonical.max_dots &&
	    host[len - 1] != '.';
}

static int
search(const struct search *s)
{
	struct client_conf *c = s->c;
	int r = ERR_NOT_FOUND;

	if (!is_complete(c)) {
		r = try_names(s);
		if (r == ERR_NOT_FOUND && !c->canonical.fallback_local) {
			log_error("%s: Could not resolve host \"%s\"",
			    called_ssh(), c->host.hostname);
			return r;
		}
	}
	if (r != ERR_NOT_FOUND || c->canonical.cnames.n == 0)
		return r == ERR_NOT_FOUND ? 0 : r;
	/* The name is looked up as the system resolves it, because its alias
	 * may be permitted. The name of a host behind a proxy need not be known
	 * here. */
	r = try_name(s, xstrdup(c->host.hostname), s->direct);
	return r == ERR_NOT_FOUND && !s->direct ? 0 : r;
}

/* ---- from outside ------------------------------------------------------- */

/* Fixes the values that the search uses, so that a second reading of the files
 * cannot change them. */
static int
settle_values(struct client_conf *c)
{
	static const struct {
		const char *keyword, *value;
	} rest[] = { { "CanonicalizeHostname", "no" },
		{ "CanonicalizeFallbackLocal", "yes" },
		{ "CanonicalizeMaxDots", "1" } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(rest); i++)
		if (!client_conf_is_set(c, rest[i].keyword))
			r = client_conf_set(c, rest[i].keyword, rest[i].value);
	return r;
}

/* Sets Hostname to the host's name in lower case, an address in the form in
 * which the system writes it. It counts as set, so a Hostname in the second
 * reading is ignored. */
static int
settle_hostname(struct client_conf *c)
{
	const char *given = c->host.hostname != NULL ? c->host.hostname :
						       c->load.original_host;
	char *name = xstrdup(given), *address;
	int r;

	lower(name);
	address = as_address(name, c->tcp.address_family);
	if (address != NULL) {
		free(name);
		name = address;
	}
	r = client_conf_replace(c, "Hostname", name);
	free(name);
	return r;
}

int
client_conf_canonicalize(struct client_conf *c, client_conf_resolve_fn resolve)
{
	int limit_s = c->tcp.connect_timeout;
	struct search s = {
		.c = c,
		.resolve = resolve,
		.end_ms = clock_ms() +
		    (limit_s > 0 ? (uint64_t)limit_s * 1000 : SEARCH_MS),
		.direct = c->tcp.proxy_command == NULL &&
		    c->tcp.proxy_jump == NULL,
	};
	char *address;
	int r;

	if ((r = settle_hostname(c)) < 0 || (r = settle_values(c)) < 0)
		return r;
	if (c->canonical.hostname == CLIENT_CANONICAL_NO || resolve == NULL ||
	    (c->canonical.hostname == CLIENT_CANONICAL_YES && !s.direct))
		return 0;
	address = as_address(c->host.hostname, AF_UNSPEC);
	free(address);
	return address != NULL ? 0 : search(&s);
}
