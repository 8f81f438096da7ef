/* SPDX-License-Identifier: ISC */
/*
 * The end of streams. What a lost stream leaves undone the others do. When all
 * streams are lost they are opened anew. The caller limits how often that is
 * tried in a row without progress; bytes are progress only if the next try need
 * not move them again.
 *
 * A stream that owes answers and gives none for a minute is silent. It is ended
 * in two cases: another stream answers, so neither the host nor all of the
 * network has failed; or it can be opened anew. The server may still carry out
 * what was sent to it, at any time: see transfer-late.c.
 */
#include <stdio.h>

#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	RETRY_MS = 1000,
	RETRY_MAX_MS = 5 * 60 * 1000,
	SILENT_MS = 60000,
	WATCH_STEPS = 100, /* looks in SILENT_MS; a look counts two steps at
			    * most, because nobody was silent while this process
			    * slept or waited for a disk */
	ANSWER_STEPS = 20, /* a stream works if it was heard in the last
			    * SILENT_MS / ANSWER_STEPS */
};

/* --- silence --- */

static unsigned
silent_ms(const struct xfer *x)
{
	return x->opts.silent_ms != 0 ? x->opts.silent_ms : SILENT_MS;
}

static bool
owes_answers(const struct xfer_stream *l)
{
	return sftp_error(l->s) == 0 &&
	    (sftp_has_version(l->s) ? sftp_pending(l->s) > 0 : l->watch.up);
}

/* Has the stream sent or received anything since the last look? Requests that
 * still leave this host may not have got to the server yet, so it is not
 * silent. */
static bool
has_moved(struct xfer_stream *l)
{
	struct xfer_stream_stats path = { .backlog_acked = 0 };
	const struct xfer_watch was = l->watch;

	l->x->host.ops->path(l->x->host.arg, l->s, &path);
	l->watch.received = sftp_received(l->s);
	l->watch.output = sftp_output_len(l->s);
	l->watch.acked = path.backlog_acked;
	l->watch.up = path.up;
	if (l->watch.received != was.received)
		l->watch.unheard_ms = 0;
	return l->watch.received != was.received ||
	    l->watch.output != was.output || l->watch.acked != was.acked;
}

static bool
another_answers(const struct xfer_stream *l)
{
	const struct xfer_stream *other;

	TAILQ_FOREACH(other, &l->x->streams, entry)
		if (other != l && sftp_error(other->s) == 0 &&
		    sftp_has_version(other->s) &&
		    other->watch.unheard_ms < silent_ms(l->x) / ANSWER_STEPS)
			return true;
	return false;
}

/* Sends REALPATH on each stream that owes no answer, to see whether it still
 * works. */
void
xfer_streams_probe(struct xfer *x)
{
	struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_error(l->s) == 0 && sftp_has_version(l->s) &&
		    sftp_pending(l->s) == 0)
			sftp_path_request(l->s, SFTP_REALPATH, ".", NULL,
			    NULL);
}

static void
watch_stream(struct xfer_stream *l, uint64_t passed)
{
	struct xfer *x = l->x;

	l->watch.unheard_ms += passed;
	if (has_moved(l) || !owes_answers(l)) {
		l->watch.silent_ms = 0;
		return;
	}
	l->watch.silent_ms += passed;
	if (l->watch.silent_ms < silent_ms(x))
		return;
	if (another_answers(l) || x->opts.retries > 0)
		(void)!sftp_feed_end(l->s, ERR_TIMEOUT);
	else
		xfer_streams_probe(x);
}

/* Ends the streams that are silent. */
static void
watch(struct xfer *x)
{
	uint64_t now = x->opts.clock_ms();
	uint64_t step = silent_ms(x) / WATCH_STEPS;
	uint64_t passed = now - x->retry.watched_ms;
	struct xfer_stream *l;

	if (x->host.ops == NULL || passed < step)
		return;
	x->retry.watched_ms = now;
	TAILQ_FOREACH(l, &x->streams, entry)
		watch_stream(l, MIN(passed, 2 * step));
}

/* --- files --- */

void
xfer_file_go_on(struct xfer_file *f)
{
	if (f->pending > 0 || f->blocks > 0)
		return;
	xfer_handles_drop(f);
	if (f->up && f->part.name != NULL && xfer_keeps_data(f) &&
	    f->progress.begun && !f->part.unproven)
		xfer_made_proven(f);
	xfer_whole_learn(f);
	xfer_opening_inspected(f, f->progress.begun);
	xfer_tail_forget(f);
	if (f->failed) {
		xfer_file_done(f);
	} else if (f->up) {
		/* Another file may have taken the name of the part or of the
		 * target meanwhile. So what lies there is compared with the
		 * source before it is used, as if resuming was asked for. */
		xfer_file_note_kept(f);
		xfer_file_restart(f, f->x->origin.stream == NULL);
	} else if (f->target.reuse == XFER_REUSE_WHOLE ||
	    !f->progress.begun || f->part.unproven) {
		xfer_file_restart(f, f->resume);
	} else {
		xfer_compare_stop(f);
		xfer_target_use(f, XFER_REUSE_CHECKED);
		xfer_file_requeue(f);
	}
}

