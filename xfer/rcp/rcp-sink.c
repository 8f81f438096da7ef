/* SPDX-License-Identifier: ISC */
/*
 * The sink. It makes files and directories only below its target: a name is one
 * plain path component, and names at the top must be among the requested ones.
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

/* Permissions of a file that -p keeps. The set-id bits are not kept: the copy
 * may have another owner, who would give away his own rights. */
enum { KEPT_MODES = 01777 };

/* A file that is being received. */
struct incoming {
	const struct rcp_record *rec;
	const struct timespec *times; /* access, modification; NULL: now */
	struct local_dir *at;
	const char *name;     /* name in at */
	const char *path;     /* path of the file, for messages */
	int fd;
	bool existed;
	int64_t start;	      /* bytes that are not sent again (-Z) */
	struct digest *hash; /* of the file's bytes so far (-Z) */
	int error;	      /* the first errno on this side; 0: none */
};

/* Where the records of one level (a directory, or the top) go. */
struct rcp_dest {
	struct local_dir *at;
	const char *name; /* name in at; NULL: that of each record */
	const char *path; /* path of the file, for messages */
};

static int receive_into(struct rcp *c, const struct rcp_dest *dest,
    unsigned depth, const struct strlist *wanted);

/* ---- files -------------------------------------------------------------- */

static void
note(struct incoming *in, bool ok)
{
	if (!ok && in->error == 0)
		in->error = errno;
}

/* Opens the target for writing. A link is followed, as rcp does, if it belongs
 * to root or this user. */
static int
open_target(const struct incoming *in, int flags, int mode)
{
	return local_open_target(in->at, in->name, flags, (mode_t)mode,
	    LOCAL_LINKS_OWN);
}

/* Opens the target. True: it can be written. With -Z a file that can only be
 * read is opened for reading, since it may be complete already; the result is
 * false. */
static bool
open_file(struct rcp *c, struct incoming *in)
{
	int flags = O_CREAT | O_NOCTTY, mode = in->rec->mode & 0777;
	struct stat st;

	in->existed = local_stat(in->at, in->name, LOCAL_LINKS_OWN, &st) == 0;
	if (!c->opts.resume || (in->existed && !S_ISREG(st.st_mode)))
		in->fd = open_target(in, flags | O_WRONLY, mode);
	else
		in->fd = open_target(in, flags | O_RDWR, mode);
	note(in, in->fd >= 0);
	if (in->fd < 0 && c->opts.resume && in->existed && errno == EACCES)
		in->fd = open_target(in, O_RDONLY | O_NOCTTY, 0);
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

/* Receives the data of a file. All data is read, even if it cannot be stored,
 * so that both ends stay in step. */
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

	if (in->error == 0)
		note(in, fstat(in->fd, &st) == 0);
	if (in->error == 0 && S_ISREG(st.st_mode) &&
	    st.st_size != in->rec->size)
		note(in, ftruncate(in->fd, (off_t)in->rec->size) == 0);
	if (in->error == 0 && c->opts.preserve) {
		note(in, fchmod(in->fd, in->rec->mode & KEPT_MODES) == 0);
		if (in->times != NULL)
			note(in, futimens(in->fd, in->times) == 0);
	}
	note(in, close(in->fd) == 0);
	in->fd = -1;
}

/* With -Z: have the received bytes the hash that was announced? */
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
		return r; /* 1: the file is complete already */
	rcp_progress_start(c, in->rec->name, in->rec->size, in->start);
	if ((r = receive_data(c, in)) < 0)
		return r;
	/* With this answer the source tells if it could not read the file. */
	answer = rcp_answer(c);
	if (answer < 0)
		return answer;
	if (answer > 0 && rcp_peer_said(c, ": Broken pipe"))
		rcp_tell(c, in->path, "changed while it was being read");
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
    const struct timespec *times, const struct rcp_dest *to)
{
	struct incoming in = { .rec = rec, .times = times, .at = to->at,
		.name = to->name, .path = to->path, .fd = -1 };
	int r = 0;

	if (open_file(c, &in))
		r = receive_open(c, &in);
	else if (c->opts.resume)
		r = rcp_resume_refuse(c, in.fd, rec, to->path, in.error);
	else
		rcp_fail(c, to->path, local_error_text(in.error));
	fd_close(&in.fd);
	digest_free(in.hash);
	return r < 0 ? r : 0;
}

/* ---- directories -------------------------------------------------------- */

/* Makes a directory, with all rights for its owner until its content is there.
 * *mode is its final mode; *change: that must be set at the end. 0, or -1 with
 * errno. */
