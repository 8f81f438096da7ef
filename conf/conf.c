/* SPDX-License-Identifier: ISC */
#include "conf/conf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/conf-internal.h"

static void *
field_of(const struct conf_row *row, void *fields)
{
	return (char *)fields + row->offset;
}

static const void *
const_field_of(const struct conf_row *row, const void *fields)
{
	return (const char *)fields + row->offset;
}

/* ---- messages ----------------------------------------------------------- */

char *
conf_lower(const char *keyword)
{
	char *lower = xstrdup(keyword);

	for (char *p = lower; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return lower;
}

/* Where a value is from, for messages. Programs that read messages expect
 * "command-line" for the command line. */
static const char *
location_name(const struct conf_location *at)
{
	return at->file != NULL ? at->file : "command-line";
}

static void
tell(int level, const struct conf_location *at, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof text, fmt, ap);
	log_msg((enum log_level)level, "%s line %u: %s", location_name(at),
	    at->line, text);
}

int
conf_error(const struct conf_location *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(LOG_LVL_ERROR, at, fmt, ap);
	va_end(ap);
	return ERR_SYNTAX;
}

int
conf_unsupported(const struct conf_location *at, const char *fmt, ...)
{
	va_list ap;

	if (!at->quiet) {
		va_start(ap, fmt);
		tell(LOG_LVL_ERROR, at, fmt, ap);
		va_end(ap);
	}
	return ERR_UNSUPPORTED;
}

void
conf_tell(int level, const struct conf_location *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(level, at, fmt, ap);
	va_end(ap);
}

int
conf_unsupported_keyword(const struct conf_row *row, const char *why,
    const struct conf_location *at)
{
	char *name = conf_lower(row->name);

	if (!at->quiet)
		log_error("%s: line %u: Bad configuration option: %s (%s)",
		    location_name(at), at->line, name, why);
	free(name);
	return ERR_UNSUPPORTED;
}

/* ---- rows --------------------------------------------------------------- */

bool
conf_row_has_field(const struct conf_row *row)
{
	return row->type != &conf_fixed && row->type != &conf_refused &&
	    row->type != &conf_unbuilt && row->type != &conf_deprecated &&
	    row->type != &conf_structure;
}

const struct conf_row *
conf_find(const struct conf_table *t, const char *keyword)
{
	for (size_t i = 0; i < t->count; i++) {
		if (str_equal_nocase(t->rows[i].name, keyword))
			return &t->rows[i];
		if (t->rows[i].aliases != NULL &&
		    csv_has_nocase(t->rows[i].aliases, keyword))
			return &t->rows[i];
	}
	return NULL;
}

const struct conf_row *
conf_find_or_log(const struct conf_table *t, const char *keyword,
    const struct conf_location *at)
{
	const struct conf_row *row = conf_find(t, keyword);
	char *lower;

	if (row != NULL)
		return row;
	lower = conf_lower(keyword);
	log_error("%s: line %u: Bad configuration option: %s",
	    location_name(at), at->line, t->lower ? lower : keyword);
	free(lower);
	return NULL;
}

size_t
conf_index(const struct conf_table *t, const struct conf_row *row)
{
	ENSURE(row >= t->rows && row < t->rows + t->count);
	return (size_t)(row - t->rows);
}

/* ---- creation and end --------------------------------------------------- */

void
conf_init(void *fields, size_t size)
{
	memset(fields, 0, size);
}

void
conf_clear(const struct conf_table *t, void *fields)
{
	struct conf_marks *marks = fields;

	for (size_t i = 0; i < t->count; i++) {
		const struct conf_row *row = &t->rows[i];

		marks->set[i] = false;
		if (conf_row_has_field(row) && row->type->clear != NULL)
			row->type->clear(field_of(row, fields));
	}
}

/* ---- one line ----------------------------------------------------------- */

