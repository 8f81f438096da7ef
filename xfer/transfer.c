/* SPDX-License-Identifier: ISC */
#include "xfer/transfer.h"

#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "xfer/transfer-int.h"

enum {
	BUDGET_DEFAULT = 16 * 1024 * 1024,
	WINDOW_START = 1024 * 1024, /* doubles while answers come */
	FILES_DEFAULT = 256,
	HANDLES_SPARE = 2 * XFER_LISTINGS_MAX, /* for directories */
	STARTS_PER_TURN = 64,
	TICK_MS = 100,
	MODE_COPIED = 0777,
	MODE_PRESERVED = 07777,
};

/* --- life --- */

int
xfer_new(struct xfer **out, struct sftp *s, const struct xfer_opts *opts)
{
	struct xfer *x = calloc(1, sizeof *x);
	struct rlimit rl;

	if (x == NULL)
		return ERR_NOMEM;
	x->s = s;
	x->opts = *opts;
	if (x->opts.budget_bytes == 0)
		x->opts.budget_bytes = BUDGET_DEFAULT;
	x->window = MIN(x->opts.budget_bytes, (size_t)WINDOW_START);
	x->files_max = opts->files_max != 0 ? opts->files_max : FILES_DEFAULT;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
		x->files_max = MIN(x->files_max, (size_t)rl.rlim_cur / 2);
	TAILQ_INIT(&x->queue);
	TAILQ_INIT(&x->active);
	TAILQ_INIT(&x->done);
	TAILQ_INIT(&x->waiting);
	TAILQ_INIT(&x->listing);
	TAILQ_INIT(&x->all_dirs);
	x->umask = umask(0);
	umask(x->umask);
	*out = x;
	return 0;
}

static void
file_free(struct xfer_file *f)
{
	if (f->dir != NULL)
		xfer_dir_unref(f->dir);
	fd_close(&f->fd);
	free(f->item.name);
	free(f->local);
	free(f->remote);
	free(f);
}

static void
files_free(struct xfer_files *list)
{
	struct xfer_file *f;

	while ((f = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, f, entry);
		f->dir = NULL; /* directories are freed by themselves */
		file_free(f);
	}
}

void
xfer_free(struct xfer *x)
{
	if (x == NULL)
		return;
	files_free(&x->queue);
	files_free(&x->active);
	files_free(&x->done);
	xfer_dirs_free(x);
	xfer_blocks_free(x);
	free(x);
}

unsigned long
xfer_failures(const struct xfer *x)
{
	return x->failures;
}

/* --- messages --- */

void
xfer_report(struct xfer *x, const char *path, const char *text)
{
	x->failures++;
	progress_clear_line(x->opts.progress);
	if (x->opts.report != NULL)
		x->opts.report(x->opts.report_arg, path, text);
}

void
xfer_report_errno(struct xfer *x, const char *path, int error)
{
	xfer_report(x, path, strerror(error));
}

void
xfer_report_reply(struct xfer *x, const char *path,
    const struct sftp_reply *reply)
{
	if (reply->err == 0)
		xfer_report(x, path, sftp_status_text(reply->status));
	else
		x->failures++;
}

/* --- files --- */

int
xfer_add_file(struct xfer *x, struct xfer_dir *dir, bool up, char *local,
    char *remote, const struct sftp_attrs *attrs)
{
	struct xfer_file *f = calloc(1, sizeof *f);

	if (f == NULL || local == NULL || remote == NULL) {
		free(f);
		free(local);
		free(remote);
		return ERR_NOMEM;
	}
	*f = (struct xfer_file){ .x = x, .dir = dir, .up = up,
		.local = local, .remote = remote, .fd = -1,
		.eof_at = UINT64_MAX };
	if (attrs != NULL)
		f->attrs = *attrs;
	if (dir != NULL)
		dir->refs++;
	TAILQ_INSERT_TAIL(&x->queue, f, entry);
	x->queued++;
	return 0;
}

void
xfer_file_fail(struct xfer_file *f)
{
	f->failed = true;
	if (f->state == XFER_MOVING)
		f->state = XFER_WAITING;
}

static void
file_done(struct xfer_file *f)
{
	struct xfer *x = f->x;

	ENSURE(f->state != XFER_DONE);
	f->state = XFER_DONE;
	progress_finish(x->opts.progress, &f->item, !f->failed, loop_now_ms());
	TAILQ_REMOVE(&x->active, f, entry);
	x->active_count--;
	TAILQ_INSERT_TAIL(&x->done, f, entry);
}

