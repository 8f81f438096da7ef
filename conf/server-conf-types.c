/* SPDX-License-Identifier: ISC */
/* The types of values that only keywords of the server have. */
#include "conf/server-conf-internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "conf/auth-method-table.h"

bool
server_split_listen(const char *text, struct server_listen *out)
{
	const char *host = text, *port = "", *colon;
	const char *blank = strchr(text, ' ');
	char address[sizeof out->host + sizeof out->port + 4];
	size_t len;
	int number = 0;

	out->rdomain[0] = '\0';
	if (blank != NULL) {
		if (!str_has_prefix(blank, RDOMAIN) ||
		    (size_t)(blank - text) >= sizeof address ||
		    strlcpy(out->rdomain, blank + sizeof RDOMAIN - 1,
			sizeof out->rdomain) >= sizeof out->rdomain ||
		    out->rdomain[0] == '\0')
			return false;
		memcpy(address, text, (size_t)(blank - text));
		address[blank - text] = '\0';
		host = text = address;
	}
	len = strlen(text);
	if (*text == '[') {
		host = text + 1;
		len = strcspn(host, "]");
		if (host[len] == '\0')
			return false;
		port = host + len + 1;
		if (*port == ':')
			port++;
		else if (*port != '\0')
			return false;
	} else if ((colon = strchr(text, ':')) != NULL &&
	    strchr(colon + 1, ':') == NULL) {
		len = (size_t)(colon - text);
		port = colon + 1;
		if (*port == '\0')
			return false;
	}
	/* An empty host is no wildcard: a template whose variable is not set
	 * shall not open every address. */
	if (len == 0 || len >= sizeof out->host ||
	    (*port != '\0' && (number = conf_port_number(port)) < 0))
		return false;
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	if (strcmp(out->host, "*") == 0)
		out->host[0] = '\0';
	out->port[0] = '\0';
	if (*port != '\0')
		snprintf(out->port, sizeof out->port, "%u",
		    (unsigned)(uint16_t)number);
	return true;
}

/* Port: a service's name is replaced by its number, so that the server's other
 * processes need not look it up. */
static int
parse_ports(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct strlist numbers = { 0 };
	char text[8];
	int port, r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++) {
		port = conf_port_number(words->v[i]);
		snprintf(text, sizeof text, "%d", port);
		r = port > 0 ? strlist_add(&numbers, text) :
			       conf_error(at, "%s: %s: is no port", row->name,
				   words->v[i]);
	}
	if (r == 0)
		r = conf_list.parse(row, field, &numbers, at);
	strlist_clear(&numbers);
	return r;
}

/* Adds a ListenAddress with its port as a number. Without a port it is added as
 * it was written. */
static int
add_listen(struct strlist *out, const char *word,
    const struct server_listen *listen)
{
	const char *host = *listen->host != '\0' ? listen->host : "*";
	bool ipv6 = strchr(host, ':') != NULL;
	char text[sizeof *listen + sizeof RDOMAIN + 4];

	if (*listen->port == '\0')
		return strlist_add(out, word);
	snprintf(text, sizeof text, "%s%s%s:%s%s%s", ipv6 ? "[" : "", host,
	    ipv6 ? "]" : "", listen->port,
	    listen->rdomain[0] != '\0' ? RDOMAIN : "", listen->rdomain);
	return strlist_add(out, text);
}

/* Parses "ADDRESS" or "ADDRESS rdomain NAME", and adds it with single
 * blanks. */
static int
parse_listen_line(const struct conf_row *row, struct strlist *out,
    const char *line, const struct conf_location *at)
{
	struct server_listen listen;
	struct strlist words = { 0 };
	char *text = NULL;
	int r = conf_words(line, &words, at);

	if (r == 0 && words.n != 1 &&
	    (words.n != 3 || !str_equal_nocase(words.v[1], "rdomain")))
		r = conf_error(at, "%s: takes an address, and perhaps "
				   "rdomain and its name", row->name);
	if (r == 0) {
		xasprintf(&text, "%s%s%s", words.v[0],
		    words.n == 3 ? RDOMAIN : "",
		    words.n == 3 ? words.v[2] : "");
		r = server_split_listen(text, &listen) ?
		    add_listen(out, text, &listen) :
		    conf_error(at, "%s: %s: is no address to listen on",
			row->name, text);
	}
	free(text);
	strlist_clear(&words);
	return r;
}

/* ListenAddress: a service's name as the port is replaced by its number, as for
 * Port. */
static int
parse_listen(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct strlist numeric = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++)
		r = parse_listen_line(row, &numeric, words->v[i], at);
	if (r == 0)
		r = conf_list.parse(row, field, &numeric, at);
	strlist_clear(&numeric);
	return r;
}

/* Reads up to n numbers with colons between them. Number i must be in [min[i],
 * max[i]]. Returns how many there are; 0: the text is malformed. */
static size_t
parse_colons(const char *text, const int64_t *min, const int64_t *max,
    int *out, size_t n)
{
	char word[24];
	int64_t v;
	size_t len, count = 0;

	for (;;) {
		len = strcspn(text, ":");
		if (count == n || len >= sizeof word)
			return 0;
		memcpy(word, text, len);
		word[len] = '\0';
		if (str_to_int(word, min[count], max[count], &v) < 0)
			return 0;
		out[count++] = (int)v;
		if (text[len] == '\0')
			return count;
		text += len + 1;
	}
}

