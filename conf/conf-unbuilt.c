/* SPDX-License-Identifier: ISC */
/*
 * Rows without a field: keywords of what is not built, or is gone.
 *
 * The rule for all of them: what would act for the user, or decides who is
 * let in, is refused as long as it does not act. A value is accepted if it
 * says what is the case anyway, or if passing it over can neither make
 * anything less safe nor lose what the user asked for: parameters of what is
 * off, and permissions that are then never granted.
 */
#include "conf/conf-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* --- only the values that say what is the case --- */

static int
parse_fixed(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_place *at)
{
	(void)field;
	if (csv_has_nocase(row->def, words->v[0]))
		return 0;
	return conf_unsupported(at, "%s \"%s\" is not supported by this "
	    "version", row->name, words->v[0]);
}

/* The first of the values that need no notice. */
static int
format_fixed(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)field;
	if (row->def == NULL)
		return 0;
	return strlist_add_len(words, row->def, strcspn(row->def, ","));
}

/* --- none at all --- */

static int
parse_refused(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_place *at)
{
	(void)field;
	(void)words;
	return conf_unsupported_keyword(row, "not supported by this version",
	    at);
}

static int
parse_structure(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_place *at)
{
	(void)field;
	(void)words;
	return conf_error(at, "%s cannot stand here", row->name);
}

/* --- all of them, some with a notice --- */

static void
give_notice(const struct conf_row *row, const struct conf_place *at)
{
	const struct conf_notice *n = row->notice;
	char *lower;

	if (n == NULL || at->quiet || at->again)
		return;
	lower = conf_lower(row->name);
	conf_tell(n->level, at, "%s%s%s", n->before,
	    n->lower ? lower : row->name, n->after);
	free(lower);
}

static int
check_words(const struct conf_row *row, const struct strlist *words,
    const struct conf_place *at)
{
	union conf_scratch scratch;
	int r;

	if (row->as->one && words->n != 1)
		return conf_error(at, "%s: takes one argument", row->name);
	memset(&scratch, 0, sizeof scratch);
	r = row->as->parse(row, &scratch, words, at);
	if (row->as->clear != NULL)
		row->as->clear(&scratch);
	return r;
}

static int
parse_unbuilt(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_place *at)
{
	int r;

	(void)field;
	if (row->as != NULL && (r = check_words(row, words, at)) < 0)
		return r;
	if (row->def == NULL || words->n > 1 ||
	    !csv_has_nocase(row->def, words->v[0]))
		give_notice(row, at);
	return 0;
}

static int
parse_deprecated(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_place *at)
{
	(void)field;
	(void)words;
	give_notice(row, at);
	return 0;
}

/* --- the types --- */

const struct conf_type conf_fixed = { parse_fixed, format_fixed, NULL, NULL,
	true };
const struct conf_type conf_refused = { parse_refused, NULL, NULL, NULL,
	false };
const struct conf_type conf_unbuilt = { parse_unbuilt, format_fixed, NULL,
	NULL, false };
const struct conf_type conf_deprecated = { parse_deprecated, NULL, NULL, NULL,
	false };
const struct conf_type conf_structure = { parse_structure, NULL, NULL, NULL,
	false };
