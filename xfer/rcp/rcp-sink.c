/* SPDX-License-Identifier: ISC */
/*
 * The sink. All that it makes is below its target: a name is one plain path
 * component, and names at the top must be among the requested ones.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "xfer/rcp/rcp-internal.h"

/* Of a file, with -p: the copy's owner is another than the source's, and gives
 * his rights to nobody by that. */
enum { KEPT_MODES = 01777 };

/* A file that is being received. */
struct incoming {
	const struct rcp_record *rec;
	const struct timespec *times; /* access, modification; NULL: now */
	const char *path;
	int fd;
	bool existed;
	int64_t start;	      /* bytes that are not sent again (-Z) */
	struct digest *hash; /* of what the file has so far (-Z) */
	int error;	      /* first errno on this side; 0: none */
};

static int receive_into(struct rcp *c, const char *target, unsigned depth,
    const struct strlist *wanted);

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* --- files --- */

static void
note(struct incoming *in, bool ok)
{
	if (!ok && in->error == 0)
		in->error = errno;
}

/* A file that may be read but not written may be complete already. */
static bool
open_file(struct rcp *c, struct incoming *in)
{
	int flags = O_CREAT | O_NOCTTY | O_CLOEXEC, mode = in->rec->mode & 0777;
	struct stat st;

	in->existed = stat(in->path, &st) == 0;
	if (!c->opts.resume || (in->existed && !S_ISREG(st.st_mode)))
		in->fd = open(in->path, flags | O_WRONLY, mode);
	else
		in->fd = open(in->path, flags | O_RDWR, mode);
	note(in, in->fd >= 0);
	if (in->fd < 0 && c->opts.resume && in->existed && errno == EACCES)
		in->fd = open(in->path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return in->error == 0;
}

static int
write_block(struct incoming *in, const uint8_t *p, size_t len)
{
	int r;

	if (in->error == 0 && fd_write_all(in->fd, p, len) < 0)
		in->error = errno;
	if (in->hash != NULL && (r = digest_update(in->hash, p, len)) < 0)
		return r;
	return 0;
}

/* All data is read, even if it cannot be stored, so that both ends stay in
 * step. */
static int
receive_data(struct rcp *c, struct incoming *in)
{
	int64_t left = in->rec->size - in->start;
	ssize_t n;
	int r;

	if (in->start > 0)
		note(in, lseek(in->fd, in->start, SEEK_SET) >= 0);
	for (; left > 0; left -= n) {
		n = rcp_get_some(c, c->block, rcp_piece(c, left));
		if (n <= 0)
			return n < 0 ? (int)n : ERR_CLOSED;
		if ((r = write_block(in, c->block, (size_t)n)) < 0)
			return r;
		rcp_moved(c, (size_t)n);
	}
	return 0;
}

/* Sets length, mode and times, and closes the file. */
static void
complete(struct rcp *c, struct incoming *in)
{
	struct stat st;

	if (in->error == 0 && fstat(in->fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size != in->rec->size)
		note(in, ftruncate(in->fd, (off_t)in->rec->size) == 0);
	if (in->error == 0 && c->opts.preserve) {
		note(in, fchmod(in->fd, in->rec->mode & KEPT_MODES) == 0);
		if (in->times != NULL)
			note(in, futimens(in->fd, in->times) == 0);
	}
	note(in, close(in->fd) == 0);
	in->fd = -1;
}

/* With -Z the bytes must be those that were announced. */
static int
check_hash(struct incoming *in, bool *same)
{
	char hex[RCP_HASH_HEX + 1];
	int r;

	*same = true;
	if (in->hash == NULL)
		return 0;
	if ((r = rcp_hash_end(in->hash, hex)) == 0)
		*same = strcmp(hex, in->rec->hash) == 0;
	return r;
}

static int
receive_open(struct rcp *c, struct incoming *in)
{
	bool same = true;
	int r = 0, answer;

	if (c->opts.resume)
		r = rcp_resume_sink(c, in->fd, in->rec, in->existed,
		    &in->start, &in->hash);
	else
		r = rcp_ok(c);
	if (r != 0)
		return r; /* 1: there is nothing to do */
	rcp_progress_start(c, in->rec->name, in->rec->size, in->start);
	if ((r = receive_data(c, in)) < 0)
		return r;
	/* The source reports here that it could not read all. */
	answer = rcp_answer(c);
	if (answer < 0)
		return answer;
	complete(c, in);
	rcp_progress_finish(c, answer == 0 && in->error == 0);
	if (answer == 0 && in->error == 0 && (r = check_hash(in, &same)) < 0)
		return r;
	if (in->error != 0)
		rcp_fail(c, in->path, strerror(in->error));
	else if (!same)
		rcp_fail(c, in->path, "changed while it was copied");
	else
		return rcp_ok(c);
	return 0;
}

static int
receive_file(struct rcp *c, const struct rcp_record *rec,
    const struct timespec *times, const char *path)
{
	struct incoming in = { .rec = rec, .times = times, .path = path,
		.fd = -1 };
	int r = 0;

	if (open_file(c, &in))
		r = receive_open(c, &in);
	else if (c->opts.resume)
		r = rcp_resume_refuse(c, in.fd, rec, path, in.error);
	else
		rcp_fail(c, path, strerror(in.error));
	fd_close(&in.fd);
	digest_free(in.hash);
	return r < 0 ? r : 0;
}

/* --- directories --- */

/* Until its content is there, the directory has to be open to us. Its final
 * mode, or -1 on error; *change: that is to be set at the end. */
static int
make_dir(struct rcp *c, const struct rcp_record *rec, const char *path,
    mode_t *mode, bool *change)
{
	bool made = mkdir(path, (rec->mode & 0777) | S_IRWXU) == 0;
	struct stat st;

	if (!made && errno != EEXIST)
		return -1;
	if (stat(path, &st) != 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	/* The group bit that the parent directory handed down stays. */
	*mode = c->opts.preserve ?
	    rec->mode :
	    (st.st_mode & 07777 & ~(mode_t)S_IRWXU) | (rec->mode & S_IRWXU);
	*change = c->opts.preserve ||
	    (made && (rec->mode & S_IRWXU) != S_IRWXU);
	return 0;
}

static int
receive_dir(struct rcp *c, const struct rcp_record *rec,
    const struct timespec *times, const char *path, unsigned depth)
{
	bool change, ok = true;
	mode_t mode;
	int r;

	if (make_dir(c, rec, path, &mode, &change) < 0) {
		rcp_fail(c, path, strerror(errno));
		return 0;
	}
	if ((r = rcp_ok(c)) < 0 ||
	    (r = receive_into(c, path, depth + 1, NULL)) < 0)
		return r;
	if (change)
		ok = chmod(path, mode) == 0;
	if (ok && c->opts.preserve && times != NULL)
		ok = utimensat(AT_FDCWD, path, times, 0) == 0;
	if (ok)
		return rcp_ok(c);
	rcp_fail(c, path, strerror(errno));
	return 0;
}

/* --- records --- */

static int
receive_entry(struct rcp *c, const struct rcp_record *rec,
    const struct timespec *times, const char *target, bool inside,
    unsigned depth)
{
	size_t len = strlen(target);
	const char *slash = len > 0 && target[len - 1] == '/' ? "" : "/";
	/* The line is read over by the records inside of a directory. */
	struct rcp_record own = *rec;
	char *name = strdup(rec->name), *path = NULL;
	int r = ERR_NOMEM;

	own.name = name;
	if (name != NULL &&
	    asprintf(&path, "%s%s%s", target, inside ? slash : "",
		inside ? name : "") >= 0)
		r = rec->type == 'D' ?
		    receive_dir(c, &own, times, path, depth) :
		    receive_file(c, &own, times, path);
	free(path);
	free(name);
	return r;
}

/* Handles records until E, or at the top until the end of input. */
static int
receive_into(struct rcp *c, const char *target, unsigned depth,
    const struct strlist *wanted)
{
	struct timespec times[2];
	struct rcp_record rec;
	bool timed = false, first = depth == 0, inside = is_dir(target);
	int r;

	for (;; first = false) {
		if ((r = rcp_next_record(c, &rec, first)) < 0)
			return r;
		if (r == 0) /* the source closed the session */
			return depth == 0 ? rcp_flush(c) : ERR_CLOSED;
		log_debug("received %s", c->line);
		if ((r = rcp_check_record(c, &rec, wanted, depth)) < 0)
			return r;
		if (rec.type == 'E')
			return 0;
		if (rec.type == 'T') {
			times[0] = rec.atime;
			times[1] = rec.mtime;
			timed = true;
			if ((r = rcp_ok(c)) < 0)
				return r;
			continue;
		}
		r = receive_entry(c, &rec, timed ? times : NULL, target,
		    inside, depth);
		if (r < 0)
			return r;
		timed = false;
	}
}

int
rcp_receive(struct rcp *c, const char *target, const struct strlist *wanted)
{
	struct stat st;
	int r;

	if (c->opts.need_dir && !is_dir(target))
		return rcp_end_session(c, target,
		    strerror(stat(target, &st) == 0 ? ENOTDIR : errno));
	if ((r = rcp_ok(c)) < 0)
		return r;
	return receive_into(c, target, 0, wanted);
}
