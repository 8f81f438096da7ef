/* SPDX-License-Identifier: ISC */
/*
 * Scans by walk@hpnssh.org. READS requests for records are under way at a time.
 * Answers wait in a ring until the reader comes to them; each one that it takes
 * is followed by a new request. The first requests go out with a guessed
 * handle, behind the request for the handle. They are few, because requests of
 * others, such as for a lock, are answered behind them, and because a new
 * connection is slow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "xfer/sync/sync-scan-internal.h"

/* FEW_READS is for a scan that is not recursive, and for one of many scans. */
enum { READS = 8, FEW_READS = 2 };

enum read_state {
	READ_FREE,
	READ_ASKED,
	READ_RECORDS,
	READ_END,
	READ_EARLY, /* it came before the handle was there */
	READ_FAILED,
};

struct walk_read {
	struct scan_walk *walk;
	enum read_state state;
	bool early; /* the request was sent before the walk was known to be
		     * open */
	struct buf records;
};

struct scan_walk {
	struct scan_way way;
	struct sftp *s;
	bool recursive;
	unsigned reads_max, reads_later; /* limits of requests under way:
					  * now; and after the first answer
					  * was taken */
	int err;
	bool dead;	    /* the scan was freed */
	unsigned under_way; /* requests without an answer */
	/* The request for the handle. */
	bool answered, guessed, misguessed;
	uint32_t status;
	struct sftp_handle handle;
	bool is_open; /* the handle is to be closed */
	bool told;    /* that there is no walk, or its end */
	/* reads[next % READS] is the one whose records come next. */
	struct walk_read reads[READS];
	uint64_t next, asked;
	struct buf records; /* that the reader has */
	struct walk_reader reader;
};

static void
close_handle(struct scan_walk *w)
{
	if (w->is_open && w->err == 0)
		sftp_close(w->s, &w->handle, NULL, NULL);
	w->is_open = false;
}

/* An answer was taken: frees a walk that nobody reads any more. */
static void
answered(struct scan_walk *w)
{
	w->under_way--;
	if (!w->dead || w->under_way > 0)
		return;
	close_handle(w);
	for (int i = 0; i < READS; i++)
		buf_clear(&w->reads[i].records);
	buf_clear(&w->records);
	walk_reader_clear(&w->reader);
	free(w);
}

static int
fail(struct scan_walk *w, int err)
{
	close_handle(w);
	if (w->err == 0)
		w->err = err;
	return w->err;
}

static void
read_done(void *arg, const struct sftp_reply *reply)
{
	struct walk_read *r = arg;

	/* A server that opens slow directories in a thread refuses the guessed
	 * handle until the directory is open, and may send the two answers in
	 * any order. */
	r->state = r->early ? READ_EARLY : READ_FAILED;
	if (reply->err < 0) {
		r->walk->err = reply->err;
	} else if (reply->type == SFTP_EXTENDED_REPLY) {
		r->state = READ_RECORDS;
		if (!r->walk->dead)
			buf_put(&r->records, reply->body.p, reply->body.len);
	} else if (reply->status == SFTP_EOF) {
		r->state = READ_END;
	}
	answered(r->walk);
}

static void
ask_more(struct scan_walk *w)
{
	while (w->err == 0 && w->asked < w->next + w->reads_max) {
		struct walk_read *r = &w->reads[w->asked++ % READS];

		r->walk = w;
		r->state = READ_ASKED;
		r->early = !w->answered;
		w->under_way++;
		sftp_walk_read(w->s, &w->handle, read_done, r);
	}
}

static void
walk_done(void *arg, const struct sftp_reply *reply)
{
	struct scan_walk *w = arg;
	struct sftp_handle guess = w->handle;

	w->answered = true;
	w->status = reply->status;
	if (reply->err < 0) {
		w->err = reply->err;
	} else if (reply->type == SFTP_HANDLE) {
		sftp_keep_handle(&w->handle, reply);
		w->is_open = true;
		w->misguessed = w->guessed && (guess.len != w->handle.len ||
		    memcmp(guess.bytes, w->handle.bytes, guess.len) != 0);
		if (!w->guessed && !w->dead)
			ask_more(w);
	}
	answered(w);
}

