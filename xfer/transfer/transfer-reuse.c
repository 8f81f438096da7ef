/* SPDX-License-Identifier: ISC */
/*
 * What is there already, and which of it is looked at: an old part, which must
 * show that it is one (transfer-resume.c) before it is written, else the next
 * name is looked at; or the target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xfer/transfer/transfer-internal.h"

static bool
is_file(const struct sftp_attrs *a)
{
	return (a->flags & SFTP_A_MODE) && S_ISREG(a->mode) &&
	    (a->flags & SFTP_A_SIZE) && a->size > 0;
}

/* The target is the beginning of the source, without a comparison. */
static void
append(struct xfer_file *f)
{
	if (f->target.attrs.size > f->source.size) {
		xfer_report(f->x, f->up ? f->remote : f->local,
		    "cannot resume: the target is larger than the source");
		f->failed = true;
		xfer_file_done(f);
	} else if (f->target.attrs.size == f->source.size) {
		progress_add(f->x->opts.progress, &f->item, f->source.size);
		xfer_file_done(f);
	} else {
		free(f->part.name);
		f->part.name = NULL;
		f->target.reuse = XFER_REUSE_TRUSTED;
		xfer_file_open(f);
	}
}

/* Can it be seen whether that is a part of this file? An empty one has nothing
 * that could be lost; but it may be one that another copy has just made, which
 * its hold tells. */
static bool
may_be_part(const struct xfer_file *f, bool digests)
{
	const struct sftp_attrs *old = &f->part.old;

	if ((old->flags & SFTP_A_MODE) && S_ISREG(old->mode) &&
	    (old->flags & SFTP_A_SIZE) && old->size == 0)
		return !f->up || xfer_has(f->x, SFTP_EXT_RENAME_PART);
	return is_file(old) && f->source.size > 0 &&
	    (digests || old->size > f->source.size);
}

static void
plan_known(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	f->part.planned = reply->err == 0 && reply->status == SFTP_OK;
	xfer_path_answered(f, reply);
}

/* Is it a name of the tree that is downloaded? True: the server is asked. */
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
	f->part.plan_asked = true;
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
	bool same_size =
	    is_file(&f->target.attrs) && f->target.attrs.size == f->source.size;
	bool there = f->resume && f->part.name != NULL && f->part.there;

	f->target.known = true;
	if (f->failed) { /* stopped meanwhile */
		xfer_file_done(f);
		return;
	}
	if (f->part.old_nlink > 1) /* what is another file's too is not ours */
		f->part.old.flags = 0;
	f->part.foreign |= xfer_owner_differs(f, &f->part.old);
	if (f->part.foreign || f->part.planned)
		f->part.old.flags = 0;
	if (there && !may_be_part(f, digests) && !f->part_ours) {
		xfer_part_pass(f);
		return;
	}
	there = there && may_be_part(f, digests);
	if (there && asks_plan(f))
		return;
	if (f->x->opts.append && f->resume && is_file(&f->target.attrs) &&
	    !there) {
		append(f);
		return;
	}
	if (!f->resume || (f->source.size == 0 && !there)) {
		xfer_file_open(f);
		return;
	}
	if (!digests && !f->x->noted.no_digests) {
		f->x->noted.no_digests = true;
		xfer_note(f->x, NULL, "the server has no digests: what is "
		    "there is trusted by size and time");
	}
	if (there && xfer_owner_probe(f)) {
		return;
	} else if (there) {
		f->target.reuse = XFER_REUSE_CHECKED;
		f->part.unproven = f->part.old.size > 0 && !f->part_ours;
	} else if (same_size && digests) {
		f->target.reuse = XFER_REUSE_WHOLE;
	} else if (same_size && !digests &&
	    (f->target.attrs.flags & f->source.attrs.flags & SFTP_A_TIMES) &&
	    f->target.attrs.mtime == f->source.attrs.mtime) {
		progress_add(f->x->opts.progress, &f->item, f->source.size);
		xfer_file_done(f);
		return;
	} else if (f->part.name == NULL && is_file(&f->target.attrs) &&
	    digests) {
		f->target.reuse = XFER_REUSE_CHECKED;
	}
	xfer_file_open(f);
}

static void
target_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		f->target.attrs = reply->attrs;
	xfer_target_skip_replaced(f);
	xfer_path_answered(f, reply);
}

static void
old_part_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	f->part.there = reply->err == 0 && reply->type == SFTP_ATTRS;
	if (f->part.there)
		f->part.old = reply->attrs;
	xfer_path_answered(f, reply);
}

static void
old_part_names(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct xfer_exact exact;

	f->pending--;
	if (xfer_exact_from_reply(&exact, reply))
		f->part.old_nlink = exact.nlink;
	xfer_path_answered(f, reply);
}

static void
stat_part(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = f->part.name };

	f->part.old_nlink = 0;
	f->pending++;
	xfer_request_path(f->x, &q, old_part_done, f);
	if (!xfer_has(f->x, SFTP_EXT_STAT_NS))
		return;
	q.type = SFTP_EXTENDED;
	q.ext = SFTP_EXT_STAT_NS;
	f->pending++;
	xfer_request_path(f->x, &q, old_part_names, f);
}

void
xfer_target_stat(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = f->remote };

	f->pending++;
	if (f->part.name != NULL && f->resume)
		stat_part(f);
	/* A directory that was made just now is empty. */
	if ((f->dir == NULL || f->dir->state != XFER_DIR_MADE) &&
	    (f->part.name != NULL || f->resume || f->x->opts.links)) {
		f->pending++;
		xfer_request_path(f->x, &q, target_done, f);
	}
	f->pending--;
}