/* The stream is over, and with it the file's handle on it. */
static void
lose_stream(struct xfer_file *f, struct xfer_stream *stream)
{
	struct xfer_handle *e, *next;
	bool lost = false, opened = false;

	for (e = TAILQ_FIRST(&f->handles); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e->stream != stream)
			continue;
		if (e->next < e->until && f->source.size != 0)
			xfer_range_add(f, e->next, e->until - e->next);
		else if (e->next < e->until)
			/* without a size, what is left is no range to give
			 * back */
			xfer_progress_begun(f, false);
		opened |= e->state != XFER_HANDLE_OPENING;
		xfer_handle_free(e);
		lost = true;
	}
	lost |= f->state == XFER_MOVING_SMALL && f->pending == 0;
	if (!lost || xfer_late_begins(f, stream, opened))
		return;
	if (f->state == XFER_MOVING_SMALL) {
		xfer_file_restart(f, f->resume);
		return;
	}
	if (f->state == XFER_MOVING && f->progress.begun) {
		TAILQ_FOREACH(e, &f->handles, entry)
			xfer_handle_wake(e);
		xfer_file_touch(f);
	} else if (f->pending == 0) {
		/* Else it waits for answers on other streams first. */
		xfer_file_go_on(f);
	}
}

/* --- the end of one --- */

/* A stream that ends before it has moved data was refused: no more streams of
 * its kind (channel or connection) are opened. Streams of the other kind, and
 * those that work, stay. */
static void
learn_refusal(struct xfer *x, const struct xfer_stream *l)
{
	if (l->proved)
		return;
	if (l->kind == XFER_STREAM_CHANNEL)
		x->grow.channels_stopped = true;
	else
		x->grow.connections.stopped = true;
}

static void
stream_gone(struct xfer_stream *l)
{
	struct xfer *x = l->x;
	struct xfer_file *f, *before;
	bool silent;

	xfer_digest_drain(x); /* digest threads still use the stream's blocks */
	xfer_files_settle(x);
	x->err = sftp_error(l->s);
	x->retry.answered |= sftp_has_version(l->s);
	learn_refusal(x, l);
	xfer_streams_wake(x);
	/* Each file goes to the front of the queue. Going backwards keeps them
	 * in order, so that the files that were begun first end first. */
	for (f = TAILQ_LAST(&x->files.active, xfer_files); f != NULL;
	     f = before) {
		before = TAILQ_PREV(f, xfer_files, entry);
		lose_stream(f, l);
		xfer_files_settle(x);
	}
	xfer_dirs_lost(x, l);
	silent = x->err == ERR_TIMEOUT;
	xfer_stream_free(l);
	if (silent)
		xfer_late_doubt(x);
}

/* --- the end of all --- */

/* What a download has written is in a file that this process has open, and
 * has locked. What has arrived at a server is not known. */
static bool
can_go_on(const struct xfer_file *f)
{
	return !f->up && f->fd >= 0 && f->progress.begun;
}

unsigned
xfer_retry_wait_ms(unsigned tries, unsigned first_ms)
{
	unsigned wait = first_ms != 0 ? first_ms : RETRY_MS;

	for (unsigned i = 0; i < tries && wait < RETRY_MAX_MS; i++)
		wait *= 2;
	return MIN(wait, (unsigned)RETRY_MAX_MS);
}

void
xfer_retry_text(unsigned wait_ms, unsigned tries, unsigned most, char *out,
    size_t size)
{
	snprintf(out, size, "the connection is lost; trying again in %u s (%u "
	    "of %u)", (wait_ms + 999) / 1000, tries, most);
}

static void
begin_anew(struct xfer *x, uint64_t now)
{
	unsigned wait = xfer_retry_wait_ms(x->retry.used,
	    x->opts.retry_wait_ms);
	struct xfer_file *f;
	char text[96];

	/* Files that are still active wait for answers to path requests. */
	TAILQ_FOREACH(f, &x->files.active, entry)
		f->resume = true;
	TAILQ_FOREACH(f, &x->files.queue, entry)
		if (f->target.known && !can_go_on(f))
			xfer_file_restart(f, true);
	/* It is not known whether the server lets the next connection have
	 * others beside it. */
	x->grow.connections = (struct xfer_growth){ .stopped = false };
	x->grow.to_open = 0;
	x->grow.channels = 1;
	x->grow.channels_stopped = false;
	x->retry.used++;
	x->retry.begun = true;
	x->retry.at_ms = now + wait;
	xfer_retry_text(wait, x->retry.used, x->opts.retries, text,
	    sizeof text);
	xfer_note(x, NULL, text);
}

/* May the transfer try again? Not at a server that never answered, or that has
 * refused us: it would do so again. */
static bool
may_retry(struct xfer *x)
{
	if (x->retry.kept > x->retry.kept_before)
		x->retry.used = 0;
	x->retry.kept_before = x->retry.kept;
	return x->err != ERR_DENIED && x->retry.answered &&
	    x->host.ops != NULL && x->retry.used < x->opts.retries;
}

int
xfer_streams_check(struct xfer *x)
{
	struct xfer_stream *l, *next;
	uint64_t now;
	bool lost = false;
	int r = xfer_between_check(x);

	if (r < 0)
		return r;
	watch(x);
	for (l = TAILQ_FIRST(&x->streams); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (sftp_error(l->s) != 0) {
			stream_gone(l);
			lost = true;
		}
	}
	xfer_late_decide(x);
	if (x->stream_count > 0)
		return 0;
	now = x->opts.clock_ms();
	if (lost || x->retry.at_ms == 0) {
		if (!may_retry(x))
			return x->err != 0 ? x->err : ERR_CLOSED;
		begin_anew(x, now);
		return 0;
	}
	if (now < x->retry.at_ms)
		return 0;
	x->retry.at_ms = 0; /* a failure counts as the loss of a stream */
	(void)!xfer_stream_open(x, XFER_STREAM_CONNECTION, 0);
	return 0;
}
