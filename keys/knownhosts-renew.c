/* SPDX-License-Identifier: ISC */
/* Bringing the lines of one host up to date with the keys that it has. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

struct renew {
	struct knownhosts_renewal *rn;
	bool shown_is_there;
	struct buf out;
};

/* Does the line name this host without a pattern? */
static bool
names_host(const struct knownhosts_line *line, const char *name)
{
	return line->key != NULL && line->marker == KNOWNHOSTS_NONE &&
	    (knownhosts_is_hashed(line->hosts) ||
		strpbrk(line->hosts, "*?!") == NULL) &&
	    knownhosts_hosts_match(line->hosts, name);
}

static bool
is_for_it_alone(const struct knownhosts_line *line, const char *name)
{
	return knownhosts_is_hashed(line->hosts) ||
	    strcasecmp(line->hosts, name) == 0;
}

/* True if the line stays. */
static bool
judge_line(struct renew *w, const struct knownhosts_line *line)
{
	struct knownhosts_renewal *rn = w->rn;
	bool wanted = false;

	if (!names_host(line, rn->name))
		return true;
	for (size_t i = 0; i < rn->n; i++) {
		if (!key_same_identity(rn->keys[i], line->key))
			continue;
		wanted = rn->had[i] = true;
		if (key_same_identity(rn->shown, line->key))
			w->shown_is_there = true;
	}
	return wanted || !is_for_it_alone(line, rn->name);
}

static int
take_line(struct renew *w, const struct knownhosts_lines *lines)
{
	struct knownhosts_line line = { 0 };
	int parsed = knownhosts_parse_line(lines->text, &line);
	bool stays = true;

	if (parsed == ERR_NOMEM)
		return parsed;
	if (parsed == 0)
		stays = judge_line(w, &line);
	if (stays) {
		buf_put(&w->out, lines->raw.p, lines->raw.len);
		buf_put_u8(&w->out, '\n');
	} else {
		w->rn->dropped++;
	}
	knownhosts_line_clear(&line);
	return buf_err(&w->out);
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

/* A symbolic link is followed, not replaced. */
static int
replace(const char *path, const struct buf *content)
{
	char *real = realpath(path, NULL);
	struct stat st;
	int r = ERR_SYSTEM;

	if (real != NULL && stat(real, &st) == 0)
		r = file_replace(real, buf_data(content), buf_len(content),
		    st.st_mode & 0666);
	free(real);
	return r;
}

int
knownhosts_renew(const char *path, struct knownhosts_renewal *rn,
    bool only_look)
{
	struct renew w = { .rn = rn };
	struct knownhosts_lines lines;
	int r;

	rn->added = rn->dropped = 0;
	memset(rn->had, 0, sizeof rn->had);
	if (rn->n > KNOWNHOSTS_RENEW_MAX)
		return ERR_LIMIT;
	r = knownhosts_lines_open(&lines, path);
	while (r == 0 && (r = knownhosts_lines_next(&lines)) == 1)
		r = take_line(&w, &lines);
	knownhosts_lines_close(&lines);
	if (r == 0 && !w.shown_is_there)
		r = ERR_NOT_FOUND;
	if (r == 0)
		r = append_missing(&w);
	if (r == 0 && !only_look && rn->added + rn->dropped > 0)
		r = replace(path, &w.out);
	buf_clear(&w.out);
	return r;
}
