/* SPDX-License-Identifier: ISC */
/*
 * Sources of uploads that are files of this host.
 *
 * Directories are read one at a time, each to its end. When many wait
 * (WALK_CROWD), reading one stops at the next subdirectory found, and that is
 * read first; but only as many as there are descriptors for (walking_max) stay
 * open meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	WALK_CROWD = 1024, /* waiting directories: then depth first */
	WALK_TURN = 64,	   /* directories read in one turn of the loop */
};

/* --- files --- */

/* What was found as a file is read as one: if a link has taken its name, it is
 * not followed. Another file of that name is what is copied. */
static bool
local_open(struct xfer_file *f)
{
	struct stat st;

	if (f->fd >= 0)
		return true;
	f->fd = local_open_source(f->at, f->name, f->links, &st);
	if (f->fd < 0) {
		if (!xfer_file_wait_for_fds(f, errno))
			xfer_report_tried(f->x, XFER_TRIED_OPEN_LOCAL,
			    f->local, local_error_text(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		xfer_report(f->x, f->local, "not a regular file");
		return false;
	}
	xfer_source_seen(f, &st);
	return true;
}

static void
later_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_block *b = arg;
	struct xfer_file *f = b->handle->file;

	f->x->spent.disk += reply->source_us;
	if (reply->err != 0 || reply->source_len == b->len) {
		xfer_write_done(arg, reply);
		return;
	}
	if (!f->failed && reply->source_errno != 0)
		xfer_report_errno(f->x, f->local, reply->source_errno);
	else if (!f->failed)
		xfer_report(f->x, f->local,
		    "changed while it was being read");
	xfer_file_fail(f);
	xfer_data_end(b);
	xfer_file_touch(f);
}

/* The source is read when the request is sent. */
static void
send_later(struct xfer_handle *e, uint32_t len)
{
	struct xfer_block *b = xfer_data_begin(e, e->next, len);

	if (b == NULL) {
		xfer_source_fails(e->file, ENOMEM);
		return;
	}
	e->next += len;
	sftp_write_file(e->stream->s, &e->handle, b->offset, len, e->file->fd,
	    later_done, b);
}

/* The source may be read later only if it does no harm that it ends before
 * its size: not when written in place, and not where the size means little,
 * as that of the small files of /sys. */
static void
local_send(struct xfer_handle *e)
{
	struct xfer_file *f = e->file;
	struct sftp *s = e->stream->s;
	uint64_t offset = e->next;
	uint32_t len = xfer_block_size(e->stream, true);
	struct xfer_block *b;
	uint64_t from;
	uint8_t *to;
	ssize_t n;

	len = (uint32_t)MIN((uint64_t)len, e->until - offset);
	if (f->holes.sparse && xfer_sparse_skip(e, &len))
		return;
	if (f->part.name != NULL && f->source.size > XFER_BLOCK_MAX) {
		send_later(e, len);
		return;
	}
	to = sftp_write_begin(s, &e->handle, offset, len);
	if (to == NULL) {
		e->stream->gone = true; /* its session is over */
		return;
	}
	from = clock_us();
	n = fd_pread(f->fd, to, len, offset);
	f->x->spent.disk += clock_us() - from;
	b = n > 0 ? xfer_data_begin(e, offset, (uint32_t)n) : NULL;
	if (b == NULL) {
		int error = n < 0 ? errno : n > 0 ? ENOMEM : 0;

		sftp_write_finish(s, 0, NULL, NULL);
		if (error != 0)
			xfer_source_fails(f, error);
		else
			xfer_source_ends(f, offset);
		return;
	}
	e->next += (uint64_t)n;
	sftp_write_finish(s, (uint32_t)n, xfer_write_done, b);
}

static void
local_end(struct xfer_file *f)
{
	struct stat st;
	bool known = fstat(f->fd, &st) == 0;

	xfer_source_ended(f, known ? (uint64_t)st.st_size : f->source.size);
}

static void
local_close(struct xfer_file *f)
{
	fd_close(&f->fd);
}

const struct xfer_origin_ops xfer_local_origin = {
	.open = local_open,
	.send = local_send,
	.end = local_end,
	.close = local_close,
};

/* --- directories --- */

/* Does a link lead back to where it was found? */
static bool
is_loop(const struct xfer_dir *d, const struct stat *st)
{
	for (; d != NULL; d = d->parent)
		if (d->exact.dev == st->st_dev && d->exact.ino == st->st_ino)
			return true;
	return false;
}

/* Is it copied? If not, that was told. */
static bool
is_wanted(struct xfer_dir *d, const char *local, const struct stat *st)
{
	bool links = d->x->opts.links;

	if (S_ISLNK(st->st_mode) && d->x->opts.skip_links)
		xfer_note(d->x, local, "not a regular file");
	else if (S_ISDIR(st->st_mode) && is_loop(d, st))
		xfer_report(d->x, local, "leads back to a directory it is in");
	else if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode) &&
	    !(links && S_ISLNK(st->st_mode)))
		xfer_report(d->x, local, "not a regular file");
	else
		return true;
	return false;
}

