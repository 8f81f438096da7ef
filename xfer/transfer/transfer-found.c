/* SPDX-License-Identifier: ISC */
/*
 * What a copy finds at its target: the server is asked, and an old part that
 * cannot show that it is a part of this file (transfer-resume.c) is passed
 * over. transfer-reuse.c decides what is used of the rest. Before anything of a
 * target is touched the server is asked whether it may be written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/transfer/transfer-internal.h"

/* Appends to the target, which is taken for the beginning of the source without
 * a comparison. */
static void
append(struct xfer_file *f)
{
	if (f->target.attrs.size > f->source.size) {
		xfer_report(f->x, f->up ? f->remote : f->local,
		    "cannot resume: the target is larger than the source");
		f->failed = true;
		xfer_file_done(f);
	} else if (f->target.attrs.size == f->source.size) {
		progress_keep(&f->item, f->source.size);
		xfer_file_done(f);
	} else {
		xfer_part_named(f, NULL);
		xfer_target_use(f, XFER_REUSE_TRUSTED);
		xfer_file_open(f);
	}
}

/* Can the content of the old part show whether it is a part of this file? An
 * empty old part is accepted as well: it has nothing that could be lost. */
static bool
may_be_part(const struct xfer_file *f)
{
	const struct sftp_attrs *old = &f->part.old;

	if ((old->flags & SFTP_A_MODE) && S_ISREG(old->mode) &&
	    (old->flags & SFTP_A_SIZE) && old->size == 0)
		return true;
	return xfer_is_full_file(old) && f->source.size > 0;
}

static void
plan_known(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_part_planned(f, reply->err == 0 && reply->status == SFTP_OK);
	xfer_path_answered(f, reply);
}

/* Asks the server whether the part's name is also the name of a source in the
 * tree that is downloaded. True if the question was sent. */
static bool
asks_plan(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_LSTAT };
	const char *slash = strrchr(f->remote, '/');
	char *path;

	if (f->up || f->dir == NULL || !f->resume || f->part.plan_asked)
		return false;
	if (asprintf(&path, "%.*s%s", slash == NULL ? 0 :
		(int)(slash + 1 - f->remote), f->remote,
		xfer_part_local(f)) < 0)
		return false;
	xfer_part_plan_asked(f);
	f->pending++;
	q.path = path;
	xfer_request_path(f->x, &q, plan_known, f);
	free(path);
	return true;
}

void
xfer_file_choose_reuse(struct xfer_file *f)
{
	bool digests = xfer_has(f->x, SFTP_EXT_CHECK_FILE);
	bool there = f->resume && f->part.name != NULL && f->part.there;

	xfer_target_known(f);
	if (f->failed) { /* stopped meanwhile */
		xfer_file_done(f);
		return;
	}
	if (f->part.old_nlink > 1) /* a part of ours has only one name */
		xfer_part_unused(f);
	if (xfer_owner_differs(f, &f->part.old))
		xfer_part_foreign(f, true);
	if (f->part.foreign || f->part.planned)
		xfer_part_unused(f);
	if (there && !may_be_part(f) && !f->made.ours) {
		xfer_part_pass(f);
		return;
	}
	there = there && may_be_part(f);
	if (!there)
		xfer_part_unused(f);
	if (there && asks_plan(f))
		return;
	if (f->x->opts.append && f->resume &&
	    xfer_is_full_file(&f->target.attrs) && !there) {
		append(f);
		return;
	}
	if (f->resume && f->source.size > 0 && !digests &&
	    !f->x->noted.no_digests) {
		f->x->noted.no_digests = true;
		xfer_note(f->x, NULL, "the server has no digests: what is "
		    "there is trusted by size and time");
	}
	if (there && xfer_owner_probe(f))
		return;
	if (there && f->part.old.size == 0 &&
	    !xfer_made_is(f, &f->part.old) && !xfer_part_is_abandoned(f)) {
		xfer_part_pass(f);
		return;
	}
	if (there && f->part.old.size == 0) {
		xfer_target_use(f, XFER_REUSE_CHECKED);
		xfer_file_open(f);
		return;
	}
	xfer_reuse_begin(f);
}

static void
target_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		xfer_target_found(f, &reply->attrs);
	xfer_target_skip_replaced(f);
	xfer_path_answered(f, reply);
}

