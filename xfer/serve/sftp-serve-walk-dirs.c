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
#include "compat/bsd-mem.h"
#include "compat/bsd.h"
#include "xfer/serve/sftp-serve-walk.h"

/* A directory on the way to the present one, and in `below` its directories
 * that are still to be visited: for each its device and inode number, and its
 * name with a zero byte. */
struct walk_level {
	struct local_dir *dir;
	struct buf below;
	size_t path_len; /* bytes of w->path up to it */
};

enum {
	HELD_MAX = 16 * 1024 * 1024,
	WALK_FDS = 32, /* most open descriptors of directories */
	NAMES_MAX = 1000000, /* most names of a group; a directory with more is
			      * told in parts */
	NAME_COST = sizeof(char *) + 1,
};

int
walk_dirs_begin(struct walk_dirs *w, int top)
{
	if (w->held_max == 0)
		w->held_max = HELD_MAX;
	w->tree = local_tree_new(WALK_FDS);
	w->levels = calloc(1, sizeof *w->levels);
	if (w->tree == NULL || w->levels == NULL) {
		fd_close(&top);
		return -1;
	}
	w->cap = 1;
	buf_set_max(&w->bytes, HELD_MAX);
	w->levels[0].dir = local_root_held(w->tree, top);
	w->count = w->levels[0].dir != NULL;
	return w->count == 1 ? 0 : -1;
}

static void
leave(struct walk_dirs *w)
{
	struct walk_level *l = &w->levels[--w->count];

	w->held -= buf_len(&l->below);
	buf_clear(&l->below);
	local_dir_unref(l->dir);
	w->path[w->count > 0 ? w->levels[w->count - 1].path_len : 0] = '\0';
}

static void
forget_names(struct walk_dirs *w)
{
	w->held -= w->names_count * NAME_COST + buf_len(&w->bytes);
	buf_clear(&w->bytes);
	buf_set_max(&w->bytes, HELD_MAX);
	free(w->names);
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

struct local_dir *
walk_dirs_here(const struct walk_dirs *w)
{
	return w->levels[w->count - 1].dir;
}

/* ---- names -------------------------------------------------------------- */

/* Is the name in the part of the top directory that this walk tells? The hash
 * (FNV-1a) must be the same in all walks, so that the parts together have each
 * name once. */
static bool
is_in_part(const struct walk_dirs *w, const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	if (w->count != 1 || w->parts < 2)
		return true;
	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return (h ^ h >> 32) % w->parts == w->part;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Makes the sorted list w->names of the names in w->bytes. */
static int
sort_names(struct walk_dirs *w, size_t count)
{
	const char *at = (const char *)buf_data(&w->bytes);

	w->names = calloc(count + 1, sizeof *w->names);
	if (w->names == NULL)
		return -1;
	for (size_t i = 0; i < count; i++) {
		w->names[i] = at;
		at += strlen(at) + 1;
	}
	qsort(w->names, count, sizeof *w->names, compare);
	w->names_count = count;
	w->held += count * NAME_COST + buf_len(&w->bytes);
	return 0;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Bytes that are left for names. Names of directories still to be visited may
 * have exceeded the limit already: then 0. */
static size_t
room_of(const struct walk_dirs *w)
{
	return w->held < w->held_max ? w->held_max - w->held : 0;
}

/* Reads the names of a directory into w->bytes. If they are too many, it only
 * goes on counting. Some file systems have names longer than a record can hold:
 * ENAMETOOLONG. */
static int
read_names(struct walk_dirs *w, DIR *dir, size_t *count, size_t *bytes)
{
	const struct dirent *de;
	size_t room = room_of(w), len;

	*count = *bytes = 0;
	for (;;) {
		errno = 0;
		de = readdir(dir);
		if (de == NULL)
			return errno == 0 ? 0 : -1;
		if (is_dots(de->d_name) || !is_in_part(w, de->d_name))
			continue;
		len = strlen(de->d_name) + 1;
		if (len > WALK_NAME_MAX + 1) {
			errno = ENAMETOOLONG;
			return -1;
		}
		(*count)++;
		*bytes += len + NAME_COST;
		if (*count <= NAMES_MAX && *bytes <= room)
			buf_put(&w->bytes, de->d_name, len);
	}
}

/* The number of parts in which to tell a directory with so many names. A
 * quarter of the memory is meant for the names of a part, since those of its
 * directories take more. The top directory, if it is a part already, is cut
 * into twice as many; 0: that would be too many. */
static uint32_t
parts_for(const struct walk_dirs *w, size_t count, size_t bytes)
{
	size_t n = MAX(count / (NAMES_MAX / 2), bytes / (w->held_max / 4)) + 2;

	if (w->count == 1 && w->parts > 1)
		return w->parts <= WALK_PARTS_MAX / 2 ? 2 * w->parts : 0;
	return (uint32_t)MIN(n, (size_t)WALK_PARTS_MAX);
}

static int
load(struct walk_dirs *w, int *error, uint32_t *parts)
{
	size_t count = 0, bytes = 0;
	DIR *dir = local_dir_list(walk_dirs_here(w));

	*error = 0;
	*parts = 0;
	if (dir == NULL || read_names(w, dir, &count, &bytes) != 0)
		*error = errno;
	if (dir != NULL)
		closedir(dir);
	if (*error == 0 && (count > NAMES_MAX || bytes > room_of(w))) {
		*parts = parts_for(w, count, bytes);
		*error = *parts == 0 ? EFBIG : 0;
	}
	if (*error != 0 || *parts != 0) {
		buf_clear(&w->bytes);
		buf_set_max(&w->bytes, HELD_MAX);
		return 0;
	}
	return buf_err(&w->bytes) != 0 ? -1 : sort_names(w, count);
}

const char *
walk_dirs_name(struct walk_dirs *w)
{
	while (w->next < w->names_count && w->silent &&
	    strcmp(w->names[w->next], w->after) < 0)
		w->next++;
	return w->next < w->names_count ? w->names[w->next++] : NULL;
}

/* ---- the way ------------------------------------------------------------ */

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
	buf_put(&l->below, file, sizeof file);
	buf_put(&l->below, name, strlen(name) + 1);
	w->held += buf_len(&l->below) - before;
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

/* Enters the next directory below the present one. 0 or -1. */
static int
descend(struct walk_dirs *w)
{
	struct walk_level *l = &w->levels[w->count - 1];
	const uint8_t *at = buf_data(&l->below);
	char name[WALK_NAME_MAX + 1];
	struct local_dir *dir;
	struct stat found = { 0 };
	uint64_t file[2];
	size_t len;

	memcpy(file, at, sizeof file);
	strlcpy(name, (const char *)at + sizeof file, sizeof name);
	len = sizeof file + strlen(name) + 1;
	found.st_dev = (dev_t)file[0];
	found.st_ino = (ino_t)file[1];
	buf_consume(&l->below, len);
	w->held -= len;
	dir = local_child(l->dir, name, &found, LOCAL_LINKS_NONE);
	if (dir == NULL)
		return -1;
	if (push(w, dir, name) != 0) {
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

int
walk_dirs_next(struct walk_dirs *w, int *error, uint32_t *parts)
{
	forget_names(w);
	if (w->begun) {
		while (w->count > 0 &&
		    buf_len(&w->levels[w->count - 1].below) == 0)
			leave(w);
		if (w->count == 0)
			return 0;
		if (descend(w) != 0)
			return -1;
	}
	w->begun = true;
	set_after(w);
	return load(w, error, parts) != 0 ? -1 : 1;
}
