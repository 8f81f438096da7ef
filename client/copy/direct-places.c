/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/copy/scp-asks.h"
#include "crypto/rand.h"
#include "xfer/sftp/remote-glob.h"

enum { AT_ONCE = 1000 }; /* names that are moved together */

/* ---- names -------------------------------------------------------------- */

char *
direct_name_of(const char *path)
{
	char *name = xfer_base_name(path);

	if (name == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return name;
}

static char *
join(const char *dir, const char *name)
{
	char *path = str_join_path(dir, name);

	if (path == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return path;
}

/* A source's name, as it is if no pattern is meant. The caller frees it. */
static char *
plain_name_of(const char *path)
{
	char *name = direct_name_of(path), *plain = remote_glob_unescape(name);

	if (plain == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	free(name);
	return plain;
}

/* Where that name, the last part of a path, belongs. The caller frees it. */
static char *
place_of(const struct direct_places *p, const char *path)
{
	char *name, *place;

	if (!p->is_dir)
		return xstrdup(p->dir);
	name = direct_name_of(path);
	place = join(p->dir, name);
	free(name);
	return place;
}

struct found {
	const char *pattern;
	struct strlist names;
};

static int
call_find(struct sftp *s, void *arg)
{
	struct found *f = arg;

	strlist_clear(&f->names);
	return remote_glob(s, f->pattern, &f->names);
}

/* A pattern for the names in that directory that fit `name`. The caller frees
 * it. */
static char *
pattern_in(const char *dir, const char *name)
{
	struct buf b = { 0 };
	char *pattern;

	for (const char *p = dir; *p != '\0'; p++)
		buf_printf(&b, strchr("\\*?[", *p) != NULL ? "\\%c" : "%c", *p);
	buf_printf(&b, "/%s", name);
	pattern = buf_dup_string(&b);
	buf_clear(&b);
	if (pattern == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return pattern;
}

/* The names in a directory that a source stands for; none, if its name is no
 * pattern. The caller clears *out. */
static void
find_in(struct direct_places *p, const char *dir, const char *source,
    struct strlist *out)
{
	struct found f = { .pattern = NULL };
	char *name = direct_name_of(source), *pattern;

	if (remote_glob_has_magic(name)) {
		f.pattern = pattern = pattern_in(dir, name);
		(void)scp_host_call(p->scp, p->to, call_find, &f);
		free(pattern);
	}
	free(name);
	*out = f.names;
}

/* ---- before ------------------------------------------------------------- */

/* The directory of a path: what is in front of the last slash, or "." if there
 * is none. The caller frees it. */
static char *
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return xstrdup(".");
	return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Two requests: for what is there, and for what a link there leads to. */
static void
ask_place(struct scp_asks *asks, const char *place)
{
	(void)scp_asks_add(asks, SCP_ASK_LSTAT, place, NULL);
	(void)scp_asks_add(asks, SCP_ASK_STAT, place, NULL);
}

/* The reason (static) why nothing can be moved to a place that was asked for;
 * NULL: it can. Other copies put a file into a directory, write to a device or
 * through a link, also one that leads nowhere yet. */
static const char *
why_no_place(const struct scp_ask look[2])
{
	if (scp_ask_found(&look[1], S_IFDIR))
		return "the target has a directory of that name";
	if (look[1].status == 0 && !scp_ask_found(&look[1], S_IFREG))
		return "the target is no regular file";
	if (look[1].status != 0 && look[0].status == 0)
		return "the target is a link that leads nowhere";
	return NULL;
}

/* A look at the places, so many of them at a time. */
struct look {
	struct direct_places *p;
	struct scp_asks asks; /* pairs of ask_place() */
	const char *why;      /* why one of them is none; NULL: none was */
};

static void
look_now(struct look *l)
{
	scp_asks_run(&l->asks, l->p->scp, l->p->to);
	for (size_t i = 0; i + 1 < l->asks.n && l->why == NULL; i += 2)
		l->why = why_no_place(&l->asks.v[i]);
}

static void
look_at(struct look *l, const char *place)
{
	ask_place(&l->asks, place);
	if (l->asks.n < 2 * AT_ONCE)
		return;
	look_now(l);
	scp_asks_clear(&l->asks);
}

/* Looks at the places of one source in the target's directory. */
static void
look_at_places(struct look *l, const char *source)
{
	struct strlist there = { NULL, 0 };
	char *name = plain_name_of(source), *place = join(l->p->dir, name);

	find_in(l->p, l->p->dir, source, &there);
	look_at(l, place);
	for (size_t i = 0; i < there.n; i++)
		look_at(l, there.v[i]);
	strlist_clear(&there);
	free(place);
	free(name);
}

/* The parent's links are resolved before the new directory is made, and not
 * those of the directory: where others may write to the parent, one of them
 * could put a link in its place. */
const char *
direct_places_look(struct direct_places *p, const struct xfer_target *sources,
    int n)
{
	struct look l = { .p = p };
	char *parent = p->is_dir ? xstrdup(p->dir) : directory_of(p->dir);
	const struct scp_ask *real;

	for (int i = 0; i < n && p->is_dir; i++)
		look_at_places(&l, sources[i].path);
	if (!p->is_dir)
		look_at(&l, p->dir);
	real = scp_asks_add(&l.asks, SCP_ASK_REALPATH, parent, NULL);
	look_now(&l);
	p->parent = xstrdup(real->status == 0 ? real->name : parent);
	scp_asks_clear(&l.asks);
	free(parent);
	return l.why;
}

bool
direct_places_make(struct direct_places *p)
{
	struct scp_asks asks = { .n = 0 };
	uint64_t random[2];
	char *outer, *inner;
	bool ok;

	rand_bytes(random, sizeof random);
	xasprintf(&outer, "%s/.hpnscp-direct-%016llx",
	    strcmp(p->parent, "/") == 0 ? "" : p->parent,
	    (unsigned long long)random[0]);
	xasprintf(&inner, "%s/%016llx", outer, (unsigned long long)random[1]);
	(void)scp_asks_add(&asks, SCP_ASK_MKDIR, outer, NULL);
	(void)scp_asks_add(&asks, SCP_ASK_MKDIR, inner, NULL);
	scp_asks_run(&asks, p->scp, p->to);
	ok = asks.v[1].status == 0;
	if (asks.v[0].status == 0) {
		p->outer = outer;
		p->inner = inner;
		p->scp->left = outer;
	}
	if (!ok)
		scp_report(p->scp, NULL, outer,
		    asks.v[asks.v[0].status == 0].words);
	if (p->outer == NULL) {
		free(outer);
		free(inner);
	}
	scp_asks_clear(&asks);
	return ok;
}

char *
direct_places_final(const struct direct_places *p, const char *path)
{
	size_t top = strcspn(path, "/");
	char *place;

	if (p->is_dir)
		return join(p->dir, path);
	xasprintf(&place, "%s%s", p->dir, path + top);
	return place;
}

bool
direct_places_hold(struct direct_places *p, const char *path)
{
	char *top = xstrndup(path, strcspn(path, "/"));
	bool first = !path_set_has(&p->held, top, NULL);

	path_set_put(&p->held, top, 0);
	free(top);
	return first;
}

/* ---- after -------------------------------------------------------------- */

/* Adds what a source stands for in the new directory to all. */
static void
find_source(struct direct_places *p, const char *source, struct strlist *all)
{
	struct strlist there = { NULL, 0 };
	char *name, *path;

	find_in(p, p->inner, source, &there);
	if (there.n == 0) {
		name = plain_name_of(source);
		path = join(p->inner, name);
		xstrlist_add(&there, path);
		free(path);
		free(name);
	}
	for (size_t i = 0; i < there.n; i++)
		xstrlist_add(all, there.v[i]);
	strlist_clear(&there);
}

/* What is at both ends of a move, and what a link there leads to. */
enum { AT_FROM, AT_TO, TO_FOLLOWED, TO_REAL, LOOKS };

/* The path that a move is to: where the place is a link, and a file comes to
 * it, that of the file it leads to. */
static const char *
way_of(const struct scp_ask *look)
{
	return scp_ask_found(&look[AT_FROM], S_IFREG) &&
	    scp_ask_found(&look[AT_TO], S_IFLNK) &&
	    look[TO_REAL].status == 0 ?
	    look[TO_REAL].name : look[AT_TO].path;
}

/* Why a move cannot be made (borrowed); NULL: it can. What is copied takes the
 * place of a file, and of what a link leads to, as any copy does; never that of
 * a directory. */
static const char *
why_no_move(const struct scp_ask *look)
{
	bool from_dir = scp_ask_found(&look[AT_FROM], S_IFDIR);

	if (look[AT_FROM].status == SFTP_NO_SUCH_FILE)
		return "the source's host has not brought it";
	if (look[AT_FROM].status != 0)
		return look[AT_FROM].words;
	if (from_dir && look[AT_TO].status == 0 &&
	    !scp_ask_found(&look[AT_TO], S_IFDIR))
		return strerror(ENOTDIR);
	/* A link at the place does not hinder a source that is a link. */
	return scp_ask_found(&look[AT_FROM], S_IFLNK) &&
	    scp_ask_found(&look[AT_TO], S_IFLNK) ?
	    NULL : why_no_place(&look[AT_TO]);
}

/* Has the name moved, or reports why it stays. A source that was not brought is
 * not reported if its own host has told of failures (was_told). */
static void
add_move(struct direct_places *p, struct scp_asks *moves,
    const struct scp_ask *look, bool was_told)
{
	const char *why = why_no_move(look);
	const char *name = look[AT_FROM].path + strlen(p->inner) + 1;

	if (path_set_has(&p->held, name, NULL))
		return; /* it was told why */
	if (why == NULL && p->told != NULL &&
	    !path_set_has(p->told, name, NULL))
		why = DIRECT_NO_DIGEST;
	if (why == NULL)
		(void)scp_asks_add(moves, SCP_ASK_MOVE, look[AT_FROM].path,
		    way_of(look));
	else if (look[AT_FROM].status != SFTP_NO_SUCH_FILE || !was_told)
		scp_report(p->scp, NULL, look[AT_TO].path, why);
}

static void
look_at_both_ends(struct direct_places *p, char *const *names, size_t n,
    struct scp_asks *looks)
{
	for (size_t i = 0; i < n; i++) {
		char *to = place_of(p, names[i]);

		(void)scp_asks_add(looks, SCP_ASK_LSTAT, names[i], NULL);
		ask_place(looks, to);
		(void)scp_asks_add(looks, SCP_ASK_REALPATH, to, NULL);
		free(to);
	}
	scp_asks_run(looks, p->scp, p->to);
}

static void
move_names(struct direct_places *p, char *const *names, size_t n,
    bool was_told)
{
	struct scp_asks looks = { .n = 0 }, moves = { .n = 0 };

	look_at_both_ends(p, names, n, &looks);
	for (size_t i = 0; i < looks.n; i += LOOKS)
		add_move(p, &moves, &looks.v[i], was_told);
	scp_asks_run(&moves, p->scp, p->to);
	for (size_t i = 0; i < moves.n; i++)
		if (moves.v[i].status != 0)
			scp_report(p->scp, NULL, moves.v[i].second,
			    moves.v[i].words);
	scp_asks_clear(&looks);
	scp_asks_clear(&moves);
}

void
direct_places_move(struct direct_places *p, const struct xfer_target *sources,
    int n)
{
	struct strlist all = { NULL, 0 };
	bool was_told = p->scp->failed;
	size_t some;

	for (int i = 0; i < n; i++)
		find_source(p, sources[i].path, &all);
	strlist_sort_unique(&all); /* two sources can stand for one name */
	if (!p->is_dir && all.n > 1)
		scp_report(p->scp, NULL, p->dir, strerror(ENOTDIR));
	else
		for (size_t i = 0; i < all.n; i += some) {
			some = MIN(all.n - i, (size_t)AT_ONCE);
			move_names(p, &all.v[i], some, was_told);
		}
	strlist_clear(&all);
}

bool
direct_places_remove_empty(struct direct_places *p)
{
	struct scp_asks asks = { .n = 0 };
	bool ok;

	if (p->outer == NULL)
		return true;
	(void)scp_asks_add(&asks, SCP_ASK_RMDIR, p->inner, NULL);
	(void)scp_asks_add(&asks, SCP_ASK_RMDIR, p->outer, NULL);
	scp_asks_run(&asks, p->scp, p->to);
	ok = asks.v[1].status == 0;
	scp_asks_clear(&asks);
	if (!ok)
		return false;
	p->scp->left = NULL;
	free(p->outer);
	free(p->inner);
	p->outer = p->inner = NULL;
	return true;
}

void
direct_places_end(struct direct_places *p)
{
	if (!direct_places_remove_empty(p))
		scp_report(p->scp, NULL, p->outer,
		    "is left, with what has no place");
	p->scp->left = NULL;
	path_set_clear(&p->held);
	free(p->parent);
	free(p->outer);
	free(p->inner);
}
