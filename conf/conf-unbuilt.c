/* SPDX-License-Identifier: ISC */
/*
 * Keywords that set nothing: what they are for is not built, or no
 * implementation has it any more.
 *
 * A keyword is refused if it would do something for the user or decides who may
 * log in, because it would have no effect. A value is accepted if it describes
 * what happens anyway. A value is also accepted if ignoring it makes nothing
 * less safe and takes nothing from the user: a parameter of a function that is
 * off, or a permission that then nobody gets.
 */
#include "conf/conf-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* ---- only values that describe what happens anyway ---------------------- */

static int
parse_fixed(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	(void)field;
	if (csv_has_nocase(row->def, words->v[0]))
		return 0;
	if (row->notice != NULL)
		return conf_unsupported(at, "%s", row->notice->before);
	return conf_unsupported(at, "%s \"%s\" is not supported by this "
	    "version", row->name, words->v[0]);
}

/* Shows the first of the values that are accepted without a notice. */
static int
format_fixed(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)field;
	if (row->def == NULL)
		return 0;
	return strlist_add_len(words, row->def, strcspn(row->def, ","));
}

/* ---- no value ----------------------------------------------------------- */

static int
parse_refused(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	(void)field;
	(void)words;
	return conf_unsupported_keyword(row, "not supported by this version",
	    at);
}

static int
parse_structure(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	(void)field;
	(void)words;
	return conf_error(at, "%s cannot stand here", row->name);
}

/* ---- every value, with a notice for some -------------------------------- */

static void
give_notice(const struct conf_row *row, const struct conf_location *at)
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
    const struct conf_location *at)
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
    const struct strlist *words, const struct conf_location *at)
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

/* For a keyword that decides who may log in. Its value is kept, and the notice
 * for "yes" tells why nobody can log in by it. */
static int
parse_unbuilt_kept(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int r = conf_flag.parse(row, field, words, at);

	if (r == 0 && csv_has_nocase("yes,true", words->v[0]))
		give_notice(row, at);
	return r;
}

static int
format_kept(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	return conf_flag.format(row, field, words);
}

static int
parse_deprecated(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	(void)field;
	(void)words;
	give_notice(row, at);
	return 0;
}

/* ---- the types ---------------------------------------------------------- */

const struct conf_type conf_fixed = { parse_fixed, format_fixed, NULL, NULL,
	true };
const struct conf_type conf_refused = { parse_refused, NULL, NULL, NULL,
	false };
const struct conf_type conf_unbuilt = { parse_unbuilt, format_fixed, NULL,
	NULL, false };
const struct conf_type conf_unbuilt_kept = { parse_unbuilt_kept, format_kept,
	NULL, NULL, true };
const struct conf_type conf_deprecated = { parse_deprecated, NULL, NULL, NULL,
	false };
const struct conf_type conf_structure = { parse_structure, NULL, NULL, NULL,
	false };
