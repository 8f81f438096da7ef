/* SPDX-License-Identifier: ISC */
/*
 * Changing a known_hosts file. Several programs do it at the same time: lines
 * are appended at each first contact, and the file is replaced by a new one
 * when a host has other keys, or names are removed or hashed. What one has
 * appended must not be lost by another's replacing (it may be a @revoked). Our
 * own programs lock the file for that; others only append, and what they have
 * appended meanwhile is found and kept.
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
	/* Who may read the file can lock it, too: nobody waits for long. */
	LOCK_WAIT_MS = 3000,
	LOCK_TRY_MS = 10,
};

/* Is it still what the path leads to? */
static bool
is_at(int fd, const char *path)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && stat(path, &there) == 0 &&
	    here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* False: another one has it. A file system without locks has no others. */
static bool
try_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 ||
	    (errno != EWOULDBLOCK && errno != EINTR);
}

/* Opens what is at the path, and locks it. The one who had the lock may have
 * replaced the file, so that it is not the one that is at the path any more. */
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

/* On a line of its own, or the file is left as it was. */
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

static int
read_all(int fd, struct buf *out)
{
	if (lseek(fd, 0, SEEK_SET) == -1)
		return ERR_SYSTEM;
	return fd_read_file(fd, out, KNOWNHOSTS_FILE_MAX);
}

int
knownhosts_hold(struct knownhosts_held *h, const char *path)
{
	*h = (struct knownhosts_held){ .fd = open_locked(path, O_RDONLY) };
	return h->fd != -1 ? read_all(h->fd, &h->content) : ERR_SYSTEM;
}

void
knownhosts_release(struct knownhosts_held *h)
{
	fd_close(&h->fd); /* and the lock with it */
	buf_clear(&h->content);
}

/* What was appended to the held file since it was read; ERR_AGAIN: it was
 * changed in another way, or the last line is still being written. */
static int
find_appended(const struct knownhosts_held *h, const struct buf *now,
    struct span *appended)
{
	size_t len = buf_len(&h->content);
	const uint8_t *p = buf_data(now);

	if (buf_len(now) < len ||
	    (len > 0 && memcmp(p, buf_data(&h->content), len) != 0))
		return ERR_AGAIN;
	*appended = (struct span){ p + len, buf_len(now) - len };
	if (appended->len == 0)
		return 0;
	return p[buf_len(now) - 1] == '\n' &&
		(len == 0 || p[len - 1] == '\n' || p[len] == '\n') ? 0 :
								 ERR_AGAIN;
}

/* One that was open when the file was replaced may have been written to behind
 * the look at it. */
static int
append_the_rest(const struct knownhosts_held *h, const char *path,
    size_t seen)
{
	struct buf now = { 0 };
	int r = read_all(h->fd, &now);

	if (r == 0 && buf_len(&now) > seen)
		r = append(path, (struct span){ buf_data(&now) + seen,
				     buf_len(&now) - seen });
	buf_clear(&now);
	return r;
}

int
knownhosts_replace(const struct knownhosts_held *h, const char *path,
    const struct buf *content)
{
	struct buf now = { 0 }, all = { 0 };
	struct span appended;
	struct stat st;
	size_t seen = 0;
	int r = is_at(h->fd, path) ? read_all(h->fd, &now) : ERR_AGAIN;

	if (r == 0 && (r = find_appended(h, &now, &appended)) == 0) {
		buf_put(&all, buf_data(content), buf_len(content));
		buf_put(&all, appended.p, appended.len);
		seen = buf_len(&now);
		r = buf_err(&all);
	}
	if (r == 0 && fstat(h->fd, &st) == -1)
		r = ERR_SYSTEM;
	if (r == 0)
		r = file_replace(path, buf_data(&all), buf_len(&all),
		    st.st_mode & 0666);
	if (r == 0)
		r = append_the_rest(h, path, seen);
	buf_clear(&all);
	buf_clear(&now);
	return r;
}
