/* SPDX-License-Identifier: ISC */
/*
 * What is used of what is there already: xfer/reuse-plan.h decides, by what
 * is known of source, target and part.
 */
#include <time.h>

#include "xfer/reuse-plan.h"
#include "xfer/transfer/transfer-internal.h"

static bool
is_file(const struct sftp_attrs *a)
{
	return (a->flags & SFTP_A_MODE) && S_ISREG(a->mode) &&
	    (a->flags & SFTP_A_SIZE);
}

bool
xfer_is_full_file(const struct sftp_attrs *a)
{
	return is_file(a) && a->size > 0;
}

/* True if a target or an old part of f is worth a look. With -p this is so even
 * for an empty source, because the target may have the right time already. */
bool
xfer_may_resume(const struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;

	if (!f->resume && !o->resume)
		return false;
	/* The directory was made by this run, so it has nothing in it, except
	 * what lost streams have made. */
	if (f->dir != NULL && f->dir->state == XFER_DIR_MADE &&
	    !f->x->retry.begun)
		return false;
	if (f->source.size == 0 && (xfer_sets(f) & SFTP_A_TIMES) == 0)
		return false;
	if (f->up && xfer_there_lacks(f))
		return false;
	return f->up || f->target.attrs.flags != 0 || f->part.old.flags != 0;
}

static struct reuse_time
mtime_of(const struct sftp_attrs *a, const struct xfer_exact *e)
{
	struct timespec times[2];

	xfer_times(a, e, times);
	return (struct reuse_time){ .exact = e->known,
		.known = e->known || (a->flags & SFTP_A_TIMES) != 0,
		.sec = times[1].tv_sec, .nsec = (uint32_t)times[1].tv_nsec };
}

static bool
same_time(const struct xfer_file *f)
{
	struct reuse_time ours = mtime_of(&f->source.attrs, &f->source.exact);
	struct reuse_time there = mtime_of(&f->target.attrs, &f->target.exact);

	return reuse_same_time(&ours, &there, time(NULL));
}

/* Has the target the mode that the copy would give it? */
static bool
same_mode(const struct xfer_file *f)
{
	const struct sftp_attrs *ours = &f->source.attrs;

	return (ours->flags & SFTP_A_MODE) == 0 ||
	    (f->target.attrs.mode & XFER_MODE_KEPT) ==
	    (ours->mode & XFER_MODE_PRESERVED);
}

static unsigned
facts_of_options(const struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;
	unsigned facts = 0;

	facts |= f->resume ? REUSE_WANTED : 0;
	facts |= xfer_sets(f) & SFTP_A_TIMES ? REUSE_PRESERVES : 0;
	facts |= o->verify ? REUSE_VERIFIES : 0;
	facts |= xfer_has(f->x, SFTP_EXT_CHECK_FILE) ? REUSE_DIGESTS : 0;
	facts |= f->part.name == NULL ? REUSE_IN_PLACE : 0;
	return facts;
}

/* Chooses what is used of target and part. A source that tells no size is read
 * to its end, and has no size to compare. */
static enum reuse_plan
plan(const struct xfer_file *f)
{
	const struct sftp_attrs *there = &f->target.attrs;
	unsigned facts = facts_of_options(f);

	if (f->part.name != NULL && f->source.size > 0 &&
	    xfer_is_full_file(&f->part.old))
		facts |= REUSE_PART;
	/* The plan has compared size and time of the target already. */
	if (f->duty != NULL && is_file(there) && f->source.size > 0 &&
	    there->size > 0)
		facts |= REUSE_TARGET | REUSE_CONTENT;
	if (f->duty == NULL && is_file(there) &&
	    (f->source.attrs.flags & SFTP_A_SIZE)) {
		facts |= REUSE_TARGET;
		facts |= f->source.size > 0 && there->size > 0 ?
		    REUSE_CONTENT : 0;
		facts |= there->size == f->source.size ? REUSE_SAME_SIZE : 0;
		facts |= same_time(f) ? REUSE_SAME_TIME : 0;
		facts |= same_mode(f) ? REUSE_SAME_MODE : 0;
	}
	return reuse_plan(facts);
}

/* Keeps a target that is complete. Nothing is opened. */
static void
keep(struct xfer_file *f)
{
	progress_keep(&f->item, f->source.size);
	xfer_file_done(f);
}

bool
xfer_reuse_listed(struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;

	if (!f->resume || f->duty != NULL || !o->preserve || o->verify ||
	    o->append || o->hard_links || f->source.symlink ||
	    !f->source.exact.known)
		return false;
	if (f->up ? !xfer_there_find(f) : f->target.attrs.flags == 0 ||
	    f->part.old.flags != 0)
		return false;
	if (plan(f) == REUSE_PLAN_KEEP) {
		keep(f);
		return true;
	}
	xfer_target_forget(f);
	return false;
}

void
xfer_reuse_begin(struct xfer_file *f)
{
	switch (plan(f)) {
	case REUSE_PLAN_KEEP:
		keep(f);
		return;
	case REUSE_PLAN_ATTRS:
		xfer_target_complete(f);
		break;
	case REUSE_PLAN_COMPARE:
		xfer_target_use(f, XFER_REUSE_WHOLE);
		break;
	case REUSE_PLAN_PART:
		xfer_part_unproven(f);
		xfer_target_use(f, XFER_REUSE_CHECKED);
		break;
	case REUSE_PLAN_TARGET:
		xfer_target_use(f, XFER_REUSE_CHECKED);
		break;
	case REUSE_PLAN_NOTHING:
		break;
	}
	xfer_file_open(f);
}
