/* SPDX-License-Identifier: ISC */
#include "conf/permit-pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/conf-internal.h"

/* Reads a port number, the name of a service, or "*", for which *port is 0. */
static bool
parse_port(const char *text, uint16_t *port)
{
	int number;

	*port = 0;
	if (strcmp(text, "*") == 0)
		return true;
	number = isalnum((unsigned char)text[0]) ? conf_port_number(text) : -1;
	if (number > 0)
		*port = (uint16_t)number;
	return number > 0;
}

int
permit_pattern_parse(struct permit_pattern *out, const char *text,
    bool port_alone)
{
	const char *host = text, *end, *port = NULL;

	if (text[0] == '[') {
		host++;
		end = strchr(host, ']');
		if (end != NULL && end[1] == ':')
			port = end + 2;
	} else if ((end = strchr(text, ':')) != NULL) {
		port = end + 1;
	} else if (port_alone) {
		port = text;
		host = "*";
		end = host + 1;
	} else {
		return ERR_LIMIT;
	}
	if (port == NULL || end == host || end - host > PERMIT_HOST_MAX)
		return ERR_SYNTAX;
	out->host = host;
	out->host_len = (size_t)(end - host);
	return parse_port(port, &out->port) ? 0 : ERR_LIMIT;
}

/* ---- lists -------------------------------------------------------------- */

static bool
permits(const char *word, const char *host, uint16_t port)
{
	struct permit_pattern p;

	if (str_equal_nocase(word, "any"))
		return true;
	if (permit_pattern_parse(&p, word, false) != 0 ||
	    (p.port != 0 && p.port != port))
		return false;
	return (p.host_len == 1 && p.host[0] == '*') ||
	    (p.host_len == strlen(host) &&
		memcmp(p.host, host, p.host_len) == 0);
}

bool
permit_list_opens(const struct strlist *list, const char *host, uint16_t port)
{
	for (size_t i = 0; i < list->n; i++)
		if (permits(list->v[i], host, port))
			return true;
	return false;
}

/* ---- as a keyword ------------------------------------------------------- */

static int
check(const struct conf_row *row, const char *word,
    const struct conf_location *at)
{
	struct permit_pattern p;
	char *name;
	int r = permit_pattern_parse(&p, word, row->param != 0);

	if (r == 0)
		return 0;
	name = conf_lower(row->name);
	r = conf_error(at, "bad %s in %s: \"%s\"",
	    r == ERR_SYNTAX ? "host" : "port number", name, word);
	free(name);
	return r;
}

static bool
stands_alone(const char *word)
{
	return str_equal_nocase(word, "any") || str_equal_nocase(word, "none");
}

static int
parse(const struct conf_row *row, void *field, const struct strlist *words,
    const struct conf_location *at)
{
	for (size_t i = 0; i < words->n; i++) {
		if (words->n > 1 && stands_alone(words->v[i]))
			return conf_error(at, "keyword %s \"%s\" argument "
			    "must appear alone.", row->name, words->v[i]);
		if (words->n > 1 || !stands_alone(words->v[i])) {
			int r = check(row, words->v[i], at);

			if (r < 0)
				return r;
		}
	}
	return conf_list.parse(row, field, words, at);
}

/* Writes the list. A port that was written alone is shown as *:port. */
static int
format(const struct conf_row *row, const void *field, struct strlist *words)
{
	const struct strlist *list = field;
	char *text;
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		if (row->param == 0 || stands_alone(list->v[i]) ||
		    strchr(list->v[i], ':') != NULL) {
			r = strlist_add(words, list->v[i]);
			continue;
		}
		xasprintf(&text, "*:%s", list->v[i]);
		r = strlist_add(words, text);
		free(text);
	}
	return r;
}

const struct conf_type conf_permits = { parse, format,
	conf_clear_list, NULL, false };