/* The length of the beginning of text that is up to three numbers with colons
 * between them. */
static size_t
startups_len(const char *text)
{
	size_t len = 0, digits;

	for (int i = 0; i < 3; i++) {
		digits = strspn(text + len, "0123456789");
		if (digits == 0)
			break;
		len += digits;
		if (i == 2 || text[len] != ':')
			break;
		len++;
	}
	return len;
}

/* MaxStartups: "full" or "begin:rate:full". */
static int
parse_startups(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	static const int64_t min[] = { 1, 1, 1 };
	static const int64_t max[] = { INT_MAX, 100, INT_MAX };
	struct server_startups *s = field;
	int v[3];
	char *form = xstrdup(words->v[0]);
	size_t n;

	/* Text behind the numbers is ignored, as in OpenSSH. */
	form[startups_len(form)] = '\0';
	n = parse_colons(form, min, max, v, ARRAY_LEN(v));
	free(form);
	if (n == 1) {
		v[2] = v[0];
		v[1] = 30;
	} else if (n != 3 || v[0] > v[2]) {
		return conf_error(at, "%s: \"%s\" is not begin:rate:full",
		    row->name, words->v[0]);
	}
	*s = (struct server_startups){ v[0], v[1], v[2] };
	return 0;
}

static int
add_text(struct strlist *words, char *text)
{
	int r = strlist_add(words, text);

	free(text);
	return r;
}

static int
format_startups(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct server_startups *s = field;
	char *text;

	(void)row;
	xasprintf(&text, "%d:%d:%d", s->begin, s->rate, s->full);
	return add_text(words, text);
}

/* PerSourceNetBlockSize: "ipv4" or "ipv4:ipv6", in bits. */
static int
parse_net_bits(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	static const int64_t min[] = { 0, 0 }, max[] = { 32, 128 };
	int v[2] = { 32, 128 };

	if (parse_colons(words->v[0], min, max, v, ARRAY_LEN(v)) == 0)
		return conf_error(at, "%s: \"%s\" is not bits[:bits]",
		    row->name, words->v[0]);
	*(struct server_net_bits *)field = (struct server_net_bits){ v[0],
		v[1] };
	return 0;
}

static int
format_net_bits(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct server_net_bits *s = field;
	char *text;

	(void)row;
	xasprintf(&text, "%d:%d", s->ipv4, s->ipv6);
	return add_text(words, text);
}

/* Does this comma list of AuthenticationMethods contain only known methods? */
static bool
methods_valid(const char *list)
{
	const char *pos = list, *entry;
	const struct auth_method *m;
	bool unused;
	size_t len;

	if (*list == '\0' || *list == ',' || strstr(list, ",,") != NULL ||
	    list[strlen(list) - 1] == ',')
		return false;
	while (csv_next(&pos, &entry, &len))
		if ((m = auth_method_listed(entry, len, &unused)) == NULL ||
		    (m->not_first && entry == list) || m->stands_alone)
			return false;
	return true;
}

/* AuthenticationMethods: "any" alone, or several comma lists. A login must
 * complete all methods of one list. */
static int
parse_methods(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	if (words->n == 1 && str_equal_nocase(words->v[0], "any")) {
		conf_clear_list(field);
		return 0;
	}
	for (size_t i = 0; i < words->n; i++)
		if (!methods_valid(words->v[i]))
			return conf_error(at, "%s: \"%s\" is no list of "
			    "known methods", row->name, words->v[i]);
	return conf_list.parse(row, field, words, at);
}

static int
format_methods(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct strlist *l = field;

	(void)row;
	return l->n == 0 ? strlist_add(words, "any") : strlist_copy(words, l);
}

size_t
server_subsystem_name_len(const char *text)
{
	size_t len = strcspn(text, " \t");

	return text[len + strspn(text + len, " \t")] != '\0' ? len : 0;
}

bool
server_has_subsystem(const struct strlist *l, const char *name, size_t len)
{
	for (size_t i = 0; i < l->n; i++)
		if (server_subsystem_name_len(l->v[i]) == len &&
		    strncmp(l->v[i], name, len) == 0)
			return true;
	return false;
}

static int
parse_subsystem(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct strlist *l = field;
	size_t len;
	int r;

	for (size_t i = 0; i < words->n; i++) {
		len = server_subsystem_name_len(words->v[i]);
		if (len == 0)
			return conf_error(at, "%s: takes a name and a command",
			    row->name);
		if (server_has_subsystem(l, words->v[i], len))
			continue;
		if (l->n >= CONF_WORDS_MAX)
			return conf_error(at, "%s: too many", row->name);
		if ((r = strlist_add(l, words->v[i])) < 0)
			return r;
	}
	return 0;
}

const struct conf_type server_ports_type = { parse_ports, conf_format_list,
	conf_clear_list, NULL, false };
const struct conf_type server_listen_type = { parse_listen, conf_format_list,
	conf_clear_list, NULL, false };
const struct conf_type server_startups_type = { parse_startups,
	format_startups, NULL, NULL, true };
const struct conf_type server_net_bits_type = { parse_net_bits,
	format_net_bits, NULL, NULL, true };
const struct conf_type server_methods_type = { parse_methods, format_methods,
	conf_clear_list, NULL, false };
const struct conf_type server_subsystem_type = { parse_subsystem,
    conf_format_list,
	conf_clear_list, NULL, false };
