/* SPDX-License-Identifier: ISC */
#include "keys/knownhosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/cert.h"
#include "keys/knownhosts-internal.h"

/* ---- going through files ------------------------------------------------ */

/* What knownhosts_each_match() passes to parse_match(): the path, for messages,
 * and the function that gets each line. */
struct lookup {
	const char *path;
	knownhosts_line_fn fn;
	void *arg;
};

static int
parse_match(void *arg, const struct knownhosts_lines *l,
    const struct knownhosts_head *h, uint32_t which)
{
	const struct lookup *u = arg;

	(void)which;
	return knownhosts_found_line(h, u->path, l->number, u->fn, u->arg);
}

/* Passes the lines that match name to u.fn; name NULL: all lines. */
static int
each_line(struct knownhosts_lines *l, const char *name, struct lookup u)
{
	struct knownhosts_matcher m;
	int r = knownhosts_matcher_init(&m, &name, name != NULL ? 1 : 0);

	if (r == 0)
		r = knownhosts_each_match(l, name != NULL ? &m : NULL,
		    parse_match, &u);
	knownhosts_matcher_clear(&m);
	return r;
}

int
knownhosts_each_line(const char *path, const char *name,
    knownhosts_line_fn fn, void *arg)
{
	struct knownhosts_lines l;
	int r = knownhosts_lines_open(&l, path);

	if (r == 0)
		r = each_line(&l, name, (struct lookup){ path, fn, arg });
	knownhosts_lines_close(&l);
	return r;
}

struct of_key {
	const char *path, *text; /* text: the key in question */
	knownhosts_line_fn fn;
	void *arg;
};

static int
compare_key(void *arg, const struct knownhosts_lines *l,
    const struct knownhosts_head *h, uint32_t which)
{
	const struct of_key *o = arg;
	struct knownhosts_line line = { 0 };

	(void)which;
	if (h == NULL || !knownhosts_is_key_text(o->text, h->rest))
		return 0;
	line.marker = h->marker;
	line.hosts = h->hosts;
	return o->fn(o->arg, o->path, l->number, &line);
}

int
knownhosts_each_of_key(const char *path, const struct key *k,
    knownhosts_line_fn fn, void *arg)
{
	char *text = knownhosts_key_text(k);
	struct of_key o = { path, text, fn, arg };
	struct knownhosts_lines l = { .fd = -1 };
	int r = text != NULL ? knownhosts_lines_open(&l, path) : ERR_NOMEM;

	if (r == 0)
		r = knownhosts_each_match(&l, NULL, compare_key, &o);
	knownhosts_lines_close(&l);
	free(text);
	return r;
}

/* A missing file counts as empty. A file that cannot be read is an error,
 * because a line in it might revoke the key. */
static int
each_line_of_files(const struct knownhosts_sources *sources, const char *name,
    knownhosts_line_fn fn, void *arg)
{
	int r = 0;

	if (knownhosts_seen_has(sources->seen, sources->files, name))
		return knownhosts_seen_each(sources->seen, name, fn, arg);
	for (size_t i = 0; r == 0 && i < sources->files->n; i++) {
		r = knownhosts_each_line(sources->files->v[i], name, fn, arg);
		if (r == ERR_SYSTEM && (errno == ENOENT || errno == ENOTDIR))
			r = 0;
	}
	return r;
}

static int
each_line_of_all(const struct knownhosts_sources *sources, const char *name,
    knownhosts_line_fn fn, void *arg)
{
	struct knownhosts_lines l;
	int r = each_line_of_files(sources, name, fn, arg);

	if (r != 0 || sources->lines.len == 0)
		return r;
	knownhosts_lines_begin(&l, sources->lines);
	r = each_line(&l, name,
	    (struct lookup){ sources->lines_name, fn, arg });
	knownhosts_lines_close(&l);
	return r;
}

/* ---- the check ---------------------------------------------------------- */

struct check {
	const struct key *key;
	struct knownhosts_found *found;
};

/* A line's verdict replaces that of an earlier line if its rank is higher.
 * Among several lines with other keys, the last one is reported. */
static int
rank(enum knownhosts_verdict v)
{
	switch (v) {
	case KNOWNHOSTS_NEW:
		return 0;
	case KNOWNHOSTS_CHANGED:
		return 1;
	case KNOWNHOSTS_OK:
		return 2;
	case KNOWNHOSTS_IS_REVOKED:
		return 3;
	}
	return 0;
}

/* A @revoked line with the key revoked applies to k: it is the same key, or the
 * authority of k's certificate. */
static bool
revokes(const struct key *revoked, const struct key *k)
{
	const struct cert *c = key_cert(k);

	return key_same_identity(revoked, k) ||
	    (c != NULL && key_same_identity(revoked, c->ca));
}

static int
note_line(struct check *c, enum knownhosts_verdict v, const char *path,
    unsigned number, const struct key *k)
{
	free(c->found->path);
	c->found->path = strdup(path);
	c->found->line = number;
	c->found->type = key_short_name(k);
	c->found->verdict = v;
	return c->found->path != NULL ? 0 : ERR_NOMEM;
}

