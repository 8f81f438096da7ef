/* SPDX-License-Identifier: ISC */
#include "conf/server-tickets.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/conf-internal.h"

enum { LIFETIME_MAX_S = 3600, LINGER_MAX_S = 24 * 3600 };

static const struct conf_enum address_values[] = {
	{ "same", SERVER_TICKET_SAME_ADDRESS },
	{ "any", SERVER_TICKET_ANY_ADDRESS },
	{ NULL, 0 },
};

static const struct conf_enum permit_values[] = {
	{ "transfer", SERVER_TICKET_TRANSFER },
	{ "all", SERVER_TICKET_ALL },
	{ NULL, 0 },
};

/* The parts behind "yes", NAME:VALUE, in the order in which -T shows them. */
static const struct part {
	const char *name;
	size_t offset;
	bool time; /* in seconds; else a number, or of values */
	int min, max, def;
	const struct conf_enum *values;
} parts[] = {
#define AT_PART(field) offsetof(struct server_tickets, field)
	{ "lifetime", AT_PART(lifetime_s), true, 1, LIFETIME_MAX_S, 60, NULL },
	{ "max", AT_PART(max), false, 1, SERVER_TICKETS_MAX, 16, NULL },
	{ "connections", AT_PART(connections), false, 1, SERVER_TICKETS_MAX,
	    16, NULL },
	{ "maxage", AT_PART(max_age_s), true, 1, INT_MAX, 8 * 3600, NULL },
	{ "linger", AT_PART(linger_s), true, 0, LINGER_MAX_S, 15 * 60, NULL },
	{ "address", AT_PART(address), false, 0, 0,
	    SERVER_TICKET_SAME_ADDRESS, address_values },
	{ "permit", AT_PART(permit), false, 0, 0, SERVER_TICKET_TRANSFER,
	    permit_values },
#undef AT_PART
};

_Static_assert(sizeof(struct server_tickets) <= CONF_FIELD_MAX,
    "a field of this size can not be checked without being kept");

static int *
field_of(struct server_tickets *t, const struct part *part)
{
	return (int *)(void *)((char *)t + part->offset);
}

static bool
set_part(struct server_tickets *t, const struct part *part, const char *text)
{
	int64_t v;

	if (part->values != NULL) {
		for (const struct conf_enum *e = part->values;
		    e->name != NULL; e++)
			if (str_equal_nocase(e->name, text)) {
				*field_of(t, part) = e->value;
				return true;
			}
		return false;
	}
	if ((part->time ? str_to_seconds(text, &v) :
			  str_to_int(text, part->min, part->max, &v)) < 0 ||
	    v < part->min || v > part->max)
		return false;
	*field_of(t, part) = (int)v;
	return true;
}

/* Sets the part that a word names. False: there is none, or it is not this. */
static bool
set_word(struct server_tickets *t, const char *word)
{
	size_t len = strcspn(word, ":");

	for (size_t i = 0; word[len] == ':' && i < ARRAY_LEN(parts); i++)
		if (str_is_span_nocase(parts[i].name, word, len))
			return set_part(t, &parts[i], word + len + 1);
	return false;
}

static int
parse_tickets(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct server_tickets t = { .enabled =
		str_equal_nocase(words->v[0], "yes") };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		*field_of(&t, &parts[i]) = parts[i].def;
	if ((!t.enabled && !str_equal_nocase(words->v[0], "no")) ||
	    (!t.enabled && words->n > 1))
		return conf_error(at, "%s: begins with yes, or is no",
		    row->name);
	for (size_t i = 1; i < words->n; i++)
		if (!set_word(&t, words->v[i]))
			return conf_error(at, "%s: \"%s\" is no part of it",
			    row->name, words->v[i]);
	*(struct server_tickets *)field = t;
	return 0;
}

static int
add_part(const struct server_tickets *t, const struct part *part,
    struct strlist *words)
{
	struct server_tickets copy = *t;
	int v = *field_of(&copy, part), r;
	char *text;

	if (part->values != NULL) {
		const struct conf_enum *e = part->values;

		while (e->value != v)
			e++;
		xasprintf(&text, "%s:%s", part->name, e->name);
	} else {
		xasprintf(&text, "%s:%d", part->name, v);
	}
	r = strlist_add(words, text);
	free(text);
	return r;
}

static int
format_tickets(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct server_tickets *t = field;
	int r = strlist_add(words, t->enabled ? "yes" : "no");

	(void)row;
	for (size_t i = 0; r == 0 && t->enabled && i < ARRAY_LEN(parts); i++)
		r = add_part(t, &parts[i], words);
	return r;
}

const struct conf_type server_tickets_type = { parse_tickets, format_tickets,
	NULL, NULL, false };