/* The requests with a wrong guess have all failed: they are made again. */
static void
begin_again(struct scan_walk *w)
{
	w->misguessed = false;
	w->next = w->asked = 0;
	ask_more(w);
}

/* The top cannot be walked. */
static int
tell_refusal(struct scan_walk *w, struct walk_item *item)
{
	if (!sftp_has(w->s, SFTP_EXT_WALK))
		return ERR_UNSUPPORTED;
	if (w->told)
		return 0;
	w->told = true;
	*item = (struct walk_item){ .is_group = true, .path = "",
		.status = w->status };
	return 1;
}

/* Gives the reader the next reply. 1; 0: the walk is at its end. */
static int
next_reply(struct scan_walk *w)
{
	struct walk_read *r = &w->reads[w->next % READS];
	struct buf empty = w->records;

	switch (r->state) {
	case READ_RECORDS:
		break;
	case READ_END:
		w->told = true;
		close_handle(w);
		return 0;
	case READ_EARLY:
		w->next++;
		ask_more(w);
		return 1;
	case READ_FAILED:
		return fail(w, ERR_EOF);
	default:
		return SYNC_SCAN_LATER;
	}
	if (buf_err(&r->records) < 0)
		return fail(w, buf_err(&r->records));
	if (buf_len(&r->records) == 0) /* such could come for ever */
		return fail(w, ERR_PROTOCOL);
	w->records = r->records;
	buf_reset(&empty);
	r->records = empty;
	r->state = READ_FREE;
	walk_reader_reply(&w->reader, buf_span(&w->records));
	w->next++;
	w->reads_max = w->reads_later;
	ask_more(w);
	return 1;
}

static int
walk_next(struct scan_way *way, struct walk_item *item)
{
	struct scan_walk *w = (struct scan_walk *)way;
	int r;

	if (w->err < 0)
		return w->err;
	if (!w->answered || (w->misguessed && w->under_way > 0))
		return SYNC_SCAN_LATER;
	if (w->status != SFTP_OK)
		return tell_refusal(w, item);
	if (w->misguessed)
		begin_again(w);
	if (w->told)
		return 0;
	while ((r = walk_reader_next(&w->reader, item)) == 0)
		if ((r = next_reply(w)) != 1)
			return r;
	if (r < 0)
		return fail(w, r);
	if (!w->recursive && item->is_group && item->path[0] != '\0') {
		w->told = true;
		close_handle(w);
		return 0;
	}
	return 1;
}

static void
walk_end(struct scan_way *way)
{
	struct scan_walk *w = (struct scan_walk *)way;

	w->dead = true;
	w->under_way++;
	answered(w);
}

static const struct scan_way_ops walk_ops = { walk_next, walk_end };

struct scan_way *
scan_walk_new(struct sftp *s, const char *top, const struct sync_scan_opts *o)
{
	struct scan_walk *w = calloc(1, sizeof *w);
	const struct sftp_walk ask = { .path = top, .want = o->want,
		.rules = o->rules, .rules_len = o->rules_len };

	if (w == NULL)
		return NULL;
	w->way.ops = &walk_ops;
	w->s = s;
	w->recursive = o->recursive;
	w->reads_max = FEW_READS;
	w->reads_later = o->recursive && !o->many ? READS : FEW_READS;
	walk_reader_init(&w->reader, o->want);
	w->guessed = sftp_guess_walk(s, &w->handle);
	w->under_way = 1;
	sftp_walk(s, &ask, walk_done, w);
	if (w->guessed)
		ask_more(w);
	return &w->way;
}
