/* SPDX-License-Identifier: ISC */
/* Brings the lines of one host up to date with the keys that the host says it
 * has (UpdateHostKeys). */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

/* NAMES_MAX: names in a line that a program wrote, which are the host's name
 * and perhaps its address. */
enum { NAMES_MAX = 2 };

struct renew {
	struct knownhosts_renewal *rn;
	bool only_look, shown_is_there;
	/* rn's name, and its other names */
	struct knownhosts_matcher name, also;
	/* keys as texts, made by knownhosts_key_text() */
	struct strlist offered, outdated;
	struct buf out; /* the new content; empty with only_look */
};

/* Did a person write this line, to judge by its names: more than two, or
 * patterns? Then the host's keys are not renewed. */
static bool
is_by_hand(const char *hosts)
{
	const char *pos = hosts, *name;
	size_t len, n = 0;

	if (knownhosts_is_hashed(hosts))
		return false;
	while (csv_next(&pos, &name, &len))
		n++;
	return n > NAMES_MAX || strpbrk(hosts, "*?!") != NULL;
}

static bool
is_for_it_alone(const char *hosts, const char *name)
{
	return knownhosts_is_hashed(hosts) || strcasecmp(hosts, name) == 0;
}

/* Sets *other if hosts match neither rn->name nor one of rn->also: the line is
 * about another host. */
static int
find_other(struct renew *w, const char *hosts, bool *other)
{
	uint32_t which = 0;
	int r = knownhosts_match(&w->name, hosts, &which);

	if (r == 0 && which == 0)
		r = knownhosts_match(&w->also, hosts, &which);
	*other = which == 0;
	return r;
}

static bool
has_key(const struct strlist *keys, const char *rest)
{
	for (size_t i = 0; i < keys->n; i++)
		if (knownhosts_is_key_text(keys->v[i], rest))
			return true;
	return false;
}

static int
add_key(struct strlist *keys, const struct key *k)
{
	char *text = knownhosts_key_text(k);
	int r = text != NULL ? strlist_add(keys, text) : ERR_NOMEM;

	free(text);
	return r;
}

/* Sets *stays to false if the line names this host alone, and k is not among
 * the keys that the host has. Then k goes to w->outdated. */
static int
judge_key(struct renew *w, const char *hosts, const struct key *k, bool *stays)
{
	struct knownhosts_renewal *rn = w->rn;
	bool wanted = false;

	for (size_t i = 0; i < rn->n; i++) {
		if (!key_same_identity(rn->keys[i], k))
			continue;
		wanted = rn->had[i] = true;
		if (key_same_identity(rn->shown, k))
			w->shown_is_there = true;
	}
	*stays = wanted || !is_for_it_alone(hosts, rn->name);
	return *stays ? 0 : add_key(&w->outdated, k);
}

/* Judges a line that names the host. Sets rn->why, the reason for changing
 * nothing, if a person seems to have written the line. */
static int
judge_own(struct renew *w, const struct knownhosts_head *h, bool *stays)
{
	struct knownhosts_line line = { 0 };
	int r = knownhosts_parse_rest(h, &line);

	if (r != 0)
		return r == ERR_NOMEM ? r : 0;
	if (line.key == NULL ||
	    (h->marker == KNOWNHOSTS_NONE && key_is_cert(line.key)))
		r = 0;
	else if (h->marker != KNOWNHOSTS_NONE || is_by_hand(h->hosts))
		w->rn->why = "a line of the host has a marker, a pattern or "
			     "several names";
	else
		r = judge_key(w, h->hosts, line.key, stays);
	knownhosts_line_clear(&line);
	return r;
}

static int
judge_line(struct renew *w, const struct knownhosts_head *h, bool *stays)
{
	uint32_t which;
	bool other = false;
	int r = knownhosts_match(&w->name, h->hosts, &which);

	if (r == 0 && which != 0)
		return judge_own(w, h, stays);
	if (r == 0 && has_key(&w->offered, h->rest))
		r = find_other(w, h->hosts, &other);
	if (r == 0 && other)
		w->rn->why = "a key of the host stands under another name, too";
	return r;
}

static int
take_line(struct renew *w, const struct knownhosts_lines *lines)
{
	struct knownhosts_head h;
	bool stays = true;
	int r = 0;

	if (knownhosts_head_cut(lines->text, &h) == 0)
		r = judge_line(w, &h, &stays);
	if (!stays)
		w->rn->dropped++;
	if (stays && !w->only_look) {
		buf_put(&w->out, lines->raw.p, lines->raw.len);
		buf_put_u8(&w->out, '\n');
	}
	return r != 0 ? r : buf_err(&w->out);
}

