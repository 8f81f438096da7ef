/* SPDX-License-Identifier: ISC */
/*
 * Room at the target. Before data moves, the room that is known to be needed is
 * compared with what is free. Each named file is checked when it is about to
 * move, beside the files that have begun. A new tree is checked when all of it
 * is listed. A file that replaces another one gives that one's room back at its
 * end.
 *
 * The server is asked beside other requests, and nothing waits for its answer:
 * where that comes late, files that have begun are checked then. What cannot be
 * known (holes at a server, links at the target, devices) is taken to fit; if
 * it does not, the file system reports a full disk, which ends the copy at
 * once.
 */
#include <sys/statvfs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "xfer/trees/transfer-dir.h"
#include "xfer/trees/transfer-space.h"

/* Copies that need fewer bytes are not worth a request. */
enum { SPACE_MIN = 4 * 1024 * 1024 };

static uint64_t
times(uint64_t blocks, uint64_t bytes)
{
	return bytes != 0 && blocks > UINT64_MAX / bytes ? UINT64_MAX :
							   blocks * bytes;
}

/* --- what is free --- */

static void
know(struct xfer_space *s, uint64_t free_bytes)
{
	s->state = XFER_SPACE_KNOWN;
	s->free = free_bytes;
}

/* Takes a server's answer to statvfs. File systems that have no number of free
 * blocks tell 0 blocks in all: then nothing is known. */
static void
take_reply(struct xfer_space *s, const struct sftp_reply *reply)
{
	struct sftp_statvfs v;
	struct rd r = reply->body;

	s->state = XFER_SPACE_UNKNOWN;
	if (reply->err != 0 || reply->type != SFTP_EXTENDED_REPLY)
		return;
	sftp_get_statvfs(&r, &v);
	if (rd_err(&r) == 0 && v.blocks != 0)
		know(s, times(v.bavail, v.frsize != 0 ? v.frsize : v.bsize));
}

static void check_begun(struct xfer *x);

static void
answered(void *arg, const struct sftp_reply *reply)
{
	struct xfer *x = arg;

	take_reply(&x->space, reply);
	if (!x->over)
		check_begun(x);
}

static void
ask_server(struct xfer *x)
{
	char *dir = path_parent(x->space.path);
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STATVFS, .path = dir };

	x->space.state = dir != NULL ? XFER_SPACE_ASKED : XFER_SPACE_UNKNOWN;
	if (dir != NULL)
		xfer_request_path(x, &q, answered, x);
	free(dir);
}

static void
ask_here(struct xfer *x)
{
	struct statvfs v;

	x->space.state = XFER_SPACE_UNKNOWN;
	if (local_dir_space(x->space.at, &v) != 0 || v.f_blocks == 0)
		return;
	know(&x->space, times(geteuid() == 0 ? v.f_bfree : v.f_bavail,
		v.f_frsize != 0 ? v.f_frsize : v.f_bsize));
}

/* --- what is needed --- */

static uint64_t
size_of(const struct xfer_file *f)
{
	return f->source.attrs.flags & SFTP_A_SIZE ? f->source.attrs.size : 0;
}

/* The bytes that a file needs, in a sparse copy without its holes. 0 if these
 * are not known. */
static uint64_t
needed(const struct xfer_file *f)
{
	uint64_t size = size_of(f);

	if (!f->x->opts.sparse)
		return size;
	return f->source.exact.known ?
	    MIN(size, times(f->source.exact.blocks, 512)) : 0;
}

/* Is the need of a file known before its target is looked at? */
static bool
is_new_data(const struct xfer *x)
{
	return !x->opts.resume && !x->opts.in_place && !x->opts.hard_links &&
	    !x->opts.sparse;
}

static bool
set_place(struct xfer *x, const struct xfer_file *f)
{
	struct xfer_space *s = &x->space;

	s->path = strdup(f->up ? f->remote : f->local);
	if (!f->up)
		s->at = local_dir_ref(f->at);
	return s->path != NULL;
}

void
xfer_space_add(struct xfer_file *f)
{
	struct xfer *x = f->x;
	struct xfer_space *s = &x->space;

	if (!x->opts.check_space || s->state == XFER_SPACE_OFF)
		return;
	if (s->path == NULL && f->dir == NULL && !set_place(x, f))
		s->state = XFER_SPACE_OFF;
	s->needed += size_of(f);
	s->up = f->up;
}

void
xfer_space_tree(struct xfer_dir *d)
{
	struct xfer_space *s = &d->x->space;

	if (s->path != NULL || d->parent != NULL || !d->x->opts.check_space)
		return;
	s->up = d->up;
	s->path = strdup(d->up ? d->remote : d->local);
	s->tree = true;
}

/* --- the decision --- */

static void
refuse(struct xfer *x, const char *path, uint64_t need)
{
	const char *by = x->opts.space_by;
	char needs[24], has[24], text[160];

	progress_bytes_text(need, needs, sizeof needs);
	progress_bytes_text(x->space.free, has, sizeof has);
	snprintf(text, sizeof text, XFER_NO_ROOM "%s are needed, and %s are "
	    "free%s%s%s", needs, has, by != NULL ? " (" : "",
	    by != NULL ? by : "", by != NULL ? " copies all the same)" : "");
	x->space.state = XFER_SPACE_OFF;
	x->full = true;
	xfer_report(x, path, text);
}

/* The bytes that a file is going to take beyond what its part or target takes
 * already. */
