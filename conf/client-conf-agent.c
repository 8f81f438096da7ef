/* SPDX-License-Identifier: ISC */
/* The client's keyword AddKeysToAgent: whether keys are added to the agent, and
 * for how long. */
#include "conf/client-conf-internal.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* Of several names for the same value, -G shows the first one. */
static const struct conf_enum values[] = {
	{ "false", CLIENT_ADD_NO },
	{ "true", CLIENT_ADD_YES },
	{ "ask", CLIENT_ADD_ASK },
	{ "confirm", CLIENT_ADD_CONFIRM },
	{ "no", CLIENT_ADD_NO },
	{ "yes", CLIENT_ADD_YES },
	{ NULL, 0 },
};

/* Indices of the two numbers in struct client_conf that the keyword sets. */
enum { HOW, LIFETIME };

static int
parse_time(const char *text, int *out)
{
	int64_t v;

	if (str_to_seconds(text, &v) != 0 || v < 0 || v > INT_MAX)
		return ERR_SYNTAX;
	*out = (int)v;
	return 0;
}

static int
parse_add_keys(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	const struct conf_enum *e = values;
	int how = CLIENT_ADD_YES, lifetime = 0;

	if (words->n > 2)
		return conf_error(at, "%s: extra arguments at end of line",
		    row->name);
	while (e->name != NULL && !str_equal_nocase(e->name, words->v[0]))
		e++;
	if (e->name != NULL)
		how = e->value;
	if (words->n == 2 && how != CLIENT_ADD_CONFIRM)
		return conf_error(at, "%s: only confirm has a time behind it",
		    row->name);
	if (words->n == 2 && parse_time(words->v[1], &lifetime) != 0)
		return conf_error(at, "%s: \"%s\" is no time", row->name,
		    words->v[1]);
	if (e->name == NULL && parse_time(words->v[0], &lifetime) != 0)
		return conf_error(at, "%s: unsupported option \"%s\"",
		    row->name, words->v[0]);
	((int *)field)[HOW] = how;
	((int *)field)[LIFETIME] = lifetime;
	return 0;
}

static int
format_add_keys(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	int how = ((const int *)field)[HOW],
	    lifetime = ((const int *)field)[LIFETIME], r = 0;
	const struct conf_enum *e = values;
	char text[16];

	(void)row;
	while (e->name != NULL && e->value != how)
		e++;
	/* "yes" with a lifetime is written as the lifetime alone. */
	if (how != CLIENT_ADD_YES || lifetime == 0)
		r = strlist_add(words, e->name);
	if (r == 0 && lifetime > 0) {
		snprintf(text, sizeof text, "%d", lifetime);
		r = strlist_add(words, text);
	}
	return r;
}

const struct conf_type client_add_keys_type = { parse_add_keys,
	format_add_keys, NULL, NULL, false };

_Static_assert(offsetof(struct client_conf, auth.add_keys_lifetime) ==
	offsetof(struct client_conf, auth.add_keys) + sizeof(int),
    "the row of AddKeysToAgent writes two numbers");