/* Source's times as the kernel takes them. */
static int
set_local_times(int fd, const struct sftp_attrs *a)
{
	struct timespec ts[2] = { { .tv_sec = a->atime },
		{ .tv_sec = a->mtime } };

	return a->flags & SFTP_A_TIMES ? futimens(fd, ts) : 0;
}

/* All data of a download is here. */
static void
finish_local(struct xfer_file *f)
{
	const struct sftp_attrs *a = &f->attrs;

	if (f->fd < 0)
		return;
	if (!f->failed && f->eof_at < f->top) {
		xfer_report(f->x, f->remote,
		    "changed while it was being read");
		f->failed = true;
	}
	if (!f->failed && f->x->opts.preserve &&
	    (((a->flags & SFTP_A_MODE) &&
		 fchmod(f->fd, a->mode & MODE_PRESERVED) != 0) ||
		set_local_times(f->fd, a) != 0)) {
		xfer_report_errno(f->x, f->local, errno);
		f->failed = true;
	}
	/* Some file systems tell only now that the disk is full. */
	if (close(f->fd) != 0 && !f->failed) {
		xfer_report_errno(f->x, f->local, errno);
		f->failed = true;
	}
	f->fd = -1;
}

static void
attrs_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if ((reply->err != 0 || reply->status != SFTP_OK) && !f->failed) {
		xfer_report_reply(f->x, f->remote, reply);
		xfer_file_fail(f);
	}
	xfer_file_settle(f);
}

/* Sent right behind the last data, without waiting for its answers. */
static void
send_tail(struct xfer_file *f)
{
	struct xfer *x = f->x;
	struct sftp_attrs a = f->attrs;

	f->state = XFER_CLOSING;
	/* A download has all it wants: it does not wait for this answer. */
	if (!f->up) {
		sftp_close(x->s, &f->handle, NULL, NULL);
		return;
	}
	a.flags &= SFTP_A_MODE | SFTP_A_TIMES;
	a.mode &= MODE_PRESERVED;
	f->pending++; /* not settled before all is sent */
	if (!f->failed && x->opts.preserve) {
		f->pending++;
		sftp_fsetstat(x->s, &f->handle, &a, attrs_done, f);
	}
	if (!f->failed && x->opts.fsync &&
	    sftp_has(x->s, SFTP_EXT_FSYNC)) {
		f->pending++;
		sftp_ext_handle(x->s, SFTP_EXT_FSYNC, &f->handle, attrs_done,
		    f);
	}
	f->pending++;
	sftp_close(x->s, &f->handle, attrs_done, f);
	f->pending--;
}

void
xfer_file_settle(struct xfer_file *f)
{
	/* An upload closes as soon as all is sent; a download waits for its
	 * data, which may come short and be asked for again. */
	if (f->state == XFER_WAITING && f->handle_open &&
	    (f->up || f->pending == 0)) {
		f->handle_open = false;
		if (!f->up)
			finish_local(f);
		send_tail(f);
	}
	if (f->pending == 0 && f->state != XFER_MOVING &&
	    f->state != XFER_DONE)
		file_done(f);
}

static bool
open_local_target(struct xfer_file *f)
{
	mode_t mode = f->attrs.flags & SFTP_A_MODE ?
	    f->attrs.mode & MODE_COPIED :
	    0666;

	f->fd = open(f->local, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
	    mode);
	if (f->fd < 0)
		xfer_report_errno(f->x, f->local, errno);
	return f->fd >= 0;
}

static void
open_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err != 0 || reply->status != SFTP_OK) {
		xfer_report_reply(f->x, f->remote, reply);
		f->failed = true;
		xfer_file_settle(f);
		return;
	}
	sftp_keep_handle(&f->handle, reply);
	f->handle_open = true;
	f->state = XFER_MOVING;
	if (!f->up && !open_local_target(f)) {
		xfer_file_fail(f);
		xfer_file_settle(f);
	}
}

