/* SPDX-License-Identifier: ISC */
#include "xfer/sftp/remote-glob.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MATCHES_MAX = 1000000,
	BRACES_MAX = 1024, /* patterns that braces make of one */
	BRACES_DEPTH_MAX = 32,
};

static bool
part_has_magic(const char *part, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (part[i] == '\\' && i + 1 < len)
			i++;
		else if (part[i] == '*' || part[i] == '?' || part[i] == '[')
			return true;
	}
	return false;
}

bool
remote_glob_has_magic(const char *pattern)
{
	return part_has_magic(pattern, strlen(pattern));
}

char *
remote_glob_unescape(const char *pattern)
{
	char *name = strdup(pattern), *to = name;

	if (name == NULL)
		return NULL;
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '\\' && pattern[1] != '\0')
			pattern++;
		*to++ = *pattern;
	}
	*to = '\0';
	return name;
}

/* ---- braces ------------------------------------------------------------- */

/* The end of an alternative that begins at p: the comma or brace behind it, or
 * NULL if there is none. */
static const char *
alternative_end(const char *p)
{
	unsigned depth = 0;

	for (; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (depth == 0 && (*p == ',' || *p == '}'))
			return p;
		else if (*p == '{')
			depth++;
		else if (*p == '}')
			depth--;
	}
	return NULL;
}

/* The first brace that is closed; NULL: there is none. */
static const char *
find_brace(const char *p)
{
	const char *end;

	for (; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0') {
			p++;
		} else if (*p == '{' && p[1] != '}') {
			for (end = p; end != NULL && *end != '}';)
				end = alternative_end(end + 1);
			if (end != NULL)
				return p;
		}
	}
	return NULL;
}

static int
expand_braces(const char *pattern, unsigned depth, struct strlist *out)
{
	const char *open = find_brace(pattern), *end, *close;
	char *text;
	int r = 0;

	if (open == NULL)
		return out->n < BRACES_MAX ? strlist_add(out, pattern) :
					     ERR_LIMIT;
	if (depth == BRACES_DEPTH_MAX)
		return ERR_LIMIT;
	for (close = open; *close != '}';)
		close = alternative_end(close + 1);
	for (const char *at = open; r == 0 && at != close; at = end) {
		end = alternative_end(at + 1);
		if (asprintf(&text, "%.*s%.*s%s", (int)(open - pattern),
			pattern, (int)(end - at - 1), at + 1, close + 1) < 0)
			return ERR_NOMEM;
		r = expand_braces(text, depth + 1, out);
		free(text);
	}
	return r;
}

int
remote_glob_braces(const char *pattern, struct strlist *out)
{
	return expand_braces(pattern, 0, out);
}

/* ---- patterns ----------------------------------------------------------- */

struct expansion {
	const char *base;    /* directory with its slash, or "" */
	const char *pattern; /* matches one part of a path */
	struct strlist *out;
	int err;
};

static bool
try_entry(void *arg, const char *name, const struct sftp_entry *entry)
{
	struct expansion *e = arg;
	char *path;

	(void)entry;
	if (fnmatch(e->pattern, name, FNM_PERIOD) != 0)
		return true;
	if (e->out->n >= MATCHES_MAX) {
		e->err = ERR_LIMIT;
		return false;
	}
	if (asprintf(&path, "%s%s", e->base, name) < 0) {
		e->err = ERR_NOMEM;
		return false;
	}
	e->err = strlist_add(e->out, path);
	free(path);
	return e->err == 0;
}

/* Appends the names in the directory base that match one part of the
 * pattern. */
static int
expand_part(struct sftp *s, const char *base, const char *part,
    struct strlist *out)
{
	struct expansion e = { .base = base, .pattern = part, .out = out };
	int r = sftp_call_list(s, *base != '\0' ? base : ".", try_entry, &e);

	return r < 0 ? r : e.err; /* a directory that cannot be read has no
				   * matches */
}

/* Appends a part of the pattern that is a plain name to each base. Whether the
 * names exist is checked later, by keep_existing(). */
static int
append_literal(struct strlist *bases, const char *text)
{
	struct strlist longer = { NULL, 0 };
	char *path;
	int r = 0;

	for (size_t i = 0; i < bases->n && r == 0; i++) {
		if (asprintf(&path, "%s%s", bases->v[i], text) < 0) {
			r = ERR_NOMEM;
			break;
		}
		r = strlist_add(&longer, path);
		free(path);
	}
	strlist_clear(bases);
	*bases = longer;
	return r;
}

static int
next_part(struct sftp *s, struct strlist *bases, const char *part, bool magic)
{
	struct strlist found = { NULL, 0 };
	char *literal;
	int r = 0;

	if (!magic) {
		literal = remote_glob_unescape(part);
		r = literal != NULL ? append_literal(bases, literal) :
				      ERR_NOMEM;
		free(literal);
		return r;
	}
	for (size_t i = 0; i < bases->n && r == 0; i++)
		r = expand_part(s, bases->v[i], part, &found);
	strlist_clear(bases);
	*bases = found;
	return r;
}

/* Appends to out the names that exist: plain names in the pattern were not
 * checked yet. */
static int
keep_existing(struct sftp *s, const struct strlist *names,
    struct strlist *out)
{
	struct sftp_attrs attrs;
	int r = 0;

	for (size_t i = 0; i < names->n && r >= 0; i++) {
		r = sftp_call_stat(s, names->v[i], false, &attrs);
		if (r == 0)
			r = strlist_add(out, names->v[i]);
	}
	return r < 0 ? r : 0;
}

int
remote_glob(struct sftp *s, const char *pattern, struct strlist *out)
{
	struct strlist bases = { NULL, 0 };
	const char *p = pattern;
	bool magic = false;
	int r = strlist_add(&bases, "");

	while (r == 0 && *p != '\0' && bases.n > 0) {
		size_t len = strcspn(p, "/");
		size_t slashes = strspn(p + len, "/");
		char *part = strndup(p, len);

		if (part == NULL) {
			r = ERR_NOMEM;
			break;
		}
		magic = part_has_magic(part, len);
		r = next_part(s, &bases, part, magic);
		free(part);
		if (r == 0 && slashes > 0)
			r = append_literal(&bases, "/");
		p += len + slashes;
		magic = magic && slashes == 0;
	}
	if (r == 0 && bases.n > 0) {
		/* Else a server that lists a name twice would have the second
		 * copy of it overwrite the first. */
		strlist_sort_unique(&bases);
		if (magic) {
			for (size_t i = 0; i < bases.n && r == 0; i++)
				r = strlist_add(out, bases.v[i]);
		} else {
			r = keep_existing(s, &bases, out);
		}
	}
	strlist_clear(&bases);
	return r;
}
