/* SPDX-License-Identifier: ISC */
/* Finding and removing hosts in known_hosts files, and hashing the names in
 * them (ssh-keygen -F, -R, -H). Keys are not decoded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

struct edit {
	struct knownhosts_matcher name; /* the host to be removed; without names
					 * in it, all names are to be hashed */
	knownhosts_note_fn note;
	void *arg;
	unsigned changed, bad;
	bool differs; /* out is used; before the first change it is empty, and
		       * the new content is the old one */
	struct buf out;
};

static void
note(const struct edit *e, enum knownhosts_note what, unsigned number,
    const char *text)
{
	if (e->note != NULL)
		e->note(e->arg, what, number, text);
}

/* Called before the first change: from here on e->out is the new content.
 * Copies the lines before the current one to it. Later calls do nothing. */
static void
begin_to_differ(struct edit *e, const struct knownhosts_lines *lines)
{
	if (e->differs)
		return;
	e->differs = true;
	/* Reserving all room at once avoids copies while out grows. An error
	 * stays in the buffer, where buf_err() finds it later. */
	(void)buf_reserve(&e->out, lines->all.len);
	buf_put(&e->out, lines->all.p, (size_t)(lines->raw.p - lines->all.p));
}

bool
knownhosts_may_be_hashed(enum knownhosts_marker marker, const char *hosts,
    bool *pattern)
{
	*pattern = hosts[0] != '|' && strpbrk(hosts, "*?!") != NULL;
	return hosts[0] != '|' && !*pattern && marker == KNOWNHOSTS_NONE;
}

int
knownhosts_hash_line(const char *hosts, struct span rest, struct buf *out)
{
	const char *pos = hosts, *name;
	char *copy, *hash;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		copy = strndup(name, len);
		hash = copy != NULL ? knownhosts_hash(copy) : NULL;
		free(copy);
		if (hash == NULL)
			return ERR_NOMEM;
		buf_printf(out, "%s ", hash);
		buf_put(out, rest.p, rest.len);
		buf_put_u8(out, '\n');
		free(hash);
	}
	return buf_err(out);
}

/* The part of the line that begins at the key's type. */
static struct span
rest_of(const struct knownhosts_lines *lines, const struct knownhosts_head *h)
{
	size_t at = (size_t)(h->rest - lines->text) +
	    strspn(h->rest, " \t");

	return (struct span){ lines->raw.p + at, lines->raw.len - at };
}

/* Sets *keep to false and reports the line if it names the host and has no
 * marker. */
static int
judge_removal(struct edit *e, const struct knownhosts_head *h,
    const struct knownhosts_lines *lines, bool *keep)
{
	uint32_t which;
	int r;

	if (h->hosts[0] == '|' && !knownhosts_is_good_hash(h->hosts))
		return ERR_FORMAT;
	r = knownhosts_match(&e->name, h->hosts, &which);
	if (r != 0 || which == 0 || h->marker != KNOWNHOSTS_NONE)
		return r;
	note(e, KNOWNHOSTS_NOTE_REMOVED, lines->number, NULL);
	e->changed++;
	begin_to_differ(e, lines);
	*keep = false;
	return 0;
}

static int
judge_hashing(struct edit *e, const struct knownhosts_head *h,
    const struct knownhosts_lines *lines, bool *keep)
{
	const char *pos = h->hosts, *name;
	bool pattern;
	size_t len;

	*keep = !knownhosts_may_be_hashed(h->marker, h->hosts, &pattern);
	if (pattern)
		note(e, KNOWNHOSTS_NOTE_PATTERN, lines->number, h->hosts);
	if (*keep)
		return 0;
	begin_to_differ(e, lines);
	while (csv_next(&pos, &name, &len))
		e->changed++;
	return knownhosts_hash_line(h->hosts, rest_of(lines, h), &e->out);
}

static int
edit_line(struct edit *e, const struct knownhosts_lines *lines)
{
	struct knownhosts_head h;
	bool keep = true;
	int r = knownhosts_head_cut(lines->text, &h);

	if (r == 0 && !knownhosts_is_known_type(h.rest))
		r = ERR_FORMAT;
	if (r == 0)
		r = e->name.n > 0 ? judge_removal(e, &h, lines, &keep) :
				    judge_hashing(e, &h, lines, &keep);
	if (r == ERR_FORMAT) {
		note(e, KNOWNHOSTS_NOTE_BAD_LINE, lines->number, NULL);
		e->bad++;
		r = 0;
	}
	if (keep && e->differs) {
		buf_put(&e->out, lines->raw.p, lines->raw.len);
		buf_put_u8(&e->out, '\n');
	}
	return r != 0 && r != ERR_NOT_FOUND ? r : buf_err(&e->out);
}

/* Puts the new content in the place of the file. The old file stays as
 * path.old. */
static int
replace(const struct knownhosts_held *held, const char *path,
    struct buf *content)
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
	struct knownhosts_lines lines = { .fd = -1 };
	int r = knownhosts_hold(&held, path);

	if (r == 0)
		knownhosts_lines_begin(&lines,
		    buf_span(&held.content));
	while (r == 0 && (r = knownhosts_lines_next(&lines)) == 1)
		r = edit_line(e, &lines);
	knownhosts_lines_close(&lines);
	if (r == 0 && e->bad > 0)
		r = ERR_FORMAT;
	/* When names are hashed, the file is replaced even if no line changed:
	 * so path.old is replaced, too, which may hold names that are not
	 * hashed. OpenSSH does the same. */
	if (r == 0 && e->name.n == 0 && !e->differs)
		buf_put(&e->out, lines.all.p, lines.all.len);
	if (r == 0)
		r = buf_err(&e->out);
	if (r == 0 && (e->changed > 0 || e->name.n == 0))
		r = replace(&held, path, &e->out);
	knownhosts_release(&held);
	buf_clear(&e->out);
	return r;
}

int
knownhosts_remove(const char *path, const char *host, knownhosts_note_fn fn,
    void *arg, unsigned *changed)
{
	struct edit e = { .note = fn, .arg = arg };
	int r = knownhosts_matcher_init(&e.name, &host, 1);

	if (r == 0)
		r = edit(path, &e);
	knownhosts_matcher_clear(&e.name);
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

/* ---- finding ------------------------------------------------------------ */

struct finding {
	knownhosts_text_fn fn;
	void *arg;
};

static int
find_line(void *arg, const struct knownhosts_lines *l,
    const struct knownhosts_head *h, uint32_t which)
{
	struct finding *f = arg;
	char *hosts, *line;
	int r = ERR_NOMEM;

	(void)which;
	if (h == NULL || !knownhosts_is_known_type(h->rest))
		return 0;
	hosts = strdup(h->hosts);
	line = strndup((const char *)l->raw.p, l->raw.len);
	if (hosts != NULL && line != NULL)
		r = f->fn(f->arg, l->number,
		    &(struct knownhosts_text){ h->marker, hosts, line,
			line + (rest_of(l, h).p - l->raw.p) });
	free(line);
	free(hosts);
	return r;
}

int
knownhosts_find(const char *path, const char *host, knownhosts_text_fn fn,
    void *arg)
{
	struct finding f = { fn, arg };
	struct knownhosts_lines l = { .fd = -1 };
	struct knownhosts_matcher m;
	int r = knownhosts_matcher_init(&m, &host, 1);

	if (r == 0)
		r = knownhosts_lines_open(&l, path);
	if (r == 0)
		r = knownhosts_each_match(&l, &m, find_line, &f);
	knownhosts_lines_close(&l);
	knownhosts_matcher_clear(&m);
	return r;
}
