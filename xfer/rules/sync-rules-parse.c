/* SPDX-License-Identifier: ISC */
/* How filter rules are written: one in the command line, or files of them. */
#include "xfer/rules/sync-rules-internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/path.h"

enum { DEPTH_MAX = 16 }; /* of files that name files */

/* What a rule does. */
enum rule_kind {
	KIND_EXCLUDE = '-',
	KIND_INCLUDE = '+',
	KIND_MERGE = '.',
	KIND_DIR_MERGE = ':',
	KIND_CLEAR = '!',
};

#define OF_PATTERN "!srp"
#define OF_SIDED "!p"
#define OF_FILE "-+Censrwp"

static const struct name {
	const char *name;
	char letter;
	enum rule_kind kind;
	unsigned flags;
	const char *modifiers; /* that it may have */
} names[] = {
	{ "exclude", '-', KIND_EXCLUDE, 0, OF_PATTERN },
	{ "include", '+', KIND_INCLUDE, 0, OF_PATTERN },
	{ "hide", 'H', KIND_EXCLUDE, RULE_SENDER, OF_SIDED },
	{ "show", 'S', KIND_INCLUDE, RULE_SENDER, OF_SIDED },
	{ "protect", 'P', KIND_EXCLUDE, RULE_RECEIVER, OF_SIDED },
	{ "risk", 'R', KIND_INCLUDE, RULE_RECEIVER, OF_SIDED },
	{ "merge", '.', KIND_MERGE, 0, OF_FILE },
	{ "dir-merge", ':', KIND_DIR_MERGE, 0, OF_FILE },
	{ "clear", '!', KIND_CLEAR, 0, "" },
};

static const struct modifier {
	char letter;
	unsigned flags;
} modifiers[] = {
	{ '!', RULE_NOT },
	{ 's', RULE_SENDER },
	{ 'r', RULE_RECEIVER },
	{ 'p', RULE_PERISHABLE },
	{ '-', RULE_EXCLUDES },
	{ '+', RULE_INCLUDES },
	{ 'e', RULE_HIDES_FILE },
	{ 'n', RULE_NOT_BELOW },
	{ 'w', RULE_WORDS },
	{ 'C', RULE_NOT_BELOW | RULE_WORDS | RULE_EXCLUDES | RULE_CLEARS },
};

/* The text that is being read, and for whom. */
struct reading {
	struct sync_rules *r;
	struct rule_list *to;
	unsigned flags; /* of the file */
	bool in_dir;	/* it is a directory's file */
};

/* ---- the head of a rule ------------------------------------------------- */

static bool
is_separator(char c)
{
	return c == ' ' || c == '_';
}

/* Finds the name that a rule begins with. *p goes behind it. */
static const struct name *
read_name(const char **p, const char *end)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i].name);

		if (*p < end && **p == names[i].letter) {
			(*p)++;
			return &names[i];
		}
		if ((size_t)(end - *p) < len ||
		    memcmp(*p, names[i].name, len) != 0)
			continue;
		if (*p + len < end && (*p)[len] != ',' &&
		    !is_separator((*p)[len]))
			continue;
		*p += len;
		return &names[i];
	}
	return NULL;
}

static const char *
not_supported(char c)
{
	switch (c) {
	case '/':
		return "the modifier / (absolute paths) is not supported";
	case 'x':
		return "the modifier x (extended attributes) is not supported";
	default:
		return NULL;
	}
}

static int
read_modifiers(struct sync_rules *r, const struct name *name, const char **p,
    const char *end, unsigned *flags)
{
	const unsigned both = RULE_EXCLUDES | RULE_INCLUDES;

	if (*p < end && **p == ',')
		(*p)++;
	for (; *p < end && !is_separator(**p); (*p)++) {
		const char *why = name->kind != KIND_CLEAR ?
		    not_supported(**p) : NULL;

		if (why != NULL)
			return rules_error(r, ERR_UNSUPPORTED, why);
		if (**p == '\0' || strchr(name->modifiers, **p) == NULL)
			return rules_error(r, ERR_SYNTAX,
			    name->kind == KIND_CLEAR ?
			    "\"!\" stands alone" : "not a rule's modifier");
		for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
			if (modifiers[i].letter == **p)
				*flags |= modifiers[i].flags;
		if ((*flags & both) == both)
			return rules_error(r, ERR_SYNTAX,
			    "a file of patterns is for one of + and -");
	}
	return 0;
}

/* ---- rules of files ----------------------------------------------------- */

