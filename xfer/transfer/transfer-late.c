/* SPDX-License-Identifier: ISC */
/*
 * What a stream that is silent may still do. Its server may have been stopped,
 * or hang in a disk, and carry out what it was sent at any later time: also
 * when the file has its final name, and somebody has changed it since. So a
 * part that such a stream has open for writing is never finished: the file goes
 * on with another one.
 *
 * Whether the stream alone is silent, or the whole path, shows when another
 * stream answers. Until then its files wait. If no stream answers, all streams
 * are lost.
 *
 * Streams that end otherwise have told that their session is over; but the
 * server's end may not know it yet, or hang. Our server shows that: it refuses
 * to open a part anew, and to rename it, while another handle of the same copy
 * is open. Then the file goes on with another part, too.
 *
 * A target that is written in place has no other name, so late writes may hit
 * it: they bring bytes of the same source.
 *
 * So that an outage costs no data, the server copies the old part to the other
 * one (copy-data), and the old one is removed: what comes late goes to a file
 * without a name. Where the server cannot copy, or little would be lost, the
 * file is written anew. What has the old part's name may be somebody else's
 * file by now. It is taken for the part, and removed, only if its first block
 * is the source's. It is copied only if the new part has its owner and mode, so
 * that nobody may read what he could not read before. The copy then shows what
 * it is, as any part after a break.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

/* --- which files are late --- */

bool
xfer_late_begins(struct xfer_file *f, const struct xfer_stream *l, bool opened)
{
	if (f->late.state != XFER_LATE_NO)
		return true;
	if (!f->up || f->part.name == NULL || !opened || f->part.unproven)
		return false;
	xfer_made_lane_lost(f);
	if (sftp_error(l->s) != ERR_TIMEOUT)
		return false;
	f->late.state = XFER_LATE_DOUBT;
	return true;
}

/* Has f go on with another part. */
static void
renew(struct xfer_file *f)
{
	f->late.state = XFER_LATE_NO;
	xfer_made_late(f);
	xfer_file_go_on(f);
}

void
xfer_late_settle(struct xfer_file *f)
{
	if (f->late.state == XFER_LATE_SURE && f->pending == 0 &&
	    f->blocks == 0 && f->compare.pending == 0)
		renew(f);
}

bool
xfer_late_refused(struct xfer_file *f, uint32_t status)
{
	const struct xfer_stream *first = xfer_stream_first(f->x);

	if (status != SFTP_FAILURE || !f->up || f->part.name == NULL ||
	    !f->made.ours || !f->made.lane_lost || first == NULL ||
	    !sftp_has(first->s, SFTP_EXT_RENAME_PART))
		return false;
	xfer_made_late(f);
	return true;
}

void
xfer_late_doubt(struct xfer *x)
{
	struct xfer_stream *l;

	x->retry.in_doubt = true;
	TAILQ_FOREACH(l, &x->streams, entry)
		l->watch.in_doubt = sftp_received(l->s);
	xfer_streams_probe(x);
}

static bool
any_answers(const struct xfer *x)
{
	const struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_error(l->s) == 0 && sftp_has_version(l->s) &&
		    sftp_received(l->s) != l->watch.in_doubt)
			return true;
	return false;
}

void
xfer_late_decide(struct xfer *x)
{
	struct xfer_file *f, *next;
	bool all_lost = x->stream_count == 0;

	if (!x->retry.in_doubt || !(all_lost || any_answers(x)))
		return;
	x->retry.in_doubt = false;
	for (f = TAILQ_FIRST(&x->files.active); f != NULL; f = next) {
		next = TAILQ_NEXT(f, entry);
		if (f->late.state == XFER_LATE_NO)
			continue;
		f->late.state = XFER_LATE_SURE;
		xfer_late_settle(f);
	}
}

/* --- the part is copied --- */

enum { BLOCK_BYTES = 32 * 1024 };
#define PIECE_BYTES (UINT64_C(128) * 1024 * 1024)

/* A file that is open for the copy. */
struct side {
	struct sftp_handle handle;
	bool open;
	struct sftp_attrs attrs; /* flags 0: unknown */
};

struct xfer_late_copy {
	char *from;		 /* owned; the old part */
	unsigned number;	 /* of its name */
	struct xfer_made was;	 /* what was known of it */
	enum {
		COPY_LOOK,	 /* what has the old part's name? */
		COPY_OPEN,
		COPY_PROVE,
		COPY_MOVE,
		COPY_CLOSE,	 /* of the new part, which may fail */
		COPY_END,
		COPY_CLEAR,	 /* the new part goes; it is tried again */
	} step;
	struct sftp *s;
	struct side old, fresh;
	bool numbered;		 /* fresh was opened with the copy's number */
	bool lost;		 /* the session has ended */
	bool refused;		 /* something was; the name of fresh is taken */
	bool differs;		 /* the first block is not the source's */
	bool copied;
	uint64_t at;		 /* bytes that are copied */
	uint32_t want, got;	 /* bytes of the first block */
};

