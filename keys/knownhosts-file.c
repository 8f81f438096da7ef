/* SPDX-License-Identifier: ISC */
/*
 * Changing a known_hosts file while other programs change it, too. They append
 * lines at the first contact with a host, or replace the file when the keys of
 * a host change or names are removed or hashed. A line that one program appends
 * must not be lost when another replaces the file (the line may be a @revoked).
 * So our programs lock the file while they change it. Other programs take no
 * lock, but only append; what they append before the file is replaced is found
 * and kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "keys/knownhosts-internal.h"

enum {
	/* Whoever may read the file can keep the lock, so the lock is given up
	 * after this time and the change is made without it. */
	LOCK_WAIT_MS = 3000,
	LOCK_TRY_MS = 10,
	COMPARE_MAX = 64 * 1024, /* bytes of a file at a time */
};

/* Is the open file still the one that the path leads to? */
static bool
is_at(int fd, const char *path)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && stat(path, &there) == 0 &&
	    here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Returns false only if another process has the lock (or a signal came). Where
 * a file system has no locks, the result is true. */
static bool
try_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 ||
	    (errno != EWOULDBLOCK && errno != EINTR);
}

/* Opens the file and waits at most LOCK_WAIT_MS for its lock. The process that
 * had the lock may have replaced the file: then the new file is opened.
 * Anything that is no regular file is opened without a lock. */
static int
open_locked(const char *path, int flags)
{
	uint64_t end = clock_ms() + LOCK_WAIT_MS;
	int fd;

	for (;;) {
		struct stat st;

		fd = open_named(path, flags, 0600);
		if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
			return fd;
		if ((try_lock(fd) && is_at(fd, path)) || clock_ms() >= end)
			return fd;
		fd_close(&fd);
		(void)poll(NULL, 0, LOCK_TRY_MS);
	}
}

/* ---- appending ---------------------------------------------------------- */

static int
make_directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir;
	int r = 0;

	if (slash == NULL || slash == path)
		return 0;
	dir = strndup(path, (size_t)(slash - path));
	if (dir == NULL)
		return ERR_NOMEM;
	if (mkdir(dir, 0700) == -1 && errno != EEXIST)
		r = ERR_SYSTEM;
	free(dir);
	return r;
}

/* Appends the text as lines of its own. If that fails, a regular file is cut
 * back to its old length. */
static int
append(const char *path, struct span text)
{
	int fd = open_locked(path, O_RDWR | O_CREAT | O_APPEND);
	struct stat st;
	char last = '\n';
	int r = 0, saved;

	if (fd == -1)
		return ERR_SYSTEM;
	if (fstat(fd, &st) == -1 ||
	    (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1))
		r = ERR_SYSTEM;
	if (r == 0 && last != '\n')
		r = fd_write_all(fd, "\n", 1);
	if (r == 0)
		r = fd_write_all(fd, text.p, text.len);
	if (r != 0 && S_ISREG(st.st_mode)) {
		saved = errno;
		(void)!ftruncate(fd, st.st_size);
		errno = saved;
	}
	fd_close(&fd);
	return r;
}

int
knownhosts_append(const char *path, struct span text)
{
	int r = make_directory_of(path);

	return r == 0 ? append(path, text) : r;
}

/* ---- replacing ---------------------------------------------------------- */

/* Reads the file from the byte offset to its end into out. */
static int
read_from(int fd, size_t offset, struct buf *out)
{
	struct stat st;

	if (lseek(fd, (off_t)offset, SEEK_SET) == -1 || fstat(fd, &st) == -1)
		return ERR_SYSTEM;
	if (st.st_size > (off_t)offset &&
	    st.st_size - (off_t)offset <= KNOWNHOSTS_FILE_MAX &&
	    buf_reserve(out, (size_t)st.st_size - offset + COMPARE_MAX) == NULL)
		return buf_err(out);
	return fd_read_file(fd, out, KNOWNHOSTS_FILE_MAX);
}

int
knownhosts_hold(struct knownhosts_held *h, const char *path)
{
	*h = (struct knownhosts_held){ .fd = open_locked(path, O_RDONLY) };
	return h->fd != -1 ? read_from(h->fd, 0, &h->content) : ERR_SYSTEM;
}

void
knownhosts_release(struct knownhosts_held *h)
{
	fd_close(&h->fd); /* and the lock with it */
	buf_clear(&h->content);
}

/* Returns ERR_AGAIN if the file does not begin with the bytes that were read
 * when it was locked. */
static int
compare_beginning(const struct knownhosts_held *h)
{
	const uint8_t *p = buf_data(&h->content);
	size_t len = buf_len(&h->content), n;
	uint8_t piece[COMPARE_MAX];

	for (size_t at = 0; at < len; at += n) {
		n = MIN(len - at, sizeof piece);
		if (fd_pread_all(h->fd, piece, n, at) != (ssize_t)n ||
		    memcmp(piece, p + at, n) != 0)
			return ERR_AGAIN;
	}
	return 0;
}

/* Reads what other programs have appended to the locked file since it was read.
 * Returns ERR_AGAIN if the file was changed in another way, or if its last line
 * is still being written. */
static int
find_appended(const struct knownhosts_held *h, struct buf *appended)
{
	size_t len = buf_len(&h->content), more;
	const uint8_t *p = buf_data(&h->content), *new;
	int r = compare_beginning(h);

	if (r == 0)
		r = read_from(h->fd, len, appended);
	if (r != 0 || (more = buf_len(appended)) == 0)
		return r;
	new = buf_data(appended);
	return new[more - 1] == '\n' &&
		(len == 0 || p[len - 1] == '\n' || new[0] == '\n') ? 0 :
								 ERR_AGAIN;
}

/* Appends to the new file what was written to the old one after
 * find_appended(): a program that opened the old file earlier can still append
 * to it. */
static int
append_the_rest(const struct knownhosts_held *h, const char *path,
    size_t seen)
{
	struct buf rest = { 0 };
	int r = read_from(h->fd, seen, &rest);

	if (r == 0 && buf_len(&rest) > 0)
		r = append(path, buf_span(&rest));
	buf_clear(&rest);
	return r;
}

int
knownhosts_replace(const struct knownhosts_held *h, const char *path,
    struct buf *content)
{
	struct buf appended = { 0 };
	struct stat st;
	int r = is_at(h->fd, path) ? find_appended(h, &appended) : ERR_AGAIN;

	if (r == 0) {
		buf_put(content, buf_data(&appended), buf_len(&appended));
		r = buf_err(content);
	}
	if (r == 0 && fstat(h->fd, &st) == -1)
		r = ERR_SYSTEM;
	if (r == 0)
		r = file_replace(path, buf_data(content), buf_len(content),
		    st.st_mode & 0666);
	if (r == 0)
		r = append_the_rest(h, path,
		    buf_len(&h->content) + buf_len(&appended));
	buf_clear(&appended);
	return r;
}
