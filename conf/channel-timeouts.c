/* SPDX-License-Identifier: ISC */
#include "conf/channel-timeouts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf-internal.h"

enum { TIMEOUTS_MAX = 1024 };

static const char global[] = "global";

static void
clear(void *field)
{
	struct conf_channel_timeouts *t = field;

	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].pattern);
	free(t->v);
	t->v = NULL;
	t->n = 0;
}

/* Adds "pattern=time". False if it is malformed. */
static bool
add(struct conf_channel_timeouts *t, const char *word)
{
	const char *eq = strchr(word, '=');
	int64_t seconds;

	if (eq == NULL || eq == word || t->n >= TIMEOUTS_MAX ||
	    str_to_seconds(eq + 1, &seconds) < 0 || seconds > INT_MAX)
		return false;
	t->v = xrecallocarray(t->v, t->n, t->n + 1, sizeof *t->v);
	t->v[t->n++] = (struct conf_channel_timeout){
		.pattern = xstrndup(word, (size_t)(eq - word)),
		.seconds = (int)seconds,
	};
	return true;
}

static int
parse(const struct conf_row *row, void *field, const struct strlist *words,
    const struct conf_location *at)
{
	struct conf_channel_timeouts next = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++) {
		if (str_equal_nocase(words->v[i], "none"))
			r = words->n == 1 ? 0 :
			    conf_error(at, "keyword %s \"none\" argument must "
				"appear alone.", row->name);
		else if (!add(&next, words->v[i]))
			r = conf_error(at, "invalid channel timeout %s",
			    words->v[i]);
	}
	clear(r < 0 ? &next : field);
	if (r == 0)
		*(struct conf_channel_timeouts *)field = next;
	return r;
}

static int
format(const struct conf_row *row, const void *field, struct strlist *words)
{
	const struct conf_channel_timeouts *t = field;
	char *text;
	int r = 0;

	(void)row;
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		xasprintf(&text, "%s=%d", t->v[i].pattern, t->v[i].seconds);
		r = strlist_add(words, text);
		free(text);
	}
	return r;
}

const struct conf_type conf_channel_timeouts_type = { parse, format, clear,
	NULL, false };

int
conf_channel_timeout(const struct conf_channel_timeouts *t, const char *kind)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].pattern, global) != 0 &&
		    str_match(kind, t->v[i].pattern))
			return t->v[i].seconds;
	return 0;
}

int
conf_channel_timeout_global(const struct conf_channel_timeouts *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].pattern, global) == 0)
			return t->v[i].seconds;
	return 0;
}