void
xfer_late_copy_free(struct xfer_file *f)
{
	if (f->late.copy != NULL)
		free(f->late.copy->from);
	free(f->late.copy);
	f->late.copy = NULL;
}

/* Counts an answer. False: there is none, as the session has ended. */
static bool
answered(struct xfer_file *f, const struct sftp_reply *reply)
{
	f->pending--;
	f->late.copy->lost |= reply->err != 0;
	xfer_path_answered(f, reply);
	return reply->err == 0;
}

static void
opened(struct xfer_file *f, struct side *side, const struct sftp_reply *reply)
{
	if (!answered(f, reply))
		return;
	side->open = reply->status == SFTP_OK;
	if (side->open)
		sftp_keep_handle(&side->handle, reply);
}

static void
old_opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	opened(f, &f->late.copy->old, reply);
}

static void
fresh_opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	opened(f, &f->late.copy->fresh, reply);
	f->late.copy->refused = reply->err == 0 &&
	    reply->status == SFTP_FAILURE;
}

static void
seen(struct xfer_file *f, struct side *side, const struct sftp_reply *reply)
{
	if (answered(f, reply) && reply->type == SFTP_ATTRS)
		side->attrs = reply->attrs;
}

static void
old_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	seen(f, &f->late.copy->old, reply);
}

static void
fresh_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	seen(f, &f->late.copy->fresh, reply);
}

/* The old part's beginning, in pieces. */
static void
block_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct xfer_file *f = arg;
	struct xfer_late_copy *c = f->late.copy;
	uint8_t ours[BLOCK_BYTES];

	if (len > sizeof ours ||
	    fd_pread_all(f->fd, ours, len, offset) != (ssize_t)len ||
	    memcmp(ours, p, len) != 0)
		c->differs = true;
	c->got += (uint32_t)len;
}

/* A reply that is shorter proves nothing. */
static bool
is_proven(const struct xfer_late_copy *c)
{
	return c->want > 0 && c->got == c->want && !c->differs;
}

static void
plain_answer(void *arg, const struct sftp_reply *reply)
{
	(void)answered(arg, reply);
}

static void
piece_copied(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (answered(f, reply) && reply->status != SFTP_OK)
		f->late.copy->refused = true;
}

/* --- its steps --- */

/* Would much have to move again? Names with random numbers are not found
 * again. */
static bool
is_worth(const struct xfer_file *f)
{
	return f->late.copy->was.kept >= XFER_CHUNK_MIN &&
	    f->part_number <= XFER_PARTS_MAX &&
	    sftp_has(f->late.copy->s, SFTP_EXT_COPY_DATA);
}

static void
open_fresh(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;
	struct sftp_attrs a = { .flags = SFTP_A_MODE,
		.mode = xfer_part_first_mode(f) | XFER_MODE_PART,
		.copy = f->x->copy };

	c->refused = false;
	c->numbered = sftp_has(c->s, SFTP_EXT_RENAME_PART);
	if (c->numbered)
		a.flags |= SFTP_A_EXTENDED;
	f->pending++;
	sftp_open(c->s, f->part.name, SFTP_O_WRITE | SFTP_O_CREAT |
	    SFTP_O_EXCL, &a, fresh_opened, f);
}

static void
send_opens(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;
	const struct xfer_stream *stream = xfer_stream_pick(f->x);

	if (stream == NULL || f->part.name == NULL) {
		c->lost = true;
		return;
	}
	c->s = stream->s;
	c->step = COPY_OPEN;
	f->pending++;
	sftp_open(c->s, c->from, SFTP_O_READ, NULL, old_opened, f);
	if (is_worth(f))
		open_fresh(f);
}

static void
send_proofs(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;

	c->step = COPY_PROVE;
	c->want = (uint32_t)MIN(f->source.size, (uint64_t)BLOCK_BYTES);
	f->pending += 2;
	sftp_handle_request(c->s, SFTP_FSTAT, &c->old.handle, old_seen, f);
	sftp_read(c->s, &c->old.handle, 0, c->want, block_data, plain_answer,
	    f);
	if (!c->fresh.open)
		return;
	f->pending++;
	sftp_handle_request(c->s, SFTP_FSTAT, &c->fresh.handle, fresh_seen, f);
}

