/* SPDX-License-Identifier: ISC */
#include "conf/conf-parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/conf-internal.h"

static int
get_part(const void *field, const struct conf_part *part)
{
	return *(const int *)(const void *)((const char *)field +
	    part->offset);
}

static void
put_part(void *field, const struct conf_part *part, int v)
{
	*(int *)(void *)((char *)field + part->offset) = v;
}

static bool
set_word(void *field, const struct conf_part *part, const char *text)
{
	for (const struct conf_enum *e = part->values; e->name != NULL; e++)
		if (str_equal_nocase(e->name, text)) {
			put_part(field, part, e->value);
			return true;
		}
	return false;
}

/* Reads a number as the part's kind demands. False: it is no number, or outside
 * of the part's limits. */
static bool
read_number(const struct conf_part *part, const char *text, int *out)
{
	uint64_t bytes;
	int64_t v = -1;
	int r;

	if (part->kind == CONF_PART_SIZE) {
		r = str_to_bytes(text, &bytes);
		if (r == 0 && bytes <= (uint64_t)part->max)
			v = (int64_t)bytes;
	} else if (part->kind == CONF_PART_TIME) {
		r = str_to_seconds(text, &v);
	} else {
		r = str_to_int(text, part->min, part->max, &v);
	}
	if (r < 0 || v < part->min || v > part->max)
		return false;
	*out = (int)v;
	return true;
}

static bool
set_part(void *field, const struct conf_part *part, const char *text)
{
	int v;

	if (part->kind == CONF_PART_WORD)
		return set_word(field, part, text);
	if (!read_number(part, text, &v))
		return false;
	put_part(field, part, v);
	return true;
}

/* Sets the part that a word NAME:VALUE names. False: there is no such part, or
 * the value is wrong. */
static bool
set_named(void *field, const struct conf_parts *parts, const char *word)
{
	size_t len = strcspn(word, ":");

	for (size_t i = 0; word[len] == ':' && i < parts->n; i++)
		if (str_is_span_nocase(parts->v[i].name, word, len))
			return set_part(field, &parts->v[i], word + len + 1);
	return false;
}

int
conf_parts_parse(const struct conf_row *row, const struct conf_parts *parts,
    void *field, const struct strlist *words, const struct conf_location *at)
{
	int *flag = field;
	bool yes = str_equal_nocase(words->v[0], "yes");

	if ((!yes && !str_equal_nocase(words->v[0], "no")) ||
	    (!yes && words->n > 1))
		return conf_error(at, "%s: begins with yes, or is no",
		    row->name);
	for (size_t i = 0; i < parts->n; i++)
		put_part(field, &parts->v[i], parts->v[i].def);
	for (size_t i = 1; i < words->n; i++)
		if (!set_named(field, parts, words->v[i]))
			return conf_error(at, "%s: \"%s\" is no part of it",
			    row->name, words->v[i]);
	*flag = yes;
	return 0;
}

static int
add_part(const void *field, const struct conf_part *part,
    struct strlist *words)
{
	int v = get_part(field, part), r;
	char *text;

	if (part->kind == CONF_PART_WORD) {
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

int
conf_parts_format(const struct conf_parts *parts, const void *field,
    struct strlist *words)
{
	const int *flag = field;
	int r = strlist_add(words, *flag ? "yes" : "no");

	for (size_t i = 0; r == 0 && *flag && i < parts->n; i++)
		r = add_part(field, &parts->v[i], words);
	return r;
}