static int
make_dir(struct rcp *c, const struct rcp_record *rec, const struct rcp_dest *to,
    struct local_dir **dir, mode_t *mode, bool *change)
{
	struct stat st;
	bool made;

	if (local_make(to->at, to->name, (rec->mode & 0777) | S_IRWXU,
		LOCAL_LINKS_OWN, dir, &made) != 0) {
		errno = errno == EEXIST ? ENOTDIR : errno;
		return -1;
	}
	if (local_dir_stat(*dir, &st) != 0)
		return -1;
	/* A set-group-id bit that comes from the parent directory stays. */
	*mode = c->opts.preserve ?
	    rec->mode :
	    (st.st_mode & 07777 & ~(mode_t)S_IRWXU) | (rec->mode & S_IRWXU);
	*change = c->opts.preserve ||
	    (made && (rec->mode & S_IRWXU) != S_IRWXU);
	return 0;
}

static int
receive_dir(struct rcp *c, const struct rcp_record *rec,
    const struct timespec *times, const struct rcp_dest *to, unsigned depth)
{
	struct rcp_dest dest = { .path = to->path };
	const char *why = rcp_too_deep(c, to->path);
	bool change, ok = true;
	mode_t mode;
	int r;

	if (why != NULL) {
		rcp_fail(c, to->path, why);
		return 0;
	}
	if (make_dir(c, rec, to, &dest.at, &mode, &change) < 0) {
		rcp_fail(c, to->path, local_error_text(errno));
		local_dir_unref(dest.at);
		return 0;
	}
	r = rcp_ok(c);
	c->depth++;
	if (r == 0)
		r = receive_into(c, &dest, depth + 1, NULL);
	c->depth--;
	if (r == 0 && change)
		ok = local_dir_set_mode(dest.at, mode) == 0;
	if (r == 0 && ok && c->opts.preserve && times != NULL)
		ok = local_dir_set_times(dest.at, times) == 0;
	if (r == 0 && !ok)
		rcp_fail(c, to->path, local_error_text(errno));
	else if (r == 0)
		r = rcp_ok(c);
	local_dir_unref(dest.at);
	return r;
}

/* ---- records ------------------------------------------------------------ */

static int
receive_entry(struct rcp *c, const struct rcp_record *rec,
    const struct timespec *times, const struct rcp_dest *dest,
    unsigned depth)
{
	/* The records inside of a directory overwrite the line. */
	struct rcp_record own = *rec;
	char *name = strdup(rec->name), *path = NULL;
	struct rcp_dest to = *dest;
	int r = ERR_NOMEM;

	own.name = name;
	if (dest->name == NULL && name != NULL) {
		to.name = name;
		to.path = path = str_join_path(dest->path, name);
	}
	if (name != NULL && to.path != NULL)
		r = rec->type == 'D' ?
		    receive_dir(c, &own, times, &to, depth) :
		    receive_file(c, &own, times, &to);
	free(path);
	free(name);
	return r;
}

/* Handles records until E, or at the top until the end of input. */
static int
receive_into(struct rcp *c, const struct rcp_dest *dest, unsigned depth,
    const struct strlist *wanted)
{
	struct timespec times[2];
	struct rcp_record rec;
	bool timed = false, first = depth == 0;
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
		r = receive_entry(c, &rec, timed ? times : NULL, dest,
		    depth);
		if (r < 0)
			return r;
		timed = false;
	}
}

/* Finds the target that the user has named: an existing directory, or a name in
 * one that becomes a file or a directory. */
static int
find_target(struct rcp *c, const char *target, struct rcp_dest *dest)
{
	struct stat st;

	dest->path = target;
	dest->at = local_root(c->local, target, LOCAL_LINKS_OWN);
	if (dest->at == NULL)
		return ERR_NOMEM;
	if (local_dir_stat(dest->at, &st) == 0)
		return 0;
	/* If the target exists but cannot be opened, it may be a directory:
	 * nothing may be made in its place. */
	if (c->opts.need_dir || (errno != ENOENT && errno != ENOTDIR))
		return rcp_end_session(c, target, local_error_text(errno));
	local_dir_unref(dest->at);
	dest->at = local_place(c->local, target, LOCAL_LINKS_OWN,
	    &dest->name);
	return dest->at != NULL ? 0 : ERR_NOMEM;
}

int
rcp_receive(struct rcp *c, const char *target, const struct strlist *wanted)
{
	struct rcp_dest dest = { .at = NULL };
	int r;

	fd_raise_limit(); /* directories above a file stay open */
	if ((r = find_target(c, target, &dest)) == 0 && (r = rcp_ok(c)) == 0)
		r = receive_into(c, &dest, 0, wanted);
	local_dir_unref(dest.at);
	fd_restore_limit();
	return r;
}