/* Does the copy show nothing to anybody that the old part does not? */
static bool
is_as_closed(const struct xfer_late_copy *c)
{
	const struct sftp_attrs *a = &c->old.attrs, *b = &c->fresh.attrs;
	const uint32_t known = SFTP_A_SIZE | SFTP_A_OWNER | SFTP_A_MODE;

	return (a->flags & known) == known && (b->flags & known) == known &&
	    a->mode == b->mode && S_ISREG(a->mode) && a->uid == b->uid &&
	    a->gid == b->gid;
}

/* Sends the next piece. False: there is none. */
static bool
copy_piece(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;
	uint64_t len = MIN(c->old.attrs.size - c->at, PIECE_BYTES);

	if (c->refused || len == 0)
		return false;
	f->pending++;
	sftp_copy_data(c->s, &c->old.handle, c->at, len, &c->fresh.handle,
	    c->at, piece_copied, f);
	c->at += len;
	return true;
}

static void
send_close(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;

	c->step = COPY_CLOSE;
	f->pending++;
	sftp_close(c->s, &c->fresh.handle, piece_copied, f);
}

static void
remove_path(struct xfer_file *f, const char *path)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = path };

	f->pending++;
	xfer_request_path(f->x, &q, plain_answer, f);
}

/* Sends the last requests: the handles are closed, and of the two parts the one
 * that is not used further is removed. */
static void
send_end(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;

	c->copied = c->step == COPY_CLOSE && !c->refused && !f->failed;
	if (c->fresh.open && c->step != COPY_CLOSE)
		sftp_close(c->s, &c->fresh.handle, NULL, NULL);
	c->step = COPY_END;
	if (c->old.open)
		sftp_close(c->s, &c->old.handle, NULL, NULL);
	if (c->fresh.open && !c->copied)
		remove_path(f, f->part.name);
	if (is_proven(c) && !f->failed)
		remove_path(f, c->from);
}

static void
finish(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;
	bool copied = c->copied;

	if (f->failed) {
		xfer_file_done(f);
		return;
	}
	if (copied)
		xfer_made_copied(f, c->numbered);
	f->resume = copied;
	xfer_late_copy_free(f);
	xfer_file_begin(f);
}

/* The session has ended. The old part is copied over another one, when what was
 * made of the new one is gone. */
static void
try_again(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;

	if (c->step != COPY_CLEAR && c->fresh.open) {
		c->step = COPY_CLEAR;
		remove_path(f, f->part.name);
		return;
	}
	xfer_made_again(f, &c->was);
	f->part_number = c->number;
	xfer_late_copy_free(f);
	if (f->failed)
		xfer_file_done(f);
	else
		xfer_file_restart(f, true);
}

/* The new part has a name that somebody else's file has. */
static bool
next_name(struct xfer_file *f)
{
	if (!f->late.copy->refused || !f->late.copy->old.open ||
	    f->part_number >= XFER_PARTS_MAX)
		return false;
	xfer_part_further(f);
	open_fresh(f);
	return true;
}

void
xfer_late_copy_settle(struct xfer_file *f)
{
	struct xfer_late_copy *c = f->late.copy;

	if (f->pending > 0)
		return;
	if (c->step == COPY_CLEAR || (c->lost && c->step != COPY_END)) {
		try_again(f);
		return;
	}
	if (c->step == COPY_LOOK && !f->failed && c->old.attrs.size > 0 &&
	    S_ISREG(c->old.attrs.mode)) {
		send_opens(f);
	} else if (c->step == COPY_OPEN && !f->failed && next_name(f)) {
		return;
	} else if (c->step == COPY_OPEN && !f->failed && c->old.open) {
		send_proofs(f);
	} else if ((c->step == COPY_PROVE || c->step == COPY_MOVE) &&
	    !f->failed && is_proven(c) && c->fresh.open && is_as_closed(c)) {
		c->step = COPY_MOVE;
		if (!copy_piece(f))
			send_close(f);
	} else if (c->step != COPY_END) {
		send_end(f);
	} else {
		finish(f);
		return;
	}
	if (f->pending == 0)
		xfer_file_touch(f);
}

void
xfer_late_copy_start(struct xfer_file *f)
{
	struct xfer_path_request q = { .type = SFTP_LSTAT };
	struct xfer_late_copy *c = calloc(1, sizeof *c);

	f->late.copy = c;
	if (c == NULL || (c->from = strdup(f->part.name)) == NULL) {
		xfer_late_copy_free(f);
		xfer_report_errno(f->x, f->local, ENOMEM);
		f->failed = true;
		xfer_file_done(f);
		return;
	}
	c->number = f->part_number;
	c->was = f->made;
	xfer_file_enter(f, XFER_COPYING_PART);
	xfer_part_further(f);
	q.path = c->from;
	f->pending++;
	xfer_request_path(f->x, &q, old_seen, f);
}
