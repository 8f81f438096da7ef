/* SPDX-License-Identifier: ISC */
/*
 * The directories of a walk, each before those that are in it, and names sorted
 * by their bytes. When a directory is entered, its device and inode number must
 * be those that were found before (xfer/local/local-tree.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd-mem.h"
#include "compat/bsd.h"
#include "xfer/serve/sftp-serve-walk.h"

/* A directory on the way to the present one, and in `below` its directories
 * that are still to be visited: for each its device and inode number, and its
 * name with a zero byte. */
enum {
	EARLY_MAX = 64, /* directories of one level that are read ahead at
			 * most */
	EARLY_MORE = 8, /* so many of them at a time, */
	EARLY_LEAST = 4, /* and the least number for which that is worth
			  * while */
	EARLY_LEVELS = 16, /* for so many levels */
};

struct walk_level {
	struct local_dir *dir;
	struct buf below;
	/* The first directories in `below`, which are read ahead: owned; their
	 * number; and the bytes that they have in `below`. */
	struct walk_early *early[EARLY_MAX];
	size_t early_count, early_bytes;
	size_t last_at; /* where the last of them is */
	char *last;	/* its name, owned, if the list was cut there */
	bool cut;	/* there are more directories behind the last one: they
			 * are looked for when those before them are done */
	size_t path_len; /* length of the part of w->path that leads to dir */
};

enum {
	/* Bytes of the names of one directory that are held at a time. They
	 * are read again, in order, as often as it takes. */
	NAMES_MAX = 20 * 1024 * 1024,
	NAMES_LEAST = 2048,
	NAME_COST = sizeof(char *),
	BELOW_LEAST = 16 * 1024, /* bytes of a level's directories, whatever
				  * those of other levels take */
	WALK_FDS = 32, /* most open descriptors of directories */
};

int
walk_dirs_begin(struct walk_dirs *w, int top)
{
	if (w->names_max == 0)
		w->names_max = NAMES_MAX;
	w->names_max = MAX(w->names_max, (size_t)NAMES_LEAST);
	w->tree = local_tree_new(w->fds_max != 0 ? w->fds_max : WALK_FDS);
	w->levels = calloc(1, sizeof *w->levels);
	if (w->tree == NULL || w->levels == NULL) {
		fd_close(&top);
		return -1;
	}
	w->cap = 1;
	w->levels[0].dir = local_root_held(w->tree, top);
	w->count = w->levels[0].dir != NULL;
	return w->count == 1 ? 0 : -1;
}

static void
leave(struct walk_dirs *w)
{
	struct walk_level *l = &w->levels[--w->count];

	w->below_held -= buf_len(&l->below);
	buf_clear(&l->below);
	for (size_t i = 0; i < l->early_count; i++)
		walk_early_free(l->early[i]);
	free(l->last);
	local_dir_unref(l->dir);
	w->path[w->count > 0 ? w->levels[w->count - 1].path_len : 0] = '\0';
}

static void
forget_names(struct walk_dirs *w)
{
	if (w->list != NULL)
		closedir(w->list);
	w->list = NULL;
	buf_clear(&w->bytes);
	if (w->early == NULL)
		free(w->names);
	walk_early_free(w->early);
	w->early = NULL;
	w->names = NULL;
	w->names_count = w->next = 0;
}

void
walk_dirs_clear(struct walk_dirs *w)
{
	while (w->count > 0)
		leave(w);
	forget_names(w);
	free(w->levels);
	w->levels = NULL;
	local_tree_free(w->tree);
	w->tree = NULL;
}

int
walk_dirs_fd(const struct walk_dirs *w)
{
	return dirfd(w->list);
}

struct local_dir *
walk_dirs_here(const struct walk_dirs *w)
{
	return w->levels[w->count - 1].dir;
}

/* ---- names -------------------------------------------------------------- */

