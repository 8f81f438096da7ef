/* SPDX-License-Identifier: ISC */
/* Files and their data: open, read, write, close; see sftp-serve-internal.h. */
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/file.h"
#include "compat/libc.h"
#include "xfer/part-lock.h"
#include "xfer/part-name.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	COPY_BLOCK = 256 * 1024,
	COPY_SLICE = 64 * 1024 * 1024, /* by the kernel */
};

/* ---- open and close ----------------------------------------------------- */

static int
open_flags(uint32_t pflags)
{
	int flags;

	if ((pflags & SFTP_O_READ) && (pflags & SFTP_O_WRITE))
		flags = O_RDWR;
	else if (pflags & SFTP_O_WRITE)
		flags = O_WRONLY;
	else
		flags = O_RDONLY;
	if (pflags & SFTP_O_APPEND)
		flags |= O_APPEND;
	if (pflags & SFTP_O_CREAT)
		flags |= O_CREAT;
	if (pflags & SFTP_O_TRUNC)
		flags |= O_TRUNC;
	if (pflags & SFTP_O_EXCL)
		flags |= O_EXCL;
	return flags | O_CLOEXEC | O_NOCTTY;
}

/* The rights that an OPEN with these flags needs. The file is surely new only
 * with both CREAT and EXCL. Otherwise every flag but READ needs MAY_CHANGE,
 * also a flag that this server does not know. */
static uint32_t
open_needs(uint32_t pflags)
{
	uint32_t needs = 0;

	if ((pflags & SFTP_O_READ) != 0 || pflags == 0)
		needs |= SFTP_MAY_READ;
	if ((pflags & SFTP_O_CREAT) != 0)
		needs |= SFTP_MAY_MAKE;
	if ((pflags & ~(uint32_t)SFTP_O_READ) != 0 &&
	    ((pflags & SFTP_O_CREAT) == 0 || (pflags & SFTP_O_EXCL) == 0))
		needs |= SFTP_MAY_CHANGE;
	return needs;
}

/* Is the file on a file system that answers over a network, or from another
 * process? Then workers get its requests from the start, not only after a slow
 * one. */
bool
serve_is_remote(int fd)
{
	return file_is_remote(fd);
}

/* Opens with O_NONBLOCK, since a FIFO would otherwise block the whole
 * connection. If another process has a lease on a regular file, this fails with
 * EWOULDBLOCK, and a second open() waits for the lease. */
static int
open_file(const struct serve_op *op)
{
	int fd = serve_open_at(op, op->path, op->flags | O_NONBLOCK,
	    op->mode);
	struct stat st;

	if (fd < 0 && errno == EWOULDBLOCK &&
	    serve_stat_at(op, op->path, true, &st) == 0 &&
	    S_ISREG(st.st_mode))
		fd = serve_open_at(op, op->path, op->flags, op->mode);
	return fd;
}

/*
 * Opens a part for writing. Other users may be able to write to its directory.
 * So an existing file is changed only when it is known that this user owns it,
 * that it has one name, and that no other copy holds it.
 */
