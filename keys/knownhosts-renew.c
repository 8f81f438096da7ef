/* SPDX-License-Identifier: ISC */
/* Bringing the lines of one host up to date with the keys that it has. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

/* A line that a program has written has a name, and perhaps an address. */
enum { NAMES_MAX = 2 };

struct renew {
	struct knownhosts_renewal *rn;
	bool shown_is_there;
	struct strlist offered, outdated; /* keys, as lines have them */
	struct buf out;
};

/* Are these hosts what a person has written, for whom we change nothing? */
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
is_for_it_alone(const struct knownhosts_line *line, const char *name)
{
	return knownhosts_is_hashed(line->hosts) ||
	    strcasecmp(line->hosts, name) == 0;
}

static bool
is_another_host(const struct renew *w, const char *hosts)
{
	for (size_t i = 0; i < KNOWNHOSTS_RENEW_NAMES; i++)
		if (w->rn->also[i] != NULL &&
		    knownhosts_hosts_match(hosts, w->rn->also[i]))
			return false;
	return true;
}

/* The two words of a key at the beginning of text. */
static bool
has_key(const struct strlist *keys, const char *text)
{
	size_t len = strcspn(text += strspn(text, " \t"), " \t");
	const char *second = text + len + strspn(text + len, " \t");
	size_t second_len = strcspn(second, " \t\r\n");

	for (size_t i = 0; i < keys->n; i++) {
		const char *k = keys->v[i];

		if (strncmp(k, text, len) == 0 && k[len] == ' ' &&
		    strncmp(k + len + 1, second, second_len) == 0 &&
		    k[len + 1 + second_len] == '\0')
			return true;
	}
	return false;
}

static int
add_key(struct strlist *keys, const struct key *k)
{
	struct buf b = { 0 };
	char *text = NULL;
	int r = key_format_line(k, NULL, &b);

	if (r == 0)
		r = (text = buf_dup_string(&b)) != NULL ?
		    strlist_add(keys, text) : ERR_NOMEM;
	free(text);
	buf_clear(&b);
	return r;
}

/* *stays is false if the line is for this host alone, and its key is none of
 * those that the host has. */
static int
judge_key(struct renew *w, const struct knownhosts_line *line, bool *stays)
{
	struct knownhosts_renewal *rn = w->rn;
	bool wanted = false;

	for (size_t i = 0; i < rn->n; i++) {
		if (!key_same_identity(rn->keys[i], line->key))
			continue;
		wanted = rn->had[i] = true;
		if (key_same_identity(rn->shown, line->key))
			w->shown_is_there = true;
	}
	*stays = wanted || !is_for_it_alone(line, rn->name);
	return *stays ? 0 : add_key(&w->outdated, line->key);
}

/* rest: of the line's text, behind the hosts. */
static int
judge_line(struct renew *w, struct knownhosts_line *line, const char *rest,
    bool *stays)
{
	int r;

	if (!knownhosts_hosts_match(line->hosts, w->rn->name)) {
		if (has_key(&w->offered, rest) &&
		    is_another_host(w, line->hosts))
			w->rn->why = "a key of the host stands under another "
				     "name, too";
		return 0;
	}
	r = knownhosts_parse_key(rest, line);
	if (r == ERR_NOMEM || line->key == NULL)
		return r == ERR_NOMEM ? r : 0;
	if (line->marker == KNOWNHOSTS_NONE && key_is_cert(line->key))
		return 0;
	if (line->marker != KNOWNHOSTS_NONE || is_by_hand(line->hosts)) {
		w->rn->why = "a line of the host has a marker, a pattern or "
			     "several names";
		return 0;
	}
	return judge_key(w, line, stays);
}

static int
take_line(struct renew *w, const struct knownhosts_lines *lines)
{
	struct knownhosts_line line = { 0 };
	const char *rest = lines->text;
	bool stays = true;
	int r = knownhosts_parse_hosts(&rest, &line);

	if (r == 0)
		r = judge_line(w, &line, rest, &stays);
	else if (r != ERR_NOMEM)
		r = 0;
	if (stays) {
		buf_put(&w->out, lines->raw.p, lines->raw.len);
		buf_put_u8(&w->out, '\n');
	} else {
		w->rn->dropped++;
	}
	knownhosts_line_clear(&line);
	return r != 0 ? r : buf_err(&w->out);
}

/* Behind the first pass, as only then it is known which keys are outdated. */
static int
look_for_outdated(struct renew *w, const struct knownhosts_lines *lines)
{
	struct knownhosts_line line = { 0 };
	const char *rest = lines->text;
	int r = knownhosts_parse_hosts(&rest, &line);

	if (r == 0 && has_key(&w->outdated, rest) &&
	    !knownhosts_hosts_match(line.hosts, w->rn->name) &&
	    is_another_host(w, line.hosts))
		w->rn->why = "a key that the host has no longer stands under "
			     "another name, too";
	knownhosts_line_clear(&line);
	return r == ERR_NOMEM ? r : 0;
}

static int
each_line(struct renew *w, const struct knownhosts_held *held,
    int (*fn)(struct renew *w, const struct knownhosts_lines *lines))
{
	struct knownhosts_lines lines;
	int r = knownhosts_lines_begin(&lines,
	    (struct span){ buf_data(&held->content),
		buf_len(&held->content) });

	while (r == 0 && (r = knownhosts_lines_next(&lines)) == 1)
		r = fn(w, &lines);
	knownhosts_lines_close(&lines);
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
judge(struct renew *w, const struct knownhosts_held *held)
{
	struct knownhosts_renewal *rn = w->rn;
	int r = 0;

	for (size_t i = 0; r == 0 && i < rn->n; i++)
		r = add_key(&w->offered, key_identity(rn->keys[i]));
	if (r == 0)
		r = each_line(w, held, take_line);
	if (r == 0 && w->outdated.n > 0)
		r = each_line(w, held, look_for_outdated);
	if (r == 0 && !w->shown_is_there && rn->why == NULL)
		rn->why = "no line has the key that was shown";
	if (r == 0 && rn->why != NULL)
		r = ERR_NOT_FOUND;
	return r == 0 ? append_missing(w) : r;
}

/* A symbolic link is followed, not replaced. */
int
knownhosts_renew(const char *path, struct knownhosts_renewal *rn,
    bool only_look)
{
	struct renew w = { .rn = rn };
	struct knownhosts_held held = { .fd = -1 };
	char *real;
	int r;

	rn->added = rn->dropped = 0;
	rn->why = NULL;
	memset(rn->had, 0, sizeof rn->had);
	if (rn->n > KNOWNHOSTS_RENEW_MAX)
		return ERR_LIMIT;
	if ((real = realpath(path, NULL)) == NULL)
		return ERR_SYSTEM;
	r = only_look ? file_read(real, &held.content, KNOWNHOSTS_FILE_MAX) :
			knownhosts_hold(&held, real);
	if (r == 0)
		r = judge(&w, &held);
	if (r == 0 && !only_look && rn->added + rn->dropped > 0)
		r = knownhosts_replace(&held, real, &w.out);
	knownhosts_release(&held);
	strlist_clear(&w.offered);
	strlist_clear(&w.outdated);
	buf_clear(&w.out);
	free(real);
	return r;
}