static int
check_line(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	struct check *c = arg;
	enum knownhosts_verdict v;

	if (line->key == NULL || line->marker == KNOWNHOSTS_CA)
		return 0;
	if (line->marker == KNOWNHOSTS_REVOKED) {
		if (!revokes(line->key, c->key))
			return 0;
		v = KNOWNHOSTS_IS_REVOKED;
	} else if (key_same_identity(line->key, c->key) &&
	    !key_is_cert(line->key)) {
		v = KNOWNHOSTS_OK;
	} else {
		v = KNOWNHOSTS_CHANGED;
	}
	if (rank(v) < rank(c->found->verdict) ||
	    (v == c->found->verdict && v != KNOWNHOSTS_CHANGED))
		return 0;
	return note_line(c, v, path, number, line->key);
}

static int
ca_line(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	struct check *c = arg;

	if (line->key == NULL || line->marker != KNOWNHOSTS_CA ||
	    c->found->verdict == KNOWNHOSTS_OK ||
	    (c->key != NULL && !key_equal_public(line->key, c->key)))
		return 0;
	return note_line(c, KNOWNHOSTS_OK, path, number, line->key);
}

static int
look_up(const struct knownhosts_sources *sources, const char *name,
    const struct key *k, knownhosts_line_fn fn,
    struct knownhosts_found *found)
{
	struct check c = { k, found };
	int r;

	*found = (struct knownhosts_found){ .verdict = KNOWNHOSTS_NEW };
	r = each_line_of_all(sources, name, fn, &c);
	if (r != 0)
		knownhosts_found_clear(found);
	return r;
}

int
knownhosts_check(const struct knownhosts_sources *sources, const char *name,
    const struct key *k, struct knownhosts_found *found)
{
	return look_up(sources, name, k, check_line, found);
}

int
knownhosts_find_ca(const struct knownhosts_sources *sources, const char *name,
    const struct key *ca, struct knownhosts_found *found)
{
	return look_up(sources, name, ca, ca_line, found);
}

void
knownhosts_found_clear(struct knownhosts_found *f)
{
	free(f->path);
	*f = (struct knownhosts_found){ .verdict = KNOWNHOSTS_NEW };
}

struct types {
	enum knownhosts_marker marker; /* the lines of this pass */
	struct strlist revoked;	       /* keys, by key_format_line() */
	struct strlist *types;
};

static int
add_revoked(struct types *t, const char *key)
{
	return strlist_has(&t->revoked, key) ? 0 :
					       strlist_add(&t->revoked, key);
}

static int
add_type(struct types *t, const char *key, const char *type)
{
	if (strlist_has(&t->revoked, key) || strlist_has(t->types, type))
		return 0;
	return strlist_add(t->types, type);
}

static int
types_line(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	struct types *t = arg;
	struct buf b = { 0 };
	char *key = NULL;
	int r;

	(void)path;
	(void)number;
	if (line->key == NULL || line->marker != t->marker ||
	    (t->marker == KNOWNHOSTS_NONE && key_is_cert(line->key)))
		return 0;
	r = key_format_line(line->key, NULL, &b);
	if (r == 0 && (key = buf_dup_string(&b)) == NULL)
		r = ERR_NOMEM;
	if (r == 0)
		r = t->marker == KNOWNHOSTS_REVOKED ?
		    add_revoked(t, key) :
		    add_type(t, key, key_type(line->key));
	free(key);
	buf_clear(&b);
	return r;
}

int
knownhosts_types(const struct knownhosts_sources *sources, const char *name,
    struct strlist *types)
{
	struct types t = { KNOWNHOSTS_REVOKED, { 0 }, types };
	int r;

	r = each_line_of_all(sources, name, types_line, &t);
	t.marker = KNOWNHOSTS_NONE;
	if (r == 0)
		r = each_line_of_all(sources, name, types_line, &t);
	strlist_clear(&t.revoked);
	return r;
}

/* ---- adding ------------------------------------------------------------- */

/* May this name be written as the first field of a line? It must not contain
 * what would begin another field, another line, a comment or a marker. It must
 * not be a list or a pattern either, because that would name other hosts,
 * too. */
static bool
name_ok(const char *name)
{
	for (const char *s = name; *s != '\0'; s++)
		if (iscntrl((unsigned char)*s) || strchr(" ,*?!|", *s) != NULL)
			return false;
	return *name != '\0' && *name != '#' && *name != '@';
}

int
knownhosts_format(const char *name, const struct key *k, bool hash,
    struct buf *out)
{
	char *host = hash ? knownhosts_hash(name) : knownhosts_lower_case(name);
	int r = 0;

	if (host == NULL)
		return ERR_NOMEM;
	if (!name_ok(name))
		r = ERR_ARGUMENT;
	if (r == 0) {
		buf_printf(out, "%s ", host);
		r = key_format_line(key_identity(k), NULL, out);
	}
	buf_put_u8(out, '\n');
	free(host);
	return r != 0 ? r : buf_err(out);
}

int
knownhosts_add(const char *path, const char *name, const struct key *k,
    bool hash)
{
	struct buf text = { 0 };
	int r = knownhosts_format(name, k, hash, &text);

	if (r == 0)
		r = knownhosts_append(path,
		    buf_span(&text));
	buf_clear(&text);
	return r;
}