/* Reads a file that the user has named. */
static int
read_named(struct sync_rules *r, const char *path, struct buf *text)
{
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO :
	    open_named(path, O_RDONLY, 0);
	char what[300];
	int err;

	if (fd != -1)
		err = fd_read_file(fd, text, SYNC_RULES_FILE_MAX);
	else
		err = ERR_SYSTEM;
	if (err < 0) {
		snprintf(what, sizeof what, "%.200s: %s", path, err_text(err));
		err = rules_error(r, err, what);
	}
	if (fd != STDIN_FILENO)
		fd_close(&fd);
	return err;
}

static int
merge(const struct reading *in, const char *path, unsigned flags)
{
	struct sync_rules *r = in->r;
	const char *outer = r->file;
	unsigned line = r->line;
	struct buf text;
	int err;

	if (r->depth == DEPTH_MAX)
		return rules_error(r, ERR_LIMIT, "too many files in files");
	buf_init(&text);
	err = read_named(r, path, &text);
	if (err == 0) {
		r->file = path;
		r->depth++;
		err = rules_read_text(r, in->to, (const char *)buf_data(&text),
		    buf_len(&text), flags, false);
		r->depth--;
		r->file = outer;
		r->line = line;
	}
	buf_clear(&text);
	return err;
}

static int
dir_merge(const struct reading *in, const char *name, unsigned flags)
{
	name += *name == '/';
	if (*name == '\0' || strchr(name, '/') != NULL ||
	    strcmp(name, "..") == 0)
		return rules_error(in->r, ERR_UNSUPPORTED,
		    "dir-merge is supported for a name, not for a path");
	return rules_add_slot(in->r, in->to, name, strlen(name), flags);
}

/* A rule that names a file: at p with len bytes. */
static int
add_file_rule(const struct reading *in, enum rule_kind kind, unsigned flags,
    const char *p, size_t len)
{
	const unsigned for_rules = ~(unsigned)RULE_HIDES_FILE;
	bool cvs = (flags & RULE_CLEARS) != 0;
	const char *base;
	char name[4096];
	int err;

	if (in->in_dir)
		return rules_error(in->r, ERR_UNSUPPORTED,
		    "a file of a directory may not name further files");
	if (len == 0 && cvs) {
		p = ".cvsignore";
		len = strlen(p);
	}
	if (len == 0)
		return rules_error(in->r, ERR_SYNTAX, "no file is named");
	if (len >= sizeof name || memchr(p, '\0', len) != NULL)
		return rules_error(in->r, ERR_SYNTAX, "not a file's name");
	memcpy(name, p, len);
	name[len] = '\0';
	base = path_last(name);
	err = (flags & RULE_HIDES_FILE) == 0 ? 0 :
	    rules_add_pattern(in->r, in->to, true, flags & RULE_SIDES, base,
	    strlen(base));
	if (err < 0)
		return err;
	return kind == KIND_MERGE ? merge(in, name, flags & for_rules) :
				    dir_merge(in, name, flags & for_rules);
}

/* ---- one rule ----------------------------------------------------------- */

/* Returns the pattern or name at *p, which goes behind it: to the end of the
 * line, or of the word. */
static const char *
read_argument(const struct reading *in, const char **p, const char *end)
{
	const char *arg = *p;

	if ((in->flags & RULE_WORDS) == 0)
		*p = end;
	while (*p < end && !isspace((unsigned char)**p))
		(*p)++;
	return arg;
}

/* Reads the rule at *p, which goes behind it. */
static int
read_rule(const struct reading *in, const char **p, const char *end)
{
	struct sync_rules *r = in->r;
	const struct name *name = read_name(p, end);
	unsigned flags, sides = in->flags & RULE_SIDES;
	const char *arg;
	int err;

	if (name == NULL)
		return rules_error(r, ERR_SYNTAX, "not a filter rule");
	if (name->letter == '-' && end - *p == 1 && **p == 'C') {
		*p = end;
		return rules_add_cvs(r, in->to, in->flags & RULE_SIDES);
	}
	flags = name->flags;
	if ((err = read_modifiers(r, name, p, end, &flags)) < 0)
		return err;
	if (sides != 0 && (flags & RULE_SIDES) != 0)
		return rules_error(r, ERR_SYNTAX,
		    "the file is for one side, and so its rules name none");
	flags |= in->flags & (RULE_SIDES | RULE_PERISHABLE);
	if (name->kind == KIND_CLEAR) {
		if (*p < end && (in->flags & RULE_WORDS) == 0)
			return rules_error(r, ERR_SYNTAX, "\"!\" stands alone");
		rules_clear(r, in->to);
		return 0;
	}
	if (*p < end)
		(*p)++;
	arg = read_argument(in, p, end);
	if (name->kind == KIND_MERGE || name->kind == KIND_DIR_MERGE)
		return add_file_rule(in, name->kind, flags, arg,
		    (size_t)(*p - arg));
	if (arg == *p)
		return rules_error(r, ERR_SYNTAX, "the rule has no pattern");
	return rules_add_pattern(r, in->to, name->kind == KIND_EXCLUDE, flags,
	    arg, (size_t)(*p - arg));
}