/* A sorted list of the names in w->bytes; caller frees. */
static const char **
sorted(const struct walk_dirs *w, size_t count)
{
	const char *at = (const char *)buf_data(&w->bytes);
	const char **names = calloc(count + 1, sizeof *names);

	if (names == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		names[i] = at;
		at += strlen(at) + 1;
	}
	qsort(names, count, sizeof *names, str_order);
	return names;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Keeps the lower half of the sorted names in w->bytes; w->upper becomes the
 * last name of that half. */
static int
keep_lower_half(struct walk_dirs *w, size_t *count)
{
	const char **names = sorted(w, *count);
	char *at = (char *)buf_data(&w->bytes), *to = at;
	const char *end = at + buf_len(&w->bytes);
	size_t len;

	if (names == NULL)
		return -1;
	strlcpy(w->upper, names[*count / 2 - 1], sizeof w->upper);
	free(names);
	for (*count = 0; at < end; at += len) {
		len = strlen(at) + 1;
		if (strcmp(at, w->upper) > 0)
			continue;
		memmove(to, at, len);
		to += len;
		(*count)++;
	}
	buf_truncate(&w->bytes, (size_t)(to - (char *)buf_data(&w->bytes)));
	w->more = true;
	return 0;
}

/* Reads the names of a directory behind w->last into w->bytes: those that come
 * first of them, if they are too many, which sets w->more. Some file systems
 * have names longer than a record can hold: ENAMETOOLONG. */
static int
read_names(struct walk_dirs *w, DIR *dir, size_t *count)
{
	const struct dirent *de;
	size_t len;

	for (*count = 0;;) {
		errno = 0;
		de = readdir(dir);
		if (de == NULL)
			return errno == 0 ? 0 : -1;
		len = strlen(de->d_name) + 1;
		if (is_dots(de->d_name) || strcmp(de->d_name, w->last) <= 0 ||
		    (w->more && strcmp(de->d_name, w->upper) > 0))
			continue;
		if (len > WALK_NAME_MAX + 1) {
			errno = ENAMETOOLONG;
			return -1;
		}
		buf_put(&w->bytes, de->d_name, len);
		(*count)++;
		errno = ENOMEM;
		if (buf_err(&w->bytes) < 0 ||
		    (*count * NAME_COST + buf_len(&w->bytes) > w->names_max &&
			keep_lower_half(w, count) != 0))
			return -1;
	}
}

/* Loads the names of the present directory behind w->last, or as many of them
 * as may be held. *error: why they cannot be read. 0, or -1: no memory. */
static int
load(struct walk_dirs *w, int *error)
{
	size_t count = 0;

	*error = 0;
	w->more = false;
	w->loads++;
	if (w->early != NULL) {
		w->names = w->early->names;
		w->names_count = w->early->count;
		return 0;
	}
	w->list = local_dir_list(walk_dirs_here(w));
	if (w->list == NULL || read_names(w, w->list, &count) != 0)
		*error = errno;
	if (*error == ENOMEM)
		return -1;
	if (*error != 0) {
		buf_clear(&w->bytes);
		return 0;
	}
	w->names = sorted(w, count);
	w->names_count = count;
	return w->names != NULL ? 0 : -1;
}

/* The names in memory have all been told, and there are more. */
static int
load_more(struct walk_dirs *w)
{
	int error;

	strlcpy(w->last, w->names[w->names_count - 1], sizeof w->last);
	forget_names(w);
	if (load(w, &error) != 0)
		error = ENOMEM;
	w->broken = error;
	return error == 0 ? 0 : -1;
}

const char *
walk_dirs_name(struct walk_dirs *w)
{
	do {
		if (w->refilling && w->levels[w->count - 1].cut)
			return NULL;
		while (w->next < w->names_count && w->silent &&
		    strcmp(w->names[w->next], w->after) < 0)
			w->next++;
		if (w->next < w->names_count)
			return w->names[w->next++];
	} while (w->more && load_more(w) == 0);
	return NULL;
}

/* ---- the way ------------------------------------------------------------ */

/* Stops noting directories of this level for now. */
static int
cut(struct walk_level *l)
{
	const char *last = (const char *)buf_data(&l->below) + l->last_at +
	    2 * sizeof(uint64_t);

	if (l->cut)
		return 0;
	free(l->last);
	l->last = strdup(last);
	l->cut = true;
	errno = ENOMEM;
	return l->last != NULL ? 0 : -1;
}

int
walk_dirs_enter(struct walk_dirs *w, const char *name, const struct stat *found)
{
	struct walk_level *l = &w->levels[w->count - 1];
	size_t before = buf_len(&l->below);
	const uint64_t file[2] = { found->st_dev, found->st_ino };

	if (strlen(w->path) + 1 + strlen(name) > WALK_PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (l->cut || (before > BELOW_LEAST &&
	    w->below_held > w->names_max / 4))
		return cut(l);
	l->last_at = before;
	buf_put(&l->below, file, sizeof file);
	buf_put(&l->below, name, strlen(name) + 1);
	w->below_held += buf_len(&l->below) - before;
	errno = ENOMEM;
	return buf_err(&l->below) != 0 ? -1 : 0;
}

static int
push(struct walk_dirs *w, struct local_dir *dir, const char *name)
{
	struct walk_level *grown;
	size_t len = strlen(w->path);

	if (w->count == w->cap) {
		grown = recallocarray(w->levels, w->cap, w->cap * 2,
		    sizeof *grown);
		if (grown == NULL)
			return -1;
		w->levels = grown;
		w->cap *= 2;
	}
	if (len > 0)
		w->path[len++] = '/';
	strcpy(w->path + len, name);
	w->levels[w->count++] = (struct walk_level){ .dir = dir,
		.path_len = len + strlen(name) };
	return 0;
}

/* An entry of `below`, the list of a level's directories. */
struct below {
	char name[WALK_NAME_MAX + 1];
	struct stat found;
	size_t len; /* bytes of the list */
};

static void
get_below(const struct walk_level *l, size_t at, struct below *out)
{
	const uint8_t *p = buf_data(&l->below) + at;
	uint64_t file[2];

	memcpy(file, p, sizeof file);
	strlcpy(out->name, (const char *)p + sizeof file, sizeof out->name);
	out->len = sizeof file + strlen(out->name) + 1;
	out->found = (struct stat){ .st_dev = (dev_t)file[0],
		.st_ino = (ino_t)file[1] };
}

/* Are there at least EARLY_LEAST directories? */
static bool
is_worth_it(const struct walk_level *l)
{
	size_t at = 0, n = 0;
	struct below b;

	for (; n < EARLY_LEAST && at < buf_len(&l->below); n++) {
		get_below(l, at, &b);
		at += b.len;
	}
	return n == EARLY_LEAST;
}

/* Has threads read the next directories of the level ahead. */
static void
read_early(const struct walk_dirs *w, struct walk_level *l)
{
	struct walk_early *e;
	struct below b;
	DIR *list;

	if (w->ahead == NULL || w->skipping || w->count > EARLY_LEVELS ||
	    l->early_count > EARLY_MAX - EARLY_MORE ||
	    l->early_bytes == buf_len(&l->below) ||
	    (l->early_count == 0 && !is_worth_it(l)) ||
	    (list = local_dir_list(l->dir)) == NULL)
		return;
	while (l->early_count < EARLY_MAX &&
	    l->early_bytes < buf_len(&l->below)) {
		get_below(l, l->early_bytes, &b);
		e = walk_early_new(dirfd(list), b.name, &b.found);
		if (e == NULL || !walk_ahead_read(w->ahead, e)) {
			walk_early_free(e);
			break;
		}
		l->early[l->early_count++] = e;
		l->early_bytes += b.len;
	}
	closedir(list);
	walk_ahead_go(w->ahead);
}

/* Takes the first directory of the level, whose entry has len bytes, if it was
 * read ahead. NULL: the walk has to read it itself. */
static struct walk_early *
take_early(const struct walk_dirs *w, struct walk_level *l, size_t len)
{
	struct walk_early *e;

	if (l->early_count == 0)
		return NULL;
	e = l->early[0];
	memmove(l->early, l->early + 1, --l->early_count * sizeof *l->early);
	l->early_bytes -= len;
	walk_ahead_wait(w->ahead, e);
	if (walk_early_is_good(e))
		return e;
	walk_early_free(e);
	return NULL;
}

/* Enters the next directory below the present one. 0 or -1. */
static int
descend(struct walk_dirs *w)
{
	struct walk_level *l = &w->levels[w->count - 1];
	struct local_dir *dir;
	struct below b;

	get_below(l, 0, &b);
	read_early(w, l);
	w->early = take_early(w, l, b.len);
	buf_consume(&l->below, b.len);
	w->below_held -= b.len;
	dir = local_child(l->dir, b.name, &b.found, LOCAL_LINKS_NONE);
	if (dir == NULL)
		return -1;
	if (push(w, dir, b.name) != 0) {
		local_dir_unref(dir);
		return -1;
	}
	return 0;
}

/* For a walk that goes on behind w->start: sets w->silent and w->after, which
 * tell what to pass over in the present directory. */
static void
set_after(struct walk_dirs *w)
{
	size_t len = strlen(w->path);
	const char *rest = w->start + len + (len > 0);

	w->silent = w->skipping;
	w->after[0] = '\0';
	if (!w->skipping)
		return;
	if (strcmp(w->path, w->start) == 0)
		w->skipping = false; /* this is `start`: the walk goes on with
				      * all directories in it */
	else if (len == 0 || (strncmp(w->path, w->start, len) == 0 &&
	    w->start[len] == '/'))
		strlcpy(w->after, rest, MIN(strcspn(rest, "/") + 1,
		    sizeof w->after));
	else
		w->skipping = w->silent = false; /* `start` does not exist any
						  * more: tell all that
						  * follows */
}

/* Notes more directories of this level: goes through the names behind the last
 * one that was noted. */
static int
refill(struct walk_dirs *w)
{
	struct walk_level *l = &w->levels[w->count - 1];
	int error;

	l->cut = false;
	w->refilling = w->silent = true;
	w->after[0] = '\0';
	strlcpy(w->last, l->last, sizeof w->last);
	if (load(w, &error) != 0 || error != 0)
		return -1;
	return 1;
}

int
walk_dirs_next(struct walk_dirs *w, int *error)
{
	*error = 0;
	forget_names(w);
	while (w->begun && w->count > 0 &&
	    buf_len(&w->levels[w->count - 1].below) == 0) {
		if (w->levels[w->count - 1].cut)
			return refill(w);
		leave(w);
	}
	if (w->begun && w->count == 0)
		return 0;
	if (w->begun && descend(w) != 0)
		return -1;
	w->begun = true;
	w->refilling = false;
	w->last[0] = '\0';
	set_after(w);
	return load(w, error) != 0 ? -1 : 1;
}