static void
old_part_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_part_old(f, reply->err == 0 && reply->type == SFTP_ATTRS ?
		&reply->attrs : NULL);
	xfer_path_answered(f, reply);
}

static void
old_part_names(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct xfer_exact exact;

	f->pending--;
	if (xfer_exact_from_reply(&exact, reply))
		xfer_part_old_names(f, exact.nlink);
	xfer_path_answered(f, reply);
}

static void
stat_part(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = f->part.name };

	xfer_part_old_names(f, 0);
	f->pending++;
	xfer_request_path(f->x, &q, old_part_done, f);
	if (!xfer_has(f->x, SFTP_EXT_STAT_NS))
		return;
	q.type = SFTP_EXTENDED;
	q.ext = SFTP_EXT_STAT_NS;
	f->pending++;
	xfer_request_path(f->x, &q, old_part_names, f);
}

static void
target_exact(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_target_numbered(f, reply);
	xfer_path_answered(f, reply);
}

void
xfer_target_stat(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_LSTAT, .path = f->remote };

	f->pending++;
	if (f->part.name != NULL && f->resume)
		stat_part(f);
	/* A directory that this run has made is empty, except for files that
	 * lost streams have made in it. */
	if ((f->dir == NULL || f->dir->state != XFER_DIR_MADE ||
		f->x->retry.begun) &&
	    (f->part.name != NULL || f->resume || f->x->opts.links ||
		f->duty != NULL ||
		f->x->opts.hard_links)) {
		f->pending++;
		xfer_request_path(f->x, &q, target_done, f);
		q.type = SFTP_EXTENDED;
		q.ext = SFTP_EXT_STAT_NS;
		if (f->resume && (xfer_sets(f) & SFTP_A_TIMES) &&
		    xfer_has(f->x, q.ext)) {
			f->pending++;
			xfer_request_path(f->x, &q, target_exact, f);
		}
	}
	f->pending--;
}

/* --- may it be written, and how much old content has it? --- */

bool
xfer_overwrites(const struct xfer_file *f)
{
	return f->part.name == NULL && f->target.reuse == XFER_REUSE_NOTHING;
}

struct asking {
	struct xfer_file *file;
	struct sftp *s;
};

/* Answer to the OPEN that only asks whether the target may be written. A handle
 * is closed at once. */
static void
writable_done(void *arg, const struct sftp_reply *reply)
{
	struct asking *asking = arg;
	struct xfer_file *f = asking->file;
	struct sftp *s = asking->s;
	struct sftp_handle h;

	free(asking);
	f->pending--;
	if (reply->err != 0)
		return;
	if (reply->status == SFTP_OK) {
		sftp_keep_handle(&h, reply);
		sftp_close(s, &h, NULL, NULL);
	}
	xfer_target_refused(f, reply->status == SFTP_PERMISSION_DENIED);
	xfer_file_touch(f);
}

void
xfer_target_ask(struct xfer_file *f, struct xfer_stream *stream)
{
	struct asking *asking = malloc(sizeof *asking);

	if (asking == NULL) {
		xfer_report_errno(f->x, f->remote, ENOMEM);
		xfer_file_fail(f);
		return;
	}
	*asking = (struct asking){ .file = f, .s = stream->s };
	f->pending++;
	sftp_open(stream->s, f->remote, SFTP_O_WRITE, NULL, writable_done,
	    asking);
}

/* Notes how much old content the target has, because no hole may be left in it.
 * A device tells no size, so all of it counts as old content. */
static void
target_inspected(void *arg, const struct sftp_reply *reply)
{
	const struct sftp_attrs *a = &reply->attrs;
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	if (!xfer_handle_answered(e, reply))
		return;
	xfer_target_opened(f, UINT64_MAX);
	if (reply->type == SFTP_ATTRS && (a->flags & SFTP_A_SIZE) &&
	    !((a->flags & SFTP_A_MODE) && !S_ISREG(a->mode)))
		xfer_target_opened(f, a->size);
	xfer_file_touch(f);
}

bool
xfer_target_inspect(struct xfer_file *f, struct xfer_handle *e)
{
	if (f->opening.inspected || !f->x->opts.sparse)
		return false;
	xfer_opening_inspected(f, true);
	xfer_handle_fstat(e, target_inspected);
	return true;
}