static int
get_words(const struct conf_row *row, const char *rest, struct strlist *words,
    const struct conf_location *at)
{
	int r;

	if ((row->flags & CONF_RAW) != 0) {
		if (*rest != '\0' && (r = strlist_add(words, rest)) < 0)
			return r;
	} else if ((r = conf_words(rest, words, at)) < 0) {
		return r;
	}
	if (words->n == 0 && row->type == &conf_fixed)
		return conf_unsupported_keyword(row, "missing argument", at);
	if (words->n == 0)
		return conf_error(at, "%s: missing argument", row->name);
	if ((row->flags & CONF_ONE) != 0 && words->n != 1 &&
	    rest != row->def)
		return conf_error(at, "%s: takes one argument", row->name);
	return 0;
}

static int
parse(const struct conf_row *row, void *field, const struct strlist *words,
    const struct conf_location *at)
{
	if (row->type->one && words->n != 1)
		return conf_error(at, "%s: takes one argument", row->name);
	return row->type->parse(row, field, words, at);
}

/* Parses words into the field. field NULL: the words are only checked. */
static int
parse_words(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	union conf_scratch scratch;
	int r;

	if (field != NULL)
		return parse(row, field, words, at);
	memset(&scratch, 0, sizeof scratch);
	r = parse(row, &scratch, words, at);
	if (conf_row_has_field(row) && row->type->clear != NULL)
		row->type->clear(&scratch);
	return r;
}

/* Sets the row's field, unless an earlier line has set it and later ones do not
 * add to it. fields NULL: the words are only checked. */
static int
apply_words(const struct conf_table *t, void *fields,
    const struct conf_row *row, const struct strlist *words,
    const struct conf_location *at)
{
	struct conf_marks *marks = fields;
	struct conf_location where = *at;
	size_t index;
	int r;

	if (fields == NULL)
		return parse_words(row, NULL, words, at);
	index = conf_index(t, row);
	where.again = at->again || marks->set[index];
	if (!conf_row_has_field(row) ||
	    (marks->set[index] &&
		(row->flags & (CONF_APPEND | CONF_PARTS)) == 0))
		fields = NULL;
	r = parse_words(row, fields != NULL ? field_of(row, fields) : NULL,
	    words, &where);
	if (r == 0)
		marks->set[index] = true;
	return r;
}

int
conf_apply(const struct conf_table *t, void *fields,
    const struct conf_row *row, const char *rest,
    const struct conf_location *at)
{
	struct strlist words = { 0 };
	int r;

	if (row->type == &conf_refused)
		return row->type->parse(row, NULL, NULL, at);
	r = get_words(row, rest, &words, at);
	if (r == 0)
		r = apply_words(t, fields, row, &words, at);
	strlist_clear(&words);
	return r;
}

int
conf_apply_word(const struct conf_table *t, void *fields,
    const struct conf_row *row, const char *word,
    const struct conf_location *at)
{
	struct strlist words = { 0 };
	int r;

	r = strlist_add(&words, word);
	if (r == 0)
		r = apply_words(t, fields, row, &words, at);
	strlist_clear(&words);
	return r;
}

int
conf_try(const struct conf_row *row, const char *rest,
    const struct conf_location *at)
{
	return conf_apply(NULL, NULL, row, rest, at);
}

/* ---- defaults and copies ------------------------------------------------ */

static int
set_default(const struct conf_row *row, void *fields)
{
	const struct conf_location at = { .file = "default", .line = 0 };
	struct strlist words = { 0 };
	int r;

	if (row->type->set_default != NULL)
		return row->type->set_default(row, field_of(row, fields));
	if (row->def == NULL)
		return 0;
	r = get_words(row, row->def, &words, &at);
	if (r == 0)
		r = parse(row, field_of(row, fields), &words, &at);
	strlist_clear(&words);
	return r;
}

int
conf_set_defaults(const struct conf_table *t, void *fields)
{
	const struct conf_marks *marks = fields;
	int r;

	for (size_t i = 0; i < t->count; i++) {
		if (marks->set[i] || !conf_row_has_field(&t->rows[i]))
			continue;
		if ((r = set_default(&t->rows[i], fields)) < 0)
			return r;
	}
	return 0;
}