static int
add_found(struct xfer_dir *d, const char *name, char *local, char *remote,
    const struct stat *st, enum local_links links)
{
	struct xfer_exact exact;
	struct sftp_attrs attrs;
	struct local_dir *at;

	sftp_attrs_from_stat(&attrs, st);
	xfer_exact_from_stat(&exact, st);
	if (!S_ISDIR(st->st_mode))
		return xfer_add_file(d->x, d, true, local, remote, &attrs,
		    links, &exact);
	at = local_child(d->at, name, st, links);
	if (at != NULL)
		return xfer_add_dir(d->x, d, &(struct xfer_found){ .up = true,
			.at = at, .local = local, .remote = remote,
			.attrs = &attrs, .exact = &exact });
	free(local);
	free(remote);
	return ERR_NOMEM;
}

static int
found_local(struct xfer_dir *d, const char *name)
{
	char *local = str_join_path(d->local, name);
	char *remote = str_join_path(d->remote, name);
	const struct xfer_opts *o = &d->x->opts;
	enum local_links links = LOCAL_LINKS_NONE;
	struct stat st;
	int r;

	if (local == NULL || remote == NULL) {
		free(local);
		free(remote);
		return ERR_NOMEM;
	}
	r = local_stat(d->at, name, links, &st);
	if (r == 0 && S_ISLNK(st.st_mode) && !o->links && !o->skip_links) {
		links = LOCAL_LINKS_ALL;
		r = local_stat(d->at, name, links, &st);
	}
	if (r != 0)
		xfer_report_tried(d->x, XFER_TRIED_STAT_LOCAL, local,
		    local_error_text(errno));
	else if (is_wanted(d, local, &st))
		return add_found(d, name, local, remote, &st, links);
	free(local);
	free(remote);
	return 0;
}

void
xfer_walk_ends(struct xfer_dir *d)
{
	TAILQ_REMOVE(&d->x->dirs.walking, d, entry);
	d->x->dirs.walking_count--;
	xfer_dir_unlist(d);
	xfer_dir_unref(d);
}

/* Reads d until it ends, the queue is full, or a subdirectory was found that
 * is to be read first. 1: there is no descriptor for it now. */
static int
walk(struct xfer_dir *d)
{
	struct xfer *x = d->x;
	size_t waits;
	struct dirent *de;
	int r;

	if (d->state == XFER_DIR_FAILED) {
		xfer_walk_ends(d);
		return 0;
	}
	if (d->dirp == NULL && (d->dirp = local_dir_list(d->at)) == NULL) {
		/* Files that are under way will give some back. */
		if ((errno == EMFILE || errno == ENFILE) &&
		    x->files.active_count > 0)
			return 1;
		xfer_report_errno(x, d->local, errno);
		xfer_walk_ends(d);
		return 0;
	}
	do {
		errno = 0;
		de = readdir(d->dirp);
		if (de == NULL) {
			if (errno != 0)
				xfer_report_errno(x, d->local, errno);
			xfer_walk_ends(d);
			return 0;
		}
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		waits = x->dirs.waiting_count;
		if ((r = found_local(d, de->d_name)) < 0)
			return r;
		if (x->dirs.waiting_count > waits &&
		    x->dirs.waiting_count >= WALK_CROWD &&
		    x->dirs.walking_count < x->dirs.walking_max)
			break; /* what was found is read first */
	} while (xfer_may_find_more(x));
	return 0;
}

bool
xfer_walk(struct xfer *x)
{
	struct xfer_dir *d;
	int r;

	for (int turn = 0; xfer_may_find_more(x); turn++) {
		d = TAILQ_FIRST(&x->dirs.waiting);
		if (d != NULL && xfer_dir_is_local(d) &&
		    (x->dirs.waiting_count >= WALK_CROWD ||
			TAILQ_EMPTY(&x->dirs.walking))) {
			xfer_dir_stop_waiting(d);
			TAILQ_INSERT_HEAD(&x->dirs.walking, d, entry);
			x->dirs.walking_count++;
		} else if ((d = TAILQ_FIRST(&x->dirs.walking)) == NULL) {
			return false;
		}
		if (turn == WALK_TURN)
			return true;
		r = walk(d);
		if (r > 0)
			return false;
		if (r < 0) {
			xfer_report(x, d->local, err_text(ERR_NOMEM));
			return true;
		}
	}
	return false;
}
