/* SPDX-License-Identifier: ISC */
/*
 * Small directories of a walk, read ahead by threads: names and attributes.
 * What lets a walk wait in a tree of many small directories is that there is
 * little to ask for at a time in each. A thread opens the directory from that
 * of its parent, and it must be the one that was found there. A directory that
 * is not small, or cannot be read, is left to the walk itself.
 *
 * Several threads may share the attributes of one directory: each takes the
 * next name, and the last one to leave closes the descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "xfer/serve/sftp-serve-walk.h"

enum {
	NAMES_MAX = 64,
	BYTES_MAX = 8 * 1024,
	FRESH_US = 1000 * 1000, /* attributes that are older than this are read
				 * again */
};

struct walk_early *
walk_early_new(int at, const char *name, const struct stat *found)
{
	struct walk_early *e = calloc(1, sizeof *e);

	if (e == NULL)
		return NULL;
	buf_init(&e->bytes);
	e->dev = found->st_dev;
	e->ino = found->st_ino;
	strlcpy(e->name, name, sizeof e->name);
	atomic_init(&e->users, 1);
	e->at = fcntl(at, F_DUPFD_CLOEXEC, 0);
	if (e->at >= 0)
		return e;
	free(e);
	return NULL;
}

void
walk_early_free(struct walk_early *e)
{
	if (e == NULL)
		return;
	fd_close(&e->at);
	buf_clear(&e->bytes);
	free(e->names);
	free(e->stats);
	free(e);
}

bool
walk_early_is_good(const struct walk_early *e)
{
	return e->whole && clock_us() < e->read_us + FRESH_US;
}

/* Reads the names. False: there are too many, or they cannot be read. */
static bool
read_names(struct walk_early *e, DIR *list)
{
	const struct dirent *de;
	size_t len;

	for (;;) {
		errno = 0;
		de = readdir(list);
		if (de == NULL)
			return errno == 0;
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		len = strlen(de->d_name) + 1;
		if (e->count == NAMES_MAX || len > WALK_NAME_MAX + 1 ||
		    buf_len(&e->bytes) + len > BYTES_MAX)
			return false;
		buf_put(&e->bytes, de->d_name, len);
		e->count++;
	}
}

static bool
sort_names(struct walk_early *e)
{
	const char *at = (const char *)buf_data(&e->bytes);

	e->names = calloc(e->count + 1, sizeof *e->names);
	e->stats = calloc(e->count + 1, sizeof *e->stats);
	if (e->names == NULL || e->stats == NULL || buf_err(&e->bytes) < 0)
		return false;
	for (size_t i = 0; i < e->count; i++) {
		e->names[i] = at;
		at += strlen(at) + 1;
	}
	qsort(e->names, e->count, sizeof *e->names, str_order);
	return true;
}

/* Opens the directory; NULL if its name belongs to another one by now. */
static DIR *
open_found(const struct walk_early *e)
{
	int fd = openat(e->at, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	DIR *list = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == e->dev &&
	    st.st_ino == e->ino)
		list = fdopendir(fd);
	if (list == NULL)
		fd_close(&fd);
	return list;
}

/* Reads the attributes of the next name that nobody has taken. False: there is
 * none. */
static bool
read_next(struct walk_early *e)
{
	struct walk_stat *s;
	size_t i;

	if (!atomic_load(&e->shared) ||
	    (i = atomic_fetch_add(&e->next, 1)) >= e->count)
		return false;
	s = &e->stats[i];
	s->error = fstatat(dirfd(e->list), e->names[i], &s->st,
		       AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
	return true;
}

size_t
walk_early_left(struct walk_early *e)
{
	size_t next = atomic_load(&e->next);

	return atomic_load(&e->shared) && next < e->count ? e->count - next : 0;
}

bool
walk_early_hold(struct walk_early *e)
{
	unsigned n = atomic_load(&e->users);

	do {
		if (n == 0)
			return false;
	} while (!atomic_compare_exchange_weak(&e->users, &n, n + 1));
	return true;
}

void
walk_early_help(struct walk_early *e)
{
	while (read_next(e))
		;
	if (atomic_fetch_sub(&e->users, 1) == 1 && e->list != NULL)
		closedir(e->list);
}

void
walk_early_read(struct walk_early *e)
{
	e->list = open_found(e);
	fd_close(&e->at);
	if (e->list != NULL)
		e->whole = read_names(e, e->list) && sort_names(e);
	e->read_us = clock_us();
	atomic_store(&e->shared, e->whole);
	walk_early_help(e);
}