/* A pattern, or in files for CVS "!". */
static int
read_pattern(const struct reading *in, const char **p, const char *end)
{
	const char *arg = read_argument(in, p, end);

	if ((in->flags & RULE_CLEARS) != 0 && *p - arg == 1 && *arg == '!') {
		rules_clear(in->r, in->to);
		return 0;
	}
	return rules_add_pattern(in->r, in->to,
	    (in->flags & RULE_EXCLUDES) != 0,
	    in->flags & (RULE_SIDES | RULE_PERISHABLE), arg,
	    (size_t)(*p - arg));
}

static int
read_one(const struct reading *in, const char **p, const char *end)
{
	if ((in->flags & (RULE_EXCLUDES | RULE_INCLUDES)) != 0)
		return read_pattern(in, p, end);
	return read_rule(in, p, end);
}

/* ---- texts -------------------------------------------------------------- */

static int
read_words(const struct reading *in, const char *p, const char *end)
{
	int err;

	for (;;) {
		while (p < end && isspace((unsigned char)*p))
			p++;
		if (p == end)
			return 0;
		if ((err = read_one(in, &p, end)) < 0)
			return err;
	}
}

/* Finds the next line at *p, and counts it. *p goes behind its end. */
static bool
next_line(struct sync_rules *r, const char **p, const char *end,
    const char **line, const char **line_end)
{
	if (*p >= end)
		return false;
	*line = *p;
	while (*p < end && (r->zero_ends ? **p != '\0' :
	    **p != '\n' && **p != '\r'))
		(*p)++;
	*line_end = *p;
	if (*p + 1 < end && **p == '\r' && (*p)[1] == '\n')
		(*p)++;
	(*p)++;
	r->line++;
	return true;
}

int
rules_read_text(struct sync_rules *r, struct rule_list *to, const char *text,
    size_t len, unsigned flags, bool in_dir)
{
	const struct reading in = { r, to, flags, in_dir };
	const char *end = text + len, *p, *line_end;
	int err = 0;

	r->line = 0;
	while (err == 0 && next_line(r, &text, end, &p, &line_end))
		if ((flags & RULE_WORDS) != 0)
			err = read_words(&in, p, line_end);
		else if (p < line_end && *p != '#' && *p != ';')
			err = read_one(&in, &p, line_end);
	return err;
}

int
sync_rules_add(struct sync_rules *r, const char *rule, const char **why)
{
	const struct reading in = { .r = r, .to = &r->list };
	const char *p = rule;

	*why = r->why;
	return *rule != '\0' ? read_rule(&in, &p, rule + strlen(rule)) : 0;
}

/* A value of --exclude or --include, without an end. */
static int
add_value(struct sync_rules *r, bool exclude, const char *p, size_t len)
{
	if (len == 1 && *p == '!') {
		rules_clear(r, &r->list);
		return 0;
	}
	if (len >= 2 && (*p == '-' || *p == '+') && p[1] == ' ') {
		exclude = *p == '-';
		p += 2;
		len -= 2;
	}
	return len == 0 ? 0 :
	    rules_add_pattern(r, &r->list, exclude, 0, p, len);
}

int
sync_rules_add_pattern(struct sync_rules *r, bool exclude,
    const char *pattern, const char **why)
{
	*why = r->why;
	return add_value(r, exclude, pattern, strlen(pattern));
}

int
sync_rules_add_file(struct sync_rules *r, bool exclude, const char *path,
    const char **why)
{
	const char *p, *end, *line, *line_end;
	struct buf text;
	int err;

	*why = r->why;
	buf_init(&text);
	err = read_named(r, path, &text);
	p = (const char *)buf_data(&text);
	end = p + buf_len(&text);
	r->file = path;
	r->line = 0;
	while (err == 0 && next_line(r, &p, end, &line, &line_end))
		if (line < line_end && *line != '#' && *line != ';')
			err = add_value(r, exclude, line,
			    (size_t)(line_end - line));
	r->file = NULL;
	buf_clear(&text);
	return err;
}
