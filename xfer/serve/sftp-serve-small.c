/* SPDX-License-Identifier: ISC */
/*
 * put-file@hpnssh.org, put-file-ns@hpnssh.org and get-file@hpnssh.org: move a
 * small file in one request; docs/SFTP.md has the wire format. Unusual cases
 * are refused: the client then uses the ordinary requests, and gets their
 * errors.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "compat/file.h"
#include "xfer/part-lock.h"
#include "xfer/part-name.h"
#include "xfer/target-plan.h"
#include "xfer/serve/sftp-serve-internal.h"

enum { LEFT_S = 3600 };

/* ---- put-file ----------------------------------------------------------- */

static int
refuse(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

/* True if the part has another owner or group than the target, which the
 * request does not set. An id of UINT32_MAX is not set. */
static bool
other_owner(const struct serve_op *op, const struct stat *made)
{
	const struct sftp_attrs *a = &op->attrs;
	bool sets = (a->flags & SFTP_A_OWNER) != 0;

	return (made->st_uid != op->st.st_uid &&
		   !(sets && a->uid != UINT32_MAX)) ||
	    (made->st_gid != op->st.st_gid && !(sets && a->gid != UINT32_MAX));
}

/* What target_plan() has to know of the target. there: op->st has the
 * attributes of an existing target. made: attributes of the part; NULL if it is
 * not made yet. */
static unsigned
facts_of(const struct serve_op *op, const struct serve_place *p, bool there,
    const struct stat *made)
{
	unsigned facts = there ? TARGET_THERE : 0;

	if (there && S_ISREG(op->st.st_mode))
		facts |= TARGET_REGULAR;
	if (there && op->st.st_nlink != 1)
		facts |= TARGET_NAMES;
	if (there &&
	    target_is_read_only(p->at, p->name, op->st.st_mode))
		facts |= TARGET_READ_ONLY;
	if (there && made != NULL && other_owner(op, made))
		facts |= TARGET_OTHER_OWNER;
	return facts;
}

/* Looks whether the target may be replaced by renaming a part to it. 0, or -1
 * with the errno that put-file is refused with. */
static int
check_plan(const struct serve_op *op, const struct serve_place *p, bool there,
    const struct stat *made)
{
	switch (target_plan(facts_of(op, p, there, made))) {
	case TARGET_RENAME:
		return 0;
	case TARGET_REFUSE:
		errno = EACCES;
		return -1;
	default:
		return refuse();
	}
}

static bool
has_owner(const struct sftp_attrs *a, uid_t uid, gid_t gid)
{
	return (a->uid == UINT32_MAX || a->uid == uid) &&
	    (a->gid == UINT32_MAX || a->gid == gid);
}

/* Owner and mode that the part has to get: most parts of a tree that its user
 * copies have both when they are made. If the request does not set a mode, the
 * part gets that of an existing target. */
static struct sftp_attrs
missing(const struct serve_op *op, bool there, const struct stat *made)
{
	struct sftp_attrs attrs = op->attrs;

	attrs.flags &= SFTP_A_OWNER | SFTP_A_MODE;
	if (!(attrs.flags & SFTP_A_MODE) && there) {
		attrs.flags |= SFTP_A_MODE;
		attrs.mode = op->st.st_mode;
	}
	if (op->xattrs.kinds != 0)
		return attrs; /* an ACL changes the mode */
	if ((attrs.flags & SFTP_A_OWNER) &&
	    has_owner(&attrs, made->st_uid, made->st_gid))
		attrs.flags &= ~(uint32_t)SFTP_A_OWNER;
	if (attrs.flags == SFTP_A_MODE &&
	    ((attrs.mode ^ made->st_mode) & SERVE_MODE_BITS) == 0)
		attrs.flags = 0;
	return attrs;
}

/* Writes data and attributes to the part. *made: its attributes before. */
static int
fill(struct serve_op *op, const struct serve_place *p, int fd, bool there,
    struct stat *made)
{
	struct sftp_attrs attrs, owner = op->attrs;

	if (fstat(fd, made) != 0 ||
	    (there && check_plan(op, p, there, made) != 0))
		return -1;
	if (fd_write_all(fd, buf_data(&op->data), buf_len(&op->data)) != 0)
		return -1;
	attrs = missing(op, there, made);
	if (op->xattrs.kinds != 0) {
		/* The owner is set first: a change of owner removes some
		 * attributes. The mode is set after them, because an ACL
		 * changes it. */
		owner.flags &= SFTP_A_OWNER;
		attrs.flags &= ~(uint32_t)SFTP_A_OWNER;
		if (serve_apply_attrs(fd, &owner) != 0 ||
		    serve_apply_xattrs(op, fd) != 0)
			return -1;
	}
	if (serve_apply_attrs(fd, &attrs) != 0)
		return -1;
	return op->attrs.flags & SFTP_A_TIMES ? futimens(fd, op->times) : 0;
}

/* Does the file have the first `size` bytes of the data? */
static bool
has_data_of(const struct serve_op *op, int fd, size_t size)
{
	uint8_t *p = malloc(size + 1);
	bool same = p != NULL && size <= buf_len(&op->data) &&
	    fd_pread_all(fd, p, size, 0) == (ssize_t)size &&
	    memcmp(p, buf_data(&op->data), size) == 0;

	free(p);
	return same;
}

/* Removes a part that a killed server has left of this same file. It must
 * belong to this user and have no other name; it must be unchanged for
 * op->count seconds, so that nobody is about to rename it; and it must hold the
 * beginning of the same data. True: it was removed. */
static bool
clear_left(const struct serve_op *op, const struct serve_place *p)
{
	const char *part = serve_beside(p, op->path2);
	int fd = openat(p->at, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		O_NOCTTY | O_CLOEXEC);
	struct stat st;
	bool left = fd >= 0 && fstat(fd, &st) == 0 && xfer_part_is_own(fd) &&
	    (op->count == 0 ||
		st.FILE_CTIME.tv_sec + (time_t)op->count <= time(NULL)) &&
	    st.st_size <= SFTP_MESSAGE_MAX &&
	    has_data_of(op, fd, (size_t)st.st_size);

	if (left)
		serve_part_remove(fd, p->at, part);
	fd_close(&fd);
	return left;
}

static int
make_new(const struct serve_op *op, const struct serve_place *p, mode_t mode)
{
	return openat(p->at, serve_beside(p, op->path2),
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

/* Makes the part, under the first of its names that is free. It needs no lock:
 * it exists for this request only, and no copy resumes a part with such a name.
 * serve_part_end() checks that the name is still that of the same file. */
static int
make_part(struct serve_op *op, const struct serve_place *p, mode_t mode)
{
	bool taken;
	char *name;
	int fd;

	for (unsigned number = 1;; number++) {
		fd = make_new(op, p, mode);
		taken = fd < 0 && errno == EEXIST;
		if (taken && clear_left(op, p)) {
			fd = make_new(op, p, mode);
			taken = fd < 0 && errno == EEXIST;
		}
		if (!taken || number > XFER_PARTS_MAX)
			return fd;
		name = xfer_put_name(op->path, number + 1);
		if (name == NULL)
			return -1;
		free(op->path2);
		op->path2 = name;
		op->len = number; /* so many names belong to other files */
	}
}

/* Gives the part its target's name, and closes it: before, if that may tell
 * that its data is lost. */
static int
end(int *fd, const struct serve_place *p, const char *part,
    const struct stat *made)
{
	int r;

	if (p->near == NULL || !p->near->silent_close)
		return serve_part_end(fd, made, p->at, part, p->at, p->name,
		    false);
	r = xfer_part_give_name(made, p->at, part, p->at, p->name);
	if (r != 0)
		serve_part_remove(*fd, p->at, part);
	fd_close(fd);
	return r;
}

/* Will the part have the owner and group of the request at once? */
static bool
begins_with_owner(const struct serve_op *op, const struct serve_place *p)
{
	return p->near != NULL && p->near->own_group &&
	    has_owner(&op->attrs, p->near->uid, p->near->gid);
}

static int
put_at(struct serve_op *op, const struct serve_place *p)
{
	bool there = fstatat(p->at, p->name, &op->st, AT_SYMLINK_NOFOLLOW) == 0;
	const char *part;
	struct stat made;
	mode_t mode = op->mode & 0777;
	int fd, r;

	if (!there && errno != ENOENT)
		return -1;
	if (check_plan(op, p, there, NULL) != 0)
		return -1;
	/* Users who may not read the target must not be able to read its
	 * replacement; nor may the group that the file has before its owner is
	 * set. */
	if ((there && !(op->attrs.flags & SFTP_A_MODE)) ||
	    ((op->attrs.flags & SFTP_A_OWNER) != 0 &&
		!begins_with_owner(op, p)))
		mode &= S_IRWXU;
	fd = make_part(op, p, mode);
	if (fd < 0)
		return -1;
	part = serve_beside(p, op->path2);
	r = fill(op, p, fd, there, &made);
	if (r == 0)
		return end(&fd, p, part, &made);
	serve_part_remove(fd, p->at, part);
	fd_close(&fd);
	return r;
}

static int
run_put(struct serve_op *op)
{
	struct serve_place p;
	int r = serve_at_near(op, op->path, &p);

	if (r == 0)
		r = put_at(op, &p);
	if (r != 0 && errno == ENOENT && p.near != NULL) {
		/* Somebody has removed the directory that was held; there may
		 * be another one of its name. */
		serve_near_drop(op->near);
		r = serve_at_near(op, op->path, &p);
		if (r == 0)
			r = put_at(op, &p);
	}
	serve_leave(&p);
	return r;
}

/* Logs put-file as the requests that it replaces. */
static void
log_put(struct sftp_serve *s, const struct serve_op *op)
{
	serve_verbose(s, "lstat name \"%s\"", op->path);
	serve_info(s, "open \"%s\" flags WRITE,CREATE,EXCL mode 0%o", op->path2,
	    (unsigned)op->mode);
	if (op->attrs.flags != 0)
		serve_log_attrs(s, op->path2, &op->attrs);
}

/* The part's first name if another file has it, which was left alone; else
 * NULL. The client is told of it. The caller frees it. */
static char *
left_alone(const struct serve_op *op)
{
	return op->len > 0 ? xfer_put_name(op->path, 1) : NULL;
}

static void
done_put(struct sftp_serve *s, struct serve_op *op)
{
	char *first;

	if (op->error == 0) {
		serve_info(s, "close \"%s\" bytes read 0 written %zu",
		    op->path2, buf_len(&op->data));
		serve_info(s, "posix-rename old \"%s\" new \"%s\"", op->path2,
		    op->path);
	}
	serve_tell_small(s, op, buf_len(&op->data), true);
	first = op->error == 0 ? left_alone(op) : NULL;
	if (first != NULL) {
		serve_fail(s, op->id, SFTP_OK, path_last(first));
		free(first);
		return;
	}
	serve_done_status(s, op);
}

/* Begins what both forms of the request have in common. sets: flags SFTP_A_* of
 * the op->attrs that are set; the file is made with the mode in op->attrs, or
 * 0666, in any case. */
static int
begin_put(struct sftp_serve *s, struct serve_op *op, uint32_t sets,
    struct span data)
{
	op->mode = op->attrs.flags & SFTP_A_MODE ?
	    op->attrs.mode & SERVE_MODE_BITS :
	    0666;
	op->attrs.flags &= sets;
	if (!serve_may(s, serve_attrs_need(&op->attrs)))
		return ERR_DENIED;
	op->path2 = xfer_put_name(op->path, 1);
	op->count = s->opts.left_early ? 0 : LEFT_S;
	buf_put(&op->data, data.p, data.len);
	if (op->path2 == NULL || buf_err(&op->data) != 0)
		return ERR_NOMEM;
	log_put(s, op);
	if (!serve_spend(s, op, &s->left.files, 1) ||
	    !serve_spend(s, op, &s->left.bytes, buf_len(&op->data)))
		return 0;
	op->order.changes = op->order.opens = op->stays_near = true;
	op->run = run_put;
	op->done = done_put;
	return 0;
}

int
serve_put_file(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct span data;
	bool exact;
	int err;

	op->path = serve_get_path(s, r);
	exact = rd_u32(r) != 0;
	sftp_get_attrs(r, &op->attrs);
	data = rd_string(r);
	if ((err = rd_err(r)) < 0)
		return err;
	op->times[0].tv_sec = op->attrs.atime;
	op->times[1].tv_sec = op->attrs.mtime;
	return begin_put(s, op, exact ? SFTP_A_MODE | SFTP_A_TIMES : 0, data);
}

static int
put_ns(struct sftp_serve *s, struct serve_op *op, struct rd *r, bool xattrs)
{
	const uint32_t known = SFTP_A_OWNER | SFTP_A_MODE | SFTP_A_TIMES;
	struct span data;
	uint32_t sets;
	int err;

	op->path = serve_get_path(s, r);
	sets = rd_u32(r);
	sftp_get_attrs(r, &op->attrs);
	serve_get_time(r, &op->times[0]);
	serve_get_time(r, &op->times[1]);
	if (xattrs && !serve_get_xattrs(s, op, r))
		return r->err;
	data = rd_string(r);
	if ((err = rd_err(r)) < 0)
		return err;
	/* The request has fields of its own for times. An owner without a mode
	 * is refused: after the owner has changed, permissions by this
	 * process's umask could not be set any more. */
	op->attrs.flags |= SFTP_A_TIMES;
	if ((sets & ~(known & op->attrs.flags)) != 0 ||
	    ((sets & SFTP_A_OWNER) != 0 && !(sets & SFTP_A_MODE))) {
		serve_status(s, op->id, SFTP_OP_UNSUPPORTED);
		return 0;
	}
	return begin_put(s, op, sets, data);
}

int
serve_put_file_ns(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return put_ns(s, op, r, false);
}

int
serve_put_file_xattrs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return put_ns(s, op, r, true);
}

/* ---- get-file ----------------------------------------------------------- */

static int
read_all(struct serve_op *op, size_t size)
{
	uint8_t *p = buf_reserve(&op->data, size);
	ssize_t n;

	errno = ENOMEM;
	if (p == NULL)
		return -1;
	n = fd_pread_all(op->own.fd, p, size, 0);
	if (n < 0)
		return -1;
	if ((size_t)n < size)
		return refuse(); /* the file has become shorter */
	buf_commit(&op->data, size);
	return 0;
}

static int
run_get(struct serve_op *op)
{
	struct sftp_attrs attrs;
	uint8_t byte;

	op->own.fd = serve_open_at(op, op->path,
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (op->own.fd < 0 || fstat(op->own.fd, &op->st) != 0)
		return -1;
	if (!S_ISREG(op->st.st_mode) || (uint64_t)op->st.st_size > op->len)
		return refuse();
	/* Files of /proc have the size 0, and content all the same. */
	if (op->st.st_size == 0 && pread(op->own.fd, &byte, 1, 0) != 0)
		return refuse();
	sftp_attrs_from_stat(&attrs, &op->st);
	sftp_put_attrs(&op->data, &attrs);
	buf_put_u32(&op->data, (uint32_t)op->st.st_size);
	return read_all(op, (size_t)op->st.st_size);
}

static void
done_get(struct sftp_serve *s, struct serve_op *op)
{
	if (op->error == 0) {
		serve_info(s, "close \"%s\" bytes read %jd written 0",
		    op->path, (intmax_t)op->st.st_size);
		serve_tell_small(s, op, (uint64_t)op->st.st_size, false);
	}
	serve_done_data(s, op);
}

int
serve_get_file(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	uint32_t most;
	int err;

	op->path = serve_get_path(s, r);
	most = rd_u32(r);
	if ((err = rd_err(r)) < 0)
		return err;
	op->len = most < SFTP_DATA_MAX ? most : SFTP_DATA_MAX;
	serve_info(s, "open \"%s\" flags READ mode 0666", op->path);
	op->run = run_get;
	op->done = done_get;
	return 0;
}