/* O_NONBLOCK: opening must not wait for the writer of a pipe. */
static bool
open_local_source(struct xfer_file *f)
{
	struct stat st;

	f->fd = open(f->local, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &st) != 0) {
		xfer_report_errno(f->x, f->local, errno);
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		xfer_report(f->x, f->local, "not a regular file");
		return false;
	}
	sftp_attrs_from_stat(&f->attrs, &st);
	return true;
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void
start_file(struct xfer *x, struct xfer_file *f)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE };

	TAILQ_REMOVE(&x->queue, f, entry);
	x->queued--;
	TAILQ_INSERT_TAIL(&x->active, f, entry);
	x->active_count++;
	f->state = XFER_OPENING;
	if (f->up && !open_local_source(f)) {
		f->failed = true;
		file_done(f);
		return;
	}
	f->size = f->attrs.flags & SFTP_A_SIZE ? f->attrs.size : 0;
	progress_start(x->opts.progress, &f->item,
	    last_part(f->up ? f->local : f->remote), f->size, loop_now_ms());
	a.mode = f->attrs.mode &
	    (x->opts.preserve ? MODE_PRESERVED : MODE_COPIED);
	f->pending++;
	if (f->up)
		sftp_open(x->s, f->remote,
		    SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_TRUNC, &a, open_done,
		    f);
	else
		sftp_open(x->s, f->remote, SFTP_O_READ, NULL, open_done, f);
}

/* True if more could be started at once. */
static bool
start_files(struct xfer *x)
{
	size_t limit = x->files_max, handles = sftp_handles_max(x->s);
	struct xfer_file *f;
	int started = 0;

	limit = MIN(limit, handles > 2 * HANDLES_SPARE ?
	    handles - HANDLES_SPARE : MAX(handles / 2, (size_t)1));
	while (x->active_count < limit && started++ < STARTS_PER_TURN &&
	    (f = TAILQ_FIRST(&x->queue)) != NULL)
		start_file(x, f);
	return x->active_count < limit && !TAILQ_EMPTY(&x->queue);
}

/* --- queueing and running --- */

int
xfer_put(struct xfer *x, const char *local, const char *remote)
{
	struct sftp_attrs attrs;
	struct stat st;

	if (stat(local, &st) != 0) {
		xfer_report_errno(x, local, errno);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return xfer_add_file(x, NULL, true, strdup(local),
		    strdup(remote), NULL);
	if (!x->opts.recursive) {
		xfer_report(x, local, "not a regular file");
		return 0;
	}
	sftp_attrs_from_stat(&attrs, &st);
	return xfer_add_dir(x, NULL, true, strdup(local), strdup(remote),
	    &attrs);
}

int
xfer_get(struct xfer *x, const char *remote, const struct sftp_attrs *attrs,
    const char *local)
{
	bool dir = (attrs->flags & SFTP_A_MODE) && S_ISDIR(attrs->mode);
	bool file = (attrs->flags & SFTP_A_MODE) == 0 || S_ISREG(attrs->mode);

	if (file)
		return xfer_add_file(x, NULL, false, strdup(local),
		    strdup(remote), attrs);
	if (dir && x->opts.recursive)
		return xfer_add_dir(x, NULL, false, strdup(local),
		    strdup(remote), attrs);
	xfer_report(x, remote, "not a regular file");
	return 0;
}

static int
wait_ms(struct xfer *x)
{
	int ms = -1, rate;

	if (x->opts.progress != NULL)
		ms = TICK_MS;
	rate = xfer_rate_wait_ms(x);
	if (rate > 0 && (ms < 0 || rate < ms))
		ms = rate;
	return ms;
}

static void
reap(struct xfer *x)
{
	struct xfer_file *f;

	while ((f = TAILQ_FIRST(&x->done)) != NULL) {
		TAILQ_REMOVE(&x->done, f, entry);
		file_free(f);
	}
}

static struct progress_item *
shown(struct xfer *x)
{
	struct xfer_file *f = TAILQ_FIRST(&x->active);

	return f != NULL ? &f->item : NULL;
}

int
xfer_run(struct xfer *x)
{
	bool more;
	int r;

	for (;;) {
		more = xfer_list(x);
		more |= start_files(x);
		more |= xfer_issue(x);
		reap(x);
		if (x->queued == 0 && x->active_count == 0 &&
		    TAILQ_EMPTY(&x->all_dirs))
			break;
		/* Freed files may have let their directories end. */
		r = sftp_step(x->s, more, wait_ms(x));
		if (r < 0)
			return r;
		progress_tick(x->opts.progress, shown(x), loop_now_ms());
	}
	return sftp_error(x->s);
}
