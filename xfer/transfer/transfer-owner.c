/* SPDX-License-Identifier: ISC */
/*
 * Whose is the old part of an upload?
 *
 * In a directory that others may write to, a part may have been put there by
 * one of them, who could then change it after it has got the target's name.
 * The protocol tells whose a file is, but not who we are. So a probe, a file
 * under a name that nobody else uses, is made and its owner is read. That is
 * done once, and only when there is an old part. Our own server refuses parts
 * of others itself. The time of the probe is the time at the server.
 *
 * A part that this run has made may be another file after a break. Of an empty
 * one only its attributes tell. They are asked for when the part is made, by
 * LSTAT directly behind OPEN, so that no break comes between the two answers.
 */
#include <sys/stat.h>

#include <stdlib.h>

#include "xfer/transfer/transfer-internal.h"

enum { ABANDONED_S = 3600 };

static void
made_seen(void *arg, const struct sftp_reply *reply)
{
	const struct sftp_attrs *a = &reply->attrs;
	struct xfer_file *f = arg;
	const struct xfer_handle *e = TAILQ_FIRST(&f->handles);

	f->pending--;
	if (reply->err != 0)
		return;
	/* Unless OPEN has made the part, it is another file. */
	if (reply->type == SFTP_ATTRS && e != NULL &&
	    e->state == XFER_HANDLE_OPEN &&
	    (a->flags & SFTP_A_MODE) && S_ISREG(a->mode) &&
	    (a->flags & SFTP_A_SIZE) && a->size == 0)
		xfer_made_written(f, a);
	xfer_file_touch(f);
}

void
xfer_made_look(struct xfer_file *f, struct xfer_stream *stream)
{
	const struct xfer *x = f->x;

	if (!f->up || (x->opts.retries == 0 && x->stream_count < 2))
		return; /* nothing goes on after a break */
	f->pending++;
	sftp_path_request(stream->s, SFTP_LSTAT, f->part.name, made_seen, f);
}

bool
xfer_made_is(const struct xfer_file *f, const struct sftp_attrs *found)
{
	const uint32_t known = SFTP_A_SIZE | SFTP_A_TIMES | SFTP_A_MODE;

	return f->made.ours && (found->flags & known) == known &&
	    S_ISREG(found->mode) && xfer_same_attrs(&f->made.attrs, found);
}

void
xfer_owner_learn(struct xfer *x, const struct sftp_attrs *made)
{
	/* Without SFTP_A_OWNER no part will ever differ from the probe. */
	x->owner.attrs = (struct sftp_attrs){ .uid = made->uid,
		.mtime = made->mtime,
		.flags = made->flags & (SFTP_A_OWNER | SFTP_A_TIMES) };
	x->owner.known = true;
}

bool
xfer_owner_differs(const struct xfer_file *f, const struct sftp_attrs *part)
{
	return f->up &&
	    (part->flags & f->x->owner.attrs.flags & SFTP_A_OWNER) &&
	    part->uid != f->x->owner.attrs.uid;
}

static bool
is_of_earlier_try(const struct xfer *x)
{
	return x->opts.locked.is &&
	    (x->opts.locked.later || x->retry.begun);
}

bool
xfer_part_is_abandoned(const struct xfer_file *f)
{
	const struct xfer_stream *first = xfer_stream_first(f->x);
	const struct sftp_attrs *made = &f->x->owner.attrs;

	if (!f->up || is_of_earlier_try(f->x) ||
	    (first != NULL && sftp_server(first->s) == SFTP_SERVER_OWN))
		return true;
	return (made->flags & f->part.old.flags & SFTP_A_TIMES) &&
	    made->mtime >= f->part.old.mtime &&
	    made->mtime - f->part.old.mtime >= ABANDONED_S;
}

bool
xfer_owner_probe(struct xfer_file *f)
{
	struct xfer_stream *first = xfer_stream_first(f->x);

	if (!f->up || xfer_in_temp(f) || f->x->owner.known || first == NULL ||
	    sftp_server(first->s) == SFTP_SERVER_OWN ||
	    (f->part.old.flags & SFTP_A_OWNER) == 0)
		return false;
	xfer_opening_probe(f, xfer_probe_name(f->remote));
	if (f->opening.probe == NULL)
		return false;
	xfer_file_enter(f, XFER_OPENING);
	xfer_opening_begins(f);
	xfer_handle_open(f, first, f->opening.probe,
	    SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
	/* The open handle needs no name. REMOVE is sent at once, so that
	 * nothing is left behind when this program is killed. */
	sftp_path_request(first->s, SFTP_REMOVE, f->opening.probe, NULL, NULL);
	return true;
}

static void
probe_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_handle *e = arg;
	struct xfer_file *f = e->file;

	if (!xfer_handle_answered(e, reply))
		return;
	if (reply->type == SFTP_ATTRS)
		xfer_owner_learn(f->x, &reply->attrs);
	xfer_opening_inspected(f, true);
	xfer_file_touch(f);
}

bool
xfer_owner_probe_opened(struct xfer_file *f)
{
	struct xfer_handle *e = TAILQ_FIRST(&f->handles);
	bool lost = e == NULL && f->opening.status == 0;

	if (e != NULL && !f->opening.inspected && !f->failed) {
		xfer_handle_fstat(e, probe_seen);
		return true;
	}
	xfer_handles_drop(f);
	xfer_owner_probe_drop(f);
	if (f->failed || lost)
		return false;
	/* If our owner is still unknown, the old part is not used. */
	xfer_part_foreign(f, !f->x->owner.known);
	xfer_file_choose_reuse(f);
	return true;
}

/* Removes the probe a second time: the session may have ended before the first
 * REMOVE, or the server may have executed it before OPEN, or refuse it for
 * open files. */
void
xfer_owner_probe_drop(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->opening.probe };

	if (f->opening.probe == NULL)
		return;
	xfer_request_path(f->x, &q, NULL, NULL);
	xfer_opening_forget(f);
}
