/* SPDX-License-Identifier: ISC */
/* Rewriting known_hosts files: removing hosts, hashing their names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

struct edit {
	const char *host; /* to be removed; NULL: hash all */
	knownhosts_note_fn note;
	void *arg;
	unsigned changed, bad;
	struct buf out;
};

static void
note(const struct edit *e, enum knownhosts_note what, unsigned number,
    const char *text)
{
	if (e->note != NULL)
		e->note(e->arg, what, number, text);
}

/* Writes the line once for each of its names, hashed. */
static int
hash_line(struct edit *e, const struct knownhosts_line *line,
    const char *text)
{
	const char *rest = text + strspn(text, " \t"), *pos = line->hosts;
	const char *name;
	char *copy, *hash;
	size_t len;

	rest += strlen(line->hosts);
	while (csv_next(&pos, &name, &len)) {
		copy = strndup(name, len);
		hash = copy != NULL ? knownhosts_hash(copy) : NULL;
		free(copy);
		if (hash == NULL)
			return ERR_NOMEM;
		buf_printf(&e->out, "%s%s\n", hash, rest);
		free(hash);
		e->changed++;
	}
	return buf_err(&e->out);
}

static int
edit_line(struct edit *e, const struct knownhosts_lines *lines)
{
	struct knownhosts_line line = { 0 };
	int parsed = knownhosts_parse_line(lines->text, &line), r = 0;
	bool keep = true;

	if (parsed == ERR_NOMEM)
		return parsed;
	if (parsed != 0) {
		if (parsed != ERR_NOT_FOUND) {
			note(e, KNOWNHOSTS_NOTE_BAD_LINE, lines->number, NULL);
			e->bad++;
		}
	} else if (e->host != NULL) {
		if (line.marker == KNOWNHOSTS_NONE &&
		    knownhosts_hosts_match(line.hosts, e->host)) {
			note(e, KNOWNHOSTS_NOTE_REMOVED, lines->number, NULL);
			e->changed++;
			keep = false;
		}
	} else if (!knownhosts_is_hashed(line.hosts)) {
		if (strpbrk(line.hosts, "*?!") != NULL) {
			note(e, KNOWNHOSTS_NOTE_PATTERN, lines->number,
			    line.hosts);
		} else if (line.marker == KNOWNHOSTS_NONE) {
			r = hash_line(e, &line, lines->text);
			keep = false;
		}
	}
	if (keep) {
		buf_put(&e->out, lines->raw.p, lines->raw.len);
		buf_put_u8(&e->out, '\n');
	}
	knownhosts_line_clear(&line);
	return r != 0 ? r : buf_err(&e->out);
}

/* The old content is kept under path.old. */
static int
replace(const struct knownhosts_held *held, const char *path,
    const struct buf *content)
{
	char *old = NULL;
	int r = 0;

	if (asprintf(&old, "%s.old", path) == -1)
		return ERR_NOMEM;
	if ((unlink(old) == -1 && errno != ENOENT) || link(path, old) == -1)
		r = ERR_SYSTEM;
	if (r == 0)
		r = knownhosts_replace(held, path, content);
	free(old);
	return r;
}

static int
edit(const char *path, struct edit *e)
{
	struct knownhosts_held held;
	struct knownhosts_lines lines = { 0 };
	int r = knownhosts_hold(&held, path);

	if (r == 0)
		r = knownhosts_lines_begin(&lines,
		    (struct span){ buf_data(&held.content),
			buf_len(&held.content) });
	while (r == 0 && (r = knownhosts_lines_next(&lines)) == 1)
		r = edit_line(e, &lines);
	knownhosts_lines_close(&lines);
	if (r == 0 && e->bad > 0)
		r = ERR_FORMAT;
	if (r == 0 && e->changed > 0)
		r = replace(&held, path, &e->out);
	knownhosts_release(&held);
	buf_clear(&e->out);
	return r;
}

int
knownhosts_remove(const char *path, const char *host, knownhosts_note_fn fn,
    void *arg, unsigned *changed)
{
	struct edit e = { .host = host, .note = fn, .arg = arg };
	int r = edit(path, &e);

	*changed = e.changed;
	return r;
}

int
knownhosts_hash_all(const char *path, knownhosts_note_fn fn, void *arg,
    unsigned *changed)
{
	struct edit e = { .note = fn, .arg = arg };
	int r = edit(path, &e);

	*changed = e.changed;
	return r;
}