static int
copy_field(const struct conf_row *row, void *to, const void *from)
{
	const struct conf_location at = { .file = "copy", .line = 0 };
	struct strlist words = { 0 };
	int r;

	r = row->type->format(row, const_field_of(row, from), &words);
	if (r == 0 && words.n > 0)
		r = parse(row, field_of(row, to), &words, &at);
	strlist_clear(&words);
	return r;
}

int
conf_merge(const struct conf_table *t, void *to, const void *from,
    bool marked_only)
{
	const struct conf_marks *have = from;
	struct conf_marks *marks = to;
	bool grows;
	int r;

	for (size_t i = 0; i < t->count; i++) {
		const struct conf_row *row = &t->rows[i];

		if (!conf_row_has_field(row) || (marked_only && !have->set[i]))
			continue;
		grows = marked_only && (row->flags & CONF_APPEND) != 0;
		if (marks->set[i] && !grows)
			continue;
		if ((r = copy_field(row, to, from)) < 0)
			return r;
		marks->set[i] = marks->set[i] || have->set[i];
	}
	return 0;
}

/* ---- dump --------------------------------------------------------------- */

static void
put_lower(struct buf *out, const char *name)
{
	char *lower = conf_lower(name);

	buf_put(out, lower, strlen(lower));
	free(lower);
}

static bool
is_omitted(const struct conf_row *row, const struct strlist *words)
{
	if (row->type == &conf_string || (row->flags & CONF_HIDDEN) != 0)
		return words->n == 0;
	return !conf_row_has_field(row) && words->n > 0 &&
	    strcmp(words->v[0], "none") == 0;
}

static int
dump_row(const struct conf_row *row, const void *fields, bool omit_none,
    struct buf *out)
{
	bool each = (row->flags & (CONF_APPEND | CONF_LINES)) != 0;
	struct strlist words = { 0 };
	int r;

	if (row->type->format == NULL)
		return 0;
	r = row->type->format(row, const_field_of(row, fields), &words);
	if (r == 0 && omit_none && is_omitted(row, &words))
		strlist_clear(&words);
	else if (r == 0 && words.n == 0 && (row->flags & CONF_NONE) != 0)
		r = strlist_add(&words, "none");
	for (size_t i = 0; r == 0 && i < words.n; i++) {
		if (i == 0 || each)
			put_lower(out, row->name);
		buf_put_u8(out, ' ');
		/* Words are written without quotes even if they contain blanks:
		 * OpenSSH writes none, so programs that read this do not know
		 * them. */
		buf_put(out, words.v[i], strlen(words.v[i]));
		if (i + 1 == words.n || each)
			buf_put_u8(out, '\n');
	}
	strlist_clear(&words);
	return r < 0 ? r : buf_err(out);
}

int
conf_dump(const struct conf_table *t, const void *fields, struct buf *out)
{
	int r;

	for (size_t i = 0; i < t->count; i++)
		if ((r = dump_row(&t->rows[i], fields, t->omit_none, out)) < 0)
			return r;
	return 0;
}

/* --- to another process: for each row string name, bool set, u32 count, count
 * strings; an empty name at the end --- */

static int
export_row(const struct conf_row *row, bool set, const void *fields,
    struct buf *out)
{
	struct strlist words = { 0 };
	int r;

	r = row->type->format(row, const_field_of(row, fields), &words);
	if (r == 0) {
		buf_put_cstring(out, row->name);
		buf_put_bool(out, set);
		buf_put_u32(out, (uint32_t)words.n);
		for (size_t i = 0; i < words.n; i++)
			buf_put_cstring(out, words.v[i]);
	}
	strlist_clear(&words);
	return r;
}

int
conf_export(const struct conf_table *t, const void *fields, bool marked_only,
    struct buf *out)
{
	const struct conf_marks *marks = fields;
	int r;