static int
open_part(const struct serve_op *op, const struct serve_place *p)
{
	/* O_RDWR, since only a descriptor that can read can share the part with
	 * other handles. */
	int flags = (op->flags & ~(O_TRUNC | O_ACCMODE)) | O_RDWR |
	    O_NONBLOCK | O_NOFOLLOW;
	bool made = (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0;
	int fd = openat(p->at, p->name, flags, op->mode);

	/* The user may have a file of such a name that he may write but not
	 * read. */
	if (fd < 0 && errno == EACCES && (op->flags & O_ACCMODE) == O_WRONLY)
		fd = openat(p->at, p->name, (flags & ~O_ACCMODE) | O_WRONLY,
		    op->mode);
	if (fd < 0)
		return -1;
	errno = EPERM;
	if ((made || xfer_part_is_own(fd)) &&
	    xfer_part_hold(fd, op->attrs.copy, op->attrs.further) &&
	    xfer_part_is(fd, p->at, p->name) &&
	    ((op->flags & O_TRUNC) == 0 || ftruncate(fd, 0) == 0))
		return fd;
	fd_close(&fd);
	return -1;
}

static int
run_open(struct serve_op *op)
{
	struct serve_place p;

	if ((op->flags & O_ACCMODE) == O_RDONLY || !xfer_is_part(op->path)) {
		op->own.fd = open_file(op);
	} else {
		if (serve_at(op, op->path, &p) == 0)
			op->own.fd = open_part(op, &p);
		serve_leave(&p);
	}
	if (op->own.fd < 0)
		return -1;
	op->open.remote = serve_is_remote(op->own.fd);
	return fstat(op->own.fd, &op->st);
}

static void
done_open(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_handle *h = &s->handles[op->file.slot];

	if (op->error != 0) {
		serve_handle_close(s, h);
		serve_done_status(s, op);
		return;
	}
	h->kind = SERVE_FILE;
	h->fd = op->own.fd;
	op->own.fd = -1;
	s->remote = s->remote || op->open.remote;
	h->append = (op->flags & O_APPEND) != 0;
	h->writes = (op->flags & O_ACCMODE) != O_RDONLY;
	h->key = (struct serve_key){ op->st.st_dev, op->st.st_ino };
	serve_put_handle(s, op->id, op->file.slot);
}

int
serve_open(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	uint32_t pflags;
	char text[64];
	int err;

	op->path = serve_get_path(s, r);
	pflags = rd_u32(r);
	sftp_get_attrs(r, &op->attrs);
	if ((err = rd_err(r)) < 0)
		return err;
	op->mode = op->attrs.flags & SFTP_A_MODE ?
	    op->attrs.mode & SERVE_MODE_BITS :
	    0666;
	sftp_open_flags_text(pflags, text, sizeof text);
	serve_info(s, "open \"%s\" flags %s mode 0%o", op->path, text,
	    (unsigned)op->mode);
	if (!serve_may(s, open_needs(pflags)))
		return ERR_DENIED;
	if ((pflags & SFTP_O_CREAT) != 0 &&
	    !serve_spend(s, op, &s->left.files, 1))
		return 0;
	op->file.slot = serve_handle_new(s, op->path);
	if (op->file.slot < 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	op->flags = open_flags(pflags);
	op->order.opens = (op->flags & O_TRUNC) == 0;
	op->order.changes = (op->flags & (O_TRUNC | O_CREAT)) != 0;
	op->run = run_open;
	op->done = done_open;
	return 0;
}

static int
run_close(struct serve_op *op)
{
	int fd = op->own.fd;
	DIR *dir = op->own.dir;

	op->own.fd = -1;
	op->own.dir = NULL;
	if (op->walk != NULL)
		return 0;
	/* Closing may be the first call that reports that data was lost. */
	return dir != NULL ? closedir(dir) : close(fd);
}

static void
done_close(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_handle *h = &s->handles[op->file.slot];

	serve_log_close(s, h, op->flags != SERVE_FILE, "");
	serve_tell_transfer(s, h, NULL, op->error == 0);
	serve_handle_close(s, h);
	serve_done_status(s, op);
}

int
serve_close(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err = serve_check_handle(s, op, r, h, SFTP_FAILURE);

	if (err <= 0)
		return err;
	serve_touch_handle(s, op, h, true);
	op->own.fd = h->fd;
	op->own.dir = h->dir;
	op->walk = h->walk;
	op->flags = (int)h->kind;
	h->fd = -1;
	h->dir = NULL;
	h->walk = NULL;
	h->kind = SERVE_UNUSABLE;
	op->run = run_close;
	op->done = done_close;
	return 0;
}

/* ---- read --------------------------------------------------------------- */

static void
put_data_head(uint8_t *p, uint32_t id, size_t len)
{
	wire_put_u32(p, (uint32_t)len + SERVE_DATA_HEAD - 4);
	p[4] = SFTP_DATA;
	wire_put_u32(p + 5, id);
	wire_put_u32(p + 9, (uint32_t)len);
}

static int
run_read(struct serve_op *op)
{
	uint8_t *p = buf_reserve(&op->data, SERVE_DATA_HEAD + op->len);
	ssize_t n;

	if (p == NULL) {
		errno = ENOMEM;
		return -1;
	}
	n = fd_pread(
	    op->file.fd, p + SERVE_DATA_HEAD, op->len, op->file.offset);
	if (n > 0 || (n == 0 && op->len == 0)) {
		put_data_head(p, op->id, (size_t)n);
		buf_commit(&op->data, SERVE_DATA_HEAD + (size_t)n);
	}
	return n < 0 ? -1 : 0;
}

static void
done_read(struct sftp_serve *s, struct serve_op *op)
{
	size_t len = buf_len(&op->data);

	if (op->error != 0) {
		serve_done_status(s, op);
		return;
	}
	if (len == 0) {
		serve_status(s, op->id, SFTP_EOF);
		return;
	}
	s->handles[op->file.slot].bytes_read += len - SERVE_DATA_HEAD;
	if (buf_len(&s->out) == 0 && buf_err(&s->out) == 0) {
		struct buf empty = s->out;

		s->out = op->data;
		op->data = empty;
	} else {
		buf_put_buf(&s->out, &op->data);
	}
}

/*
 * Reads from the page cache; EAGAIN if it does not have all of the data, or if
 * a worker should read. A file system that does not support RWF_NOWAIT is read
 * directly, until a call was slow.
 */
static ssize_t
read_cached(struct sftp_serve *s, struct serve_handle *h,
    const struct iovec *iov, int count, const struct serve_op *op)
{
	uint64_t offset = op->file.offset;
	struct serve_timer t;
	struct stat st;
	ssize_t n;

	if (s->opts.threads > 0 && !h->no_nowait) {
		n = libc_preadv_nowait(h->fd, iov, count, (off_t)offset);
		if (n >= 0 && (size_t)n < op->len &&
		    (fstat(h->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
			offset + (uint64_t)n < (uint64_t)st.st_size)) {
			errno = EAGAIN;
			return -1;
		}
		if (n >= 0 || errno == EAGAIN)
			return n;
		h->no_nowait = true;
	}
	if (serve_prefers_worker(s)) {
		errno = EAGAIN;
		return -1;
	}
	serve_timer_begin(s, &t);
	do
		n = preadv(h->fd, iov, count, (off_t)offset);
	while (n < 0 && errno == EINTR);
	serve_timer_end(s, &t);
	return n;
}

/*
 * Puts the reply of a READ into p, and data that does not fit there into the
 * output buffer. *placed: bytes put into p. True: the READ was answered; false:
 * a worker has to read.
 */
static bool
read_to(struct sftp_serve *s, struct serve_op *op, uint8_t *p, size_t room,
    size_t *placed)
{
	struct serve_handle *h = &s->handles[op->file.slot];
	size_t first = MIN(op->len, room - SERVE_DATA_HEAD);
	struct iovec iov[2] = {
		{ .iov_base = p + SERVE_DATA_HEAD, .iov_len = first },
		{ .iov_len = op->len - first },
	};
	size_t got;
	ssize_t n;

	if (iov[1].iov_len > 0 &&
	    (iov[1].iov_base = buf_reserve(&s->out, iov[1].iov_len)) == NULL)
		return false;
	n = read_cached(s, h, iov, iov[1].iov_len > 0 ? 2 : 1, op);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0) {
		op->error = errno;
		serve_done_status(s, op);
		return true;
	}
	got = (size_t)n;
	if (got == 0 && op->len > 0) {
		serve_status(s, op->id, SFTP_EOF);
		return true;
	}
	put_data_head(p, op->id, got);
	*placed = SERVE_DATA_HEAD + MIN(got, first);
	if (got > first)
		buf_commit(&s->out, got - first);
	h->bytes_read += got;
	return true;
}

/* Answers a READ on the loop, if it need not wait for other requests or the
 * disk. False: it was not answered. */
static bool
read_at_once(struct sftp_serve *s, struct serve_op *op)
{
	size_t whole = SERVE_DATA_HEAD + op->len, placed = 0;
	uint8_t *p;
	bool answered;

	if (s->opts.eager || s->remote || serve_must_wait(s, op))
		return false;
	if (s->direct.p != NULL && s->direct.used == 0 &&
	    s->direct.room > SERVE_DATA_HEAD)
		return read_to(s, op, s->direct.p, s->direct.room,
		    &s->direct.used);
	p = buf_reserve(&s->out, whole);
	if (p == NULL)
		return false;
	answered = read_to(s, op, p, whole, &placed);
	buf_commit(&s->out, placed);
	return answered;
}

int
serve_read(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	uint64_t offset = rd_u64(r);
	uint32_t want = rd_u32(r);
	int err = serve_check_handle(s, op, r, h, SFTP_FAILURE);

	if (err <= 0)
		return err;
	if (offset > INT64_MAX) { /* preadv2() takes offset -1 as the file
				   * position */
		serve_errno(s, op->id, EINVAL);
		return 0;
	}
	serve_touch_handle(s, op, h, false);
	op->file.offset = op->order.from = offset;
	op->len = MIN(want, (uint32_t)SFTP_DATA_MAX);
	op->order.to = offset + op->len < offset ? UINT64_MAX :
						   offset + op->len;
	if (read_at_once(s, op))
		return 0;
	op->duration = SERVE_WAITS;
	op->run = run_read;
	op->done = done_read;
	return 0;
}

/* ---- write -------------------------------------------------------------- */

static int
write_whole(int fd, const uint8_t *p, size_t len, uint64_t offset,
    bool append, uint64_t *written)
{
	ssize_t n;

	while (len > 0) {
		n = append ? write(fd, p, len) :
			     pwrite(fd, p, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0) {
			errno = EIO;
			return -1;
		}
		*written += (uint64_t)n;
		offset += (uint64_t)n;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
run_write(struct serve_op *op)
{
	return write_whole(op->file.fd, buf_data(&op->data),
	    buf_len(&op->data), op->file.offset, op->flags != 0, &op->count);
}

static void
answer_write(struct sftp_serve *s, uint32_t id, struct serve_handle *h,
    int error)
{
	/* Logged once for each handle and error: when a disk is full, each
	 * WRITE under way fails. */
	if (error != 0 && h != NULL && h->write_error != error) {
		h->write_error = error;
		log_error("write \"%s\": %s", h->path, strerror(error));
	}
	serve_errno(s, id, error);
}

static void
done_write(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_handle *h = &s->handles[op->file.slot];

	h->bytes_written += op->count;
	answer_write(s, op->id, h, op->error);
}

/* refused: the status to answer with if WRITE is not allowed, else 0. body:
 * length field of the message. r has read the id; handle, offset, length and
 * the data follow. */
int
serve_write_begin(struct sftp_serve *s, struct rd *r, uint32_t id,
    uint32_t body, uint32_t refused)
{
	static const size_t fixed = SERVE_WRITE_HEAD - 4;
	struct serve_write *w = &s->write;
	struct serve_op *op = &w->op;

	*w = (struct serve_write){ .id = id, .state = SERVE_WRITE_PIECES };
	serve_op_init(op, id);
	w->handle = serve_get_handle(s, r, SERVE_FILE);
	w->offset = rd_u64(r);
	w->left = rd_u32(r);
	if (r->err != 0 || body < fixed || w->left > body - fixed)
		return ERR_PROTOCOL;
	w->skip = body - (uint32_t)fixed - w->left;
	if (refused != 0)
		w->handle = NULL;
	if (w->handle == NULL || w->offset > INT64_MAX) {
		w->error = refused != 0 ? EACCES :
		    w->handle == NULL ? EBADF : EINVAL;
		return 0;
	}
	if (!serve_take(&s->left.bytes, w->left)) {
		w->error = EDQUOT;
		w->handle = NULL;
		return 0;
	}
	serve_touch_handle(s, op, w->handle, true);
	op->run = run_write;
	op->done = done_write;
	op->file.offset = w->offset;
	op->flags = w->handle->append;
	if (!w->handle->append && w->offset + w->left >= w->offset) {
		op->order.from = w->offset;
		op->order.to = w->offset + w->left;
	}
	if (serve_must_wait(s, op) || serve_prefers_worker(s))
		w->state = SERVE_WRITE_GATHER;
	return 0;
}

static void
write_piece(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	struct serve_write *w = &s->write;
	uint64_t written = 0;
	struct serve_timer t;

	if (len == 0 || w->error != 0)
		return;
	if (w->state == SERVE_WRITE_GATHER) {
		buf_put(&w->op.data, p, len);
		if (buf_err(&w->op.data) != 0)
			w->error = ENOMEM;
		return;
	}
	serve_timer_begin(s, &t);
	if (write_whole(w->handle->fd, p, len, w->offset, w->handle->append,
		&written) != 0)
		w->error = errno;
	serve_timer_end(s, &t);
	w->offset += written;
	w->handle->bytes_written += written;
}

/* Returns how many of the bytes belonged to the WRITE that is arriving. */
size_t
serve_write_continue(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	struct serve_write *w = &s->write;
	size_t data = MIN(len, (size_t)w->left);
	size_t skip = MIN(len - data, (size_t)w->skip);
	bool gathered;

	write_piece(s, p, data);
	w->left -= (uint32_t)data;
	w->skip -= (uint32_t)skip;
	if (w->left > 0 || w->skip > 0)
		return data + skip;
	gathered = w->state == SERVE_WRITE_GATHER;
	w->state = SERVE_WRITE_NONE;
	if (gathered && w->error == 0) {
		serve_submit(s, &w->op);
	} else {
		answer_write(s, w->id, w->handle, w->error);
		serve_op_clear(&w->op);
	}
	return data + skip;
}

/* ---- fsync and copy-data ------------------------------------------------ */

static int
run_fsync(struct serve_op *op)
{
	return file_sync(op->file.fd);
}

int
serve_fsync(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	int err = serve_check_handle(s, op, r, h, SFTP_NO_SUCH_FILE);

	if (err <= 0)
		return err;
	serve_verbose(s, "fsync \"%s\"", h->path);
	serve_touch_handle(s, op, h, false);
	op->duration = SERVE_LONG;
	op->run = run_fsync;
	op->done = serve_done_status;
	return 0;
}

static int
run_uncache(struct serve_op *op)
{
	int err = file_sync(op->file.fd);

	return err != 0 ? err : file_uncache(op->file.fd);
}

/* Does an fsync, and then has the kernel drop its cached pages of the file, so
 * that a following READ shows how fast the disk is. */
int
serve_uncache(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err = serve_fsync(s, op, r);

	if (err == 0)
		op->run = run_uncache;
	return err;
}

/* Copies the next bytes with file_copy_range() if both files allow it, which
 * shares blocks or copies inside of the kernel; else by reading and writing.
 * Returns the bytes copied, 0 at the end of the source, or -1. */
static ssize_t
copy_some(struct serve_op *op)
{
	size_t want = (size_t)MIN(op->count, (uint64_t)COPY_SLICE);
	off_t from = (off_t)op->file.offset, to = (off_t)op->to_file.offset;
	uint64_t written = 0;
	uint8_t *block;
	ssize_t n;

	if (op->flags == 0) {
		n = file_copy_range(op->file.fd, &from, op->to_file.fd, &to,
		    want);
		if (n > 0)
			return n;
		/* 0 may be wrong: files of /proc seem empty to it. */
		op->flags = 1;
	}
	block = buf_reserve(&op->data, COPY_BLOCK);
	if (block == NULL) {
		errno = ENOMEM;
		return -1;
	}
	n = pread(op->file.fd, block, MIN(want, (size_t)COPY_BLOCK), from);
	if (n > 0 && write_whole(op->to_file.fd, block, (size_t)n,
			 op->to_file.offset, false, &written) != 0)
		return -1;
	return n;
}

static int
run_copy(struct serve_op *op)
{
	bool to_end = op->count == UINT64_MAX;
	ssize_t n = copy_some(op);

	if (n < 0)
		return errno == EINTR ? (op->slice.unfinished = true, 0) : -1;
	op->len += (size_t)n;
	op->file.offset += (uint64_t)n;
	op->to_file.offset += (uint64_t)n;
	if (!to_end)
		op->count -= (uint64_t)n;
	if (n == 0 && !to_end && op->count > 0) {
		errno = EIO; /* the source ended early */
		return -1;
	}
	op->slice.unfinished = n > 0 && op->count > 0;
	return 0;
}

static void
done_copy(struct sftp_serve *s, struct serve_op *op)
{
	s->handles[op->file.slot].bytes_read += op->len;
	s->handles[op->to_file.slot].bytes_written += op->len;
	serve_done_status(s, op);
}

int
serve_copy_data(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *from = serve_get_handle(s, r, SERVE_FILE), *to;
	uint64_t len;
	int err;

	op->file.offset = rd_u64(r);
	len = rd_u64(r);
	to = serve_get_handle(s, r, SERVE_FILE);
	op->to_file.offset = rd_u64(r);
	if ((err = rd_err(r)) < 0)
		return err;
	if (from == NULL || to == NULL || from == to ||
	    op->file.offset > INT64_MAX || op->to_file.offset > INT64_MAX) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	serve_log(s, LOG_LVL_DEBUG1, "copy-data from \"%s\" to \"%s\"",
	    from->path, to->path);
	op->count = len != 0 ? len : UINT64_MAX;
	if (!serve_spend(s, op, &s->left.bytes, op->count))
		return 0;
	op->file.slot = (int)(from - s->handles);
	op->to_file.slot = (int)(to - s->handles);
	op->file.fd = from->fd;
	op->to_file.fd = to->fd;
	op->flags = to->append; /* file_copy_range() cannot append */
	op->order.changes = true; /* two files, so it is ordered like a path */
	op->duration = SERVE_LONG;
	op->run = run_copy;
	op->done = done_copy;
	return 0;
}