/* Runs in a second pass, after take_line() has collected all outdated keys:
 * sets rn->why if another host has one of these keys as well. */
static int
look_for_outdated(struct renew *w, const struct knownhosts_lines *lines)
{
	struct knownhosts_head h;
	bool other = false;
	int r = 0;

	if (knownhosts_head_cut(lines->text, &h) == 0 &&
	    has_key(&w->outdated, h.rest))
		r = find_other(w, h.hosts, &other);
	if (other)
		w->rn->why = "a key that the host has no longer stands under "
			     "another name, too";
	return r;
}

static int
each_line(struct renew *w, struct knownhosts_lines *lines,
    int (*fn)(struct renew *w, const struct knownhosts_lines *lines))
{
	int r = 0;

	while (r == 0 && (r = knownhosts_lines_next(lines)) == 1)
		r = fn(w, lines);
	return r;
}

static int
append_missing(struct renew *w)
{
	struct knownhosts_renewal *rn = w->rn;
	int r = 0;

	for (size_t i = 0; r == 0 && i < rn->n; i++) {
		if (rn->had[i])
			continue;
		r = knownhosts_format(rn->name, rn->keys[i], rn->hash,
		    &w->out);
		rn->added++;
	}
	return r;
}

static int
set_names(struct renew *w)
{
	const struct knownhosts_renewal *rn = w->rn;
	const char *also[KNOWNHOSTS_RENEW_NAMES];
	size_t n = 0;
	int r = knownhosts_matcher_init(&w->name, &rn->name, 1);

	for (size_t i = 0; i < KNOWNHOSTS_RENEW_NAMES; i++)
		if (rn->also[i] != NULL)
			also[n++] = rn->also[i];
	return r == 0 ? knownhosts_matcher_init(&w->also, also, n) : r;
}

static int
judge(struct renew *w, struct knownhosts_lines *lines)
{
	struct knownhosts_renewal *rn = w->rn;
	int r = set_names(w);

	for (size_t i = 0; r == 0 && i < rn->n; i++)
		r = add_key(&w->offered, key_identity(rn->keys[i]));
	if (r == 0)
		r = each_line(w, lines, take_line);
	if (r == 0 && w->outdated.n > 0) {
		r = knownhosts_lines_rewind(lines);
		if (r == 0)
			r = each_line(w, lines, look_for_outdated);
	}
	if (r == 0 && !w->shown_is_there && rn->why == NULL)
		rn->why = "no line has the key that was shown";
	if (r == 0 && rn->why != NULL)
		r = ERR_NOT_FOUND;
	return r == 0 ? append_missing(w) : r;
}

static int
look(struct renew *w, const char *path)
{
	struct knownhosts_lines lines;
	int r = knownhosts_lines_open(&lines, path);

	if (r == 0)
		r = judge(w, &lines);
	knownhosts_lines_close(&lines);
	return r;
}

static int
change(struct renew *w, const char *path)
{
	struct knownhosts_lines lines = { .fd = -1 };
	struct knownhosts_held held;
	int r = knownhosts_hold(&held, path);

	if (r == 0) {
		knownhosts_lines_begin(&lines,
		    buf_span(&held.content));
		r = judge(w, &lines);
	}
	if (r == 0 && w->rn->added + w->rn->dropped > 0)
		r = knownhosts_replace(&held, path, &w->out);
	knownhosts_lines_close(&lines);
	knownhosts_release(&held);
	return r;
}

/* If path is a symbolic link, the file that it leads to is replaced. */
int
knownhosts_renew(const char *path, struct knownhosts_renewal *rn,
    bool only_look)
{
	struct renew w = { .rn = rn, .only_look = only_look };
	char *real;
	int r;

	rn->added = rn->dropped = 0;
	rn->why = NULL;
	memset(rn->had, 0, sizeof rn->had);
	if (rn->n > KNOWNHOSTS_RENEW_MAX)
		return ERR_LIMIT;
	if ((real = realpath(path, NULL)) == NULL)
		return ERR_SYSTEM;
	r = only_look ? look(&w, real) : change(&w, real);
	knownhosts_matcher_clear(&w.name);
	knownhosts_matcher_clear(&w.also);
	strlist_clear(&w.offered);
	strlist_clear(&w.outdated);
	buf_clear(&w.out);
	free(real);
	return r;
}