static uint64_t
takes(const struct xfer_file *f)
{
	const struct sftp_attrs *t = &f->target.attrs;
	uint64_t need = needed(f), there = 0;
	bool regular = !(t->flags & SFTP_A_MODE) || S_ISREG(t->mode);

	if (f->part.name == NULL && (!regular || f->target.is_link ||
		f->target.old_size == UINT64_MAX))
		return 0; /* it goes elsewhere, or to no disk */
	if (f->part.name == NULL)
		there = MAX(t->flags & SFTP_A_SIZE ? t->size : 0,
		    f->target.old_size);
	else if (xfer_keeps_data(f))
		there = f->part.old.size;
	return need - MIN(need, there);
}

/* The bytes that the rename of a part gives back: those of the old target. */
static uint64_t
gives_back(const struct xfer_file *f)
{
	const struct sftp_attrs *t = &f->target.attrs;

	return f->part.name != NULL && (t->flags & SFTP_A_SIZE) ? t->size : 0;
}

/* Counts f among the files that have begun. The bytes that all of them need; 0
 * if f needs none. */
static uint64_t
counted(struct xfer_file *f)
{
	struct xfer_space *s = &f->x->space;
	uint64_t need = takes(f), all = s->begun + need;

	s->begun = all - MIN(all, MIN(need, gives_back(f)));
	return need > 0 ? all : 0;
}

bool
xfer_space_fits(struct xfer_file *f)
{
	struct xfer_space *s = &f->x->space;
	uint64_t need;

	if (f->dir != NULL || f->progress.begun || s->tree)
		return true;
	if (s->state == XFER_SPACE_NEW && !f->up && s->at != NULL &&
	    s->needed >= SPACE_MIN)
		ask_here(f->x);
	if (s->state != XFER_SPACE_KNOWN)
		return true;
	need = counted(f);
	if (need <= s->free)
		return true;
	refuse(f->x, f->up ? f->remote : f->local, need);
	return false;
}

/* The server's answer came when some files had begun: checks these. */
static void
check_begun(struct xfer *x)
{
	struct xfer_file *f;
	uint64_t need;

	TAILQ_FOREACH(f, &x->files.active, entry) {
		if (x->space.state != XFER_SPACE_KNOWN || x->space.tree)
			return;
		if (f->dir != NULL || !f->progress.begun)
			continue;
		need = counted(f);
		if (need > x->space.free) {
			refuse(x, f->up ? f->remote : f->local, need);
			return;
		}
	}
}

/* Checks a tree, all of which is listed. */
static void
check_tree(struct xfer *x)
{
	struct xfer_space *s = &x->space;
	uint64_t left = s->needed - MIN(s->needed, x->measured.acked);

	if (left > s->free)
		refuse(x, s->path, left);
	s->state = XFER_SPACE_OFF;
}

/* Is all of the tree new at the target, so that it replaces nothing? */
static bool
is_new_tree(struct xfer *x)
{
	const struct xfer_dir *d;

	TAILQ_FOREACH(d, &x->dirs.all, all)
		if (d->parent == NULL && d->state == XFER_DIR_FOUND)
			return false;
	return true;
}

/* Finds a directory of the tree on this host that is made already, to ask for
 * free space there. */
static bool
find_root(struct xfer *x)
{
	struct xfer_dir *d;

	TAILQ_FOREACH(d, &x->dirs.all, all)
		if (d->at != NULL) {
			x->space.at = local_dir_ref(d->at);
			return true;
		}
	return false;
}

void
xfer_space_turn(struct xfer *x)
{
	struct xfer_space *s = &x->space;

	if (!x->opts.check_space || s->path == NULL || x->stopped)
		return;
	if (s->tree && s->state == XFER_SPACE_NEW && !xfer_listed(x))
		return;
	if (s->tree && (!is_new_data(x) || !is_new_tree(x)))
		s->state = XFER_SPACE_OFF;
	if (s->tree && s->state == XFER_SPACE_KNOWN) {
		check_tree(x);
		return;
	}
	if (s->state != XFER_SPACE_NEW || s->needed < SPACE_MIN)
		return;
	if (s->up && xfer_has(x, SFTP_EXT_STATVFS))
		ask_server(x);
	else if (!s->up && (s->at != NULL || find_root(x)))
		ask_here(x);
}

void
xfer_space_free(struct xfer *x)
{
	local_dir_unref(x->space.at);
	free(x->space.path);
}

/* --- a disk that is full --- */

struct asking {
	struct xfer_file *file;
	char words[SFTP_WORDS_MAX];
};

/* Answer of statvfs after a WRITE failed. If less is free than what is left of
 * the file, the report says that the disk is full. */
static void
reason_known(void *arg, const struct sftp_reply *reply)
{
	struct asking *a = arg;
	struct xfer_file *f = a->file;
	struct xfer_space s = { .free = 0 };
	uint64_t left = f->source.size - MIN(f->source.size,
	    f->progress.moved);
	bool full;

	f->pending--;
	if (reply->err == ERR_CANCELLED) {
		free(a);
		return;
	}
	take_reply(&s, reply);
	full = s.state == XFER_SPACE_KNOWN && s.free < MAX(left, (uint64_t)1);
	xfer_report(f->x, f->remote, full ? strerror(ENOSPC) : a->words);
	free(a);
	xfer_file_touch(f);
}

void
xfer_write_refused(struct xfer_file *f, const struct sftp_reply *reply)
{
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_STATVFS,
		.path = f->part.name != NULL ? f->part.name : f->remote };
	bool silent = reply->status == SFTP_FAILURE &&
	    strcmp(reply->words, sftp_status_text(SFTP_FAILURE)) == 0;
	struct asking *a = silent && xfer_has(f->x, SFTP_EXT_STATVFS) ?
	    malloc(sizeof *a) : NULL;

	if (a == NULL) {
		xfer_report_reply(f->x, f->remote, reply);
		return;
	}
	a->file = f;
	strlcpy(a->words, reply->words, sizeof a->words);
	f->pending++;
	xfer_request_path(f->x, &q, reason_known, a);
}
