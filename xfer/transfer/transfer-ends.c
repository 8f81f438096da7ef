/* SPDX-License-Identifier: ISC */
/* The ends of a file: its handles at the server, one for each lane that moves
 * its data. */
#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

static void
end_uncount(struct xfer_end *e)
{
	if (e->counted)
		e->lane->ends--;
	e->counted = false;
}

void
xfer_end_free(struct xfer_end *e)
{
	ENSURE(e->pending == 0);
	end_uncount(e);
	if (e->moving)
		TAILQ_REMOVE(&e->lane->moving, e, turn);
	TAILQ_REMOVE(&e->file->ends, e, entry);
	free(e);
}

/* The server is done with the handle before it sees what is sent later. */
void
xfer_end_close(struct xfer_end *e, sftp_done_fn done)
{
	e->open = false;
	e->closed = true;
	end_uncount(e);
	if (done != NULL) {
		e->pending++;
		e->file->pending++;
	}
	sftp_close(e->lane->s, &e->handle, done, e);
}

struct xfer_end *
xfer_main_end(struct xfer_file *f)
{
	struct xfer_end *e;

	TAILQ_FOREACH(e, &f->ends, entry)
		if (!e->closed)
			break;
	return e;
}

void
xfer_ends_drop(struct xfer_file *f)
{
	struct xfer_end *e;

	while ((e = TAILQ_FIRST(&f->ends)) != NULL) {
		if (e->open)
			xfer_end_close(e, NULL);
		xfer_end_free(e);
	}
}

static bool
is_source(const struct xfer_file *f, const struct sftp_reply *reply)
{
	const uint32_t known = SFTP_A_SIZE | SFTP_A_TIMES;

	return reply->type == SFTP_ATTRS &&
	    (reply->attrs.flags & known) == known &&
	    reply->attrs.size == f->attrs.size &&
	    reply->attrs.mtime == f->attrs.mtime;
}

/* Else its name may be that of another file by now: others do without this
 * end, and where there is none the file is not gone on with. */
static void
source_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_end *e = arg;
	struct xfer_file *f = e->file;

	e->pending--;
	f->pending--;
	if (reply->err != 0)
		return;
	if (is_source(f, reply)) {
		e->open = true;
		xfer_end_wake(e);
	} else if (f->state == XFER_MOVING && TAILQ_FIRST(&f->ends) != e) {
		f->crowded = true;
		xfer_end_close(e, NULL);
		xfer_end_free(e);
	} else {
		xfer_report(f->x, f->remote,
		    "changed while it was being read");
		e->open = true;
		xfer_file_fail(f);
	}
	xfer_file_settle(f);
}

/* A further handle of a source, whose file was replaced or has grown, would
 * be that of another: it is opened by name. True: it is asked. */
static bool
look_at_source(struct xfer_end *e)
{
	struct xfer_file *f = e->file;
	/* Digests tell more than a time does. */
	bool trusts = f->keep && !xfer_has(f->x, SFTP_EXT_CHECK_FILE);

	if (f->up || !(f->begun || trusts) || f->whole || f->size == 0 ||
	    (f->attrs.flags & SFTP_A_TIMES) == 0)
		return false;
	e->pending++;
	f->pending++;
	sftp_handle_request(e->lane->s, SFTP_FSTAT, &e->handle, source_seen,
	    e);
	return true;
}

static void
open_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_end *e = arg;
	struct xfer_file *f = e->file;
	uint64_t took = loop_now_ms() - e->asked_ms + 1;

	e->pending--;
	f->pending--;
	f->part_ours |= !f->keep && !f->whole && (reply->err != 0 ||
	    reply->status == SFTP_OK);
	if (reply->err != 0)
		return;
	if (reply->status == SFTP_OK) {
		if (e->lane->rtt_ms == 0 || took < e->lane->rtt_ms)
			e->lane->rtt_ms = took;
		sftp_keep_handle(&e->handle, reply);
		if (look_at_source(e))
			return;
		e->open = true;
		xfer_end_wake(e);
	} else {
		f->status = reply->status;
		f->crowded = true;
		xfer_end_free(e);
	}
	xfer_file_settle(f);
}

void
xfer_end_open(struct xfer_file *f, struct xfer_lane *lane, const char *path,
    uint32_t flags)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE };
	struct xfer_end *e = calloc(1, sizeof *e);

	if (e == NULL) {
		xfer_report_errno(f->x, f->remote, ENOMEM);
		xfer_file_fail(f);
		xfer_file_settle(f);
		return;
	}
	e->file = f;
	e->lane = lane;
	e->asked_ms = loop_now_ms();
	e->counted = true;
	lane->ends++;
	TAILQ_INSERT_TAIL(&f->ends, e, entry);
	a.mode = xfer_part_first_mode(f);
	if (f->part != NULL && f->size > f->chunk)
		a.mode |= XFER_MODE_PART;
	e->pending++;
	f->pending++;
	sftp_open(lane->s, path, flags,
	    flags & SFTP_O_CREAT ? &a : NULL, open_done, e);
}

const char *
xfer_open_name(const struct xfer_file *f)
{
	return f->up && f->part != NULL && !f->whole ? f->part : f->remote;
}

uint32_t
xfer_open_flags(const struct xfer_file *f)
{
	if (!f->up || f->whole)
		return SFTP_O_READ;
	return SFTP_O_WRITE |
	    (f->resume || f->x->opts.verify ? SFTP_O_READ : 0u);
}

void
xfer_file_spread(struct xfer_file *f, struct xfer_lane *lane)
{
	xfer_end_open(f, lane, xfer_open_name(f), xfer_open_flags(f));
}