	for (size_t i = 0; i < t->count; i++) {
		if (!conf_row_has_field(&t->rows[i]) ||
		    (marked_only && !marks->set[i]))
			continue;
		r = export_row(&t->rows[i], marks->set[i], fields, out);
		if (r < 0)
			return r;
	}
	buf_put_cstring(out, "");
	return buf_err(out);
}

int
conf_export_one(const struct conf_table *t, const void *fields,
    const char *keyword, struct buf *out)
{
	const struct conf_row *row = conf_find(t, keyword);
	int r = row != NULL ? export_row(row, true, fields, out) :
			      ERR_NOT_FOUND;

	return r != 0 ? r : buf_err(out);
}

int
conf_import_words(struct rd *in, struct strlist *words)
{
	uint32_t n = rd_u32(in);
	char *word;
	int r = 0;

	if (n > CONF_WORDS_MAX)
		rd_fail(in, ERR_LIMIT);
	for (uint32_t i = 0; r == 0 && i < n && rd_err(in) == 0; i++) {
		word = rd_cstring(in, CONF_LINE_MAX);
		if (word != NULL)
			r = strlist_add(words, word);
		free(word);
	}
	return r < 0 ? r : rd_err(in);
}

static int
import_row(const struct conf_row *row, void *fields, struct rd *in,
    bool *set)
{
	const struct conf_location at = { .file = "transfer", .line = 0 };
	struct strlist words = { 0 };
	int r;

	*set = rd_bool(in);
	r = conf_import_words(in, &words);
	/* Lists that grow are not cleared: they are empty, and two rows may
	 * share one. */
	if (r == 0 && row->type->clear != NULL &&
	    (row->flags & CONF_APPEND) == 0)
		row->type->clear(field_of(row, fields));
	if (r == 0 && words.n > 0)
		r = parse(row, field_of(row, fields), &words, &at);
	strlist_clear(&words);
	return r;
}

/* Finds the row of an imported keyword. Keywords come in the order of the
 * table, so the search begins at the last row that was found. */
static const struct conf_row *
find_behind(const struct conf_table *t, size_t last, const char *name)
{
	for (size_t i = last; i < t->count; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	return conf_find(t, name);
}

/* A keyword that was not handed over would be 0, whatever that means for it. */
static int
find_missing(const struct conf_table *t, const bool *seen)
{
	for (size_t i = 0; i < t->count; i++) {
		if (seen[i] || !conf_row_has_field(&t->rows[i]))
			continue;
		log_error("%s is missing in what another version of this "
			  "program has handed over", t->rows[i].name);
		return ERR_FORMAT;
	}
	return 0;
}

static int
import_rows(const struct conf_table *t, void *fields, struct rd *in, bool *seen)
{
	struct conf_marks *marks = fields;
	const struct conf_row *row;
	size_t at = 0;
	char *name;
	bool end;
	int r;

	for (;;) {
		name = rd_cstring(in, CONF_LINE_MAX);
		if (name == NULL)
			return rd_err(in);
		end = *name == '\0';
		row = end ? NULL : find_behind(t, at, name);
		if (!end && row == NULL)
			log_error("another version of this program has handed "
				  "over a keyword that is not known");
		free(name);
		if (end)
			return 0;
		if (row == NULL || !conf_row_has_field(row))
			return ERR_FORMAT;
		at = conf_index(t, row);
		seen[at] = true;
		r = import_row(row, fields, in, &marks->set[at]);
		if (r < 0)
			return r;
	}
}

static int
import(const struct conf_table *t, void *fields, struct rd *in, bool all)
{
	bool *seen = calloc(t->count, sizeof *seen);
	int r;

	if (seen == NULL)
		return ERR_NOMEM;
	r = import_rows(t, fields, in, seen);
	if (r == 0 && all)
		r = find_missing(t, seen);
	free(seen);
	return r;
}

int
conf_import(const struct conf_table *t, void *fields, struct rd *in)
{
	return import(t, fields, in, false);
}

int
conf_import_all(const struct conf_table *t, void *fields, struct rd *in)
{
	return import(t, fields, in, true);
}
