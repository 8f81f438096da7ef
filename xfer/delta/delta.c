/* SPDX-License-Identifier: ISC */
#include "xfer/delta/delta.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/rand.h"
#include "xfer/delta/delta-internal.h"

enum {
	FILES_MAX = 16, /* files that are searched at a time: each needs some
			 * MiB for its sums */
	ASKS_MAX = 4,	/* requests for sums that are under way */
	COPIES_MAX = 256,
	ASK_MIN = 32 * 1024 * 1024, /* bytes of the file that a request for sums
				     * covers at least */
	ASK_PARTS = 64,		    /* a request covers this part of a large
				     * file */
	SUMS_MAX = SFTP_DATA_MAX / BLOCK_SUM_BYTES, /* of a reply */
};
/* Bytes that one request copies at most, so that each is answered soon. */
#define COPY_MAX (UINT64_C(64) * 1024 * 1024)

/* ---- states ------------------------------------------------------------- */

#define STATE(name) (1u << DELTA_##name)

static const unsigned followers[] = {
	[DELTA_OPENING] = STATE(SUMS) | STATE(OVER),
	[DELTA_SUMS] = STATE(SEARCHING) | STATE(OVER),
	[DELTA_SEARCHING] = STATE(COPYING) | STATE(OVER),
	[DELTA_COPYING] = STATE(OVER),
	[DELTA_OVER] = 0,
};

/* The file's handle on the stream on which the basis is open. NULL: that stream
 * is lost. */
static struct xfer_handle *
handle_of(const struct xfer_delta *d)
{
	struct xfer_handle *e;

	TAILQ_FOREACH(e, &d->file->handles, entry)
		if (e->stream == d->stream && e->state == XFER_HANDLE_OPEN &&
		    sftp_error(e->stream->s) == 0)
			break;
	return e;
}

static void
close_basis(struct xfer_delta *d)
{
	struct xfer_handle *e = handle_of(d);

	if (d->basis_open && e != NULL)
		sftp_close(e->stream->s, &d->basis, NULL, NULL);
	d->basis_open = false;
}

static void
enter(struct xfer_delta *d, enum delta_state state)
{
	struct xfer_deltas *all = d->file->x->deltas;

	ENSURE((followers[d->state] & 1u << state) != 0);
	d->state = state;
	d->changed = true;
	if (state != DELTA_OVER)
		return;
	close_basis(d);
	/* Memory for the search is freed now: many files may still wait for the
	 * rest of their data. */
	delta_work_clear(&d->work);
	TAILQ_REMOVE(&all->active, d, entry);
	all->count--;
}

/* ---- which files -------------------------------------------------------- */

static bool
is_large_file(const struct sftp_attrs *a)
{
	return (a->flags & SFTP_A_SIZE) && a->size >= DELTA_FILE_MIN &&
	    (a->flags & SFTP_A_MODE) && S_ISREG(a->mode);
}

/* True if there is a basis that is large enough to be worth a search. */
static bool
has_basis(const struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;

	if (d->basis != NULL)
		return f->source.attrs.size >= DELTA_NAMED_MIN &&
		    d->basis_size >= DELTA_NAMED_MIN;
	return d->knows && f->source.attrs.size >= DELTA_FILE_MIN &&
	    is_large_file(&d->was);
}

static uint64_t
basis_size(const struct xfer_file *f)
{
	return f->duty->basis != NULL ? f->duty->basis_size :
					f->duty->was.size;
}

/* With --sparse, holes of a download are left out by the ordinary map of the
 * file, so no delta is made. */
static bool
is_wanted(const struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;
	const struct xfer_duty *d = f->duty;

	return o->delta && d != NULL && !d->whole && !d->replaces_kind &&
	    !f->only_attrs && !f->source.symlink && has_basis(f) &&
	    !o->in_place && !(o->sparse && !f->up) &&
	    f->x->origin.stream == NULL &&
	    xfer_has(f->x, SFTP_EXT_BLOCK_SUMS) &&
	    (!f->up || xfer_has(f->x, SFTP_EXT_COPY_BLOCKS)) &&
	    delta_block_for(f->up ? basis_size(f) : f->source.attrs.size) != 0;
}

bool
xfer_delta_waits(const struct xfer *x, const struct xfer_file *f)
{
	return x->deltas != NULL && x->deltas->count >= FILES_MAX &&
	    is_wanted(f);
}

/* ---- the end ------------------------------------------------------------ */

/* Has a range sent that was not found in the basis, or could not be copied. */
static void
send_range(struct xfer_delta *d, uint64_t at, uint64_t len)
{
	if (len == 0)
		return;
	xfer_range_add(d->file, at, len);
	d->changed = true;
}

static void
drop_copies(struct xfer_delta *d, bool send)
{
	struct delta_copy *c;

	while ((c = TAILQ_FIRST(&d->copies)) != NULL) {
		TAILQ_REMOVE(&d->copies, c, entry);
		if (send)
			send_range(d, c->at, c->len);
		free(c);
	}
}

/* For a download: has the blocks sent that were not found. It goes backwards,
 * because the range that is added last is taken first. */
static void
send_missing(struct xfer_delta *d)
{
	const struct delta_work *w = &d->work;
	uint64_t block = d->block, until = d->file->source.size, at;
	uint64_t blocks = w->got != NULL ? w->sums->count : 0;

	for (uint64_t i = blocks; i-- > 0;) {
		if (!w->got[i])
			continue;
		at = (i + 1) * block;
		send_range(d, at, until - MIN(at, until));
		until = i * block;
	}
	send_range(d, 0, until);
}

/* Ends the search early: all that is not decided yet is sent. */
static void
give_up(struct xfer_delta *d)
{
	uint64_t size = d->file->source.size;

	if (d->state == DELTA_COPYING) {
		drop_copies(d, true);
		return;
	}
	if (!d->file->up)
		send_missing(d);
	else
		send_range(d, d->decided, size - d->decided);
	drop_copies(d, true);
	enter(d, d->state == DELTA_SEARCHING ? DELTA_COPYING : DELTA_OVER);
}

static void searched(struct xfer_delta *d);

void
xfer_delta_stop(struct xfer_file *f)
{
	struct xfer_delta *d = xfer_delta_of(f), *other;

	if (d == NULL)
		return;
	while (d->work.posted) {
		other = delta_work_done(f->x->deltas, true);
		if (other != NULL && other != d)
			searched(other);
	}
	drop_copies(d, false);
	if (d->state != DELTA_OVER)
		enter(d, DELTA_OVER);
	delta_work_clear(&d->work);
	free(d);
	f->duty->delta = NULL;
}

/* ---- the basis ---------------------------------------------------------- */

static void
basis_opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct xfer_delta *d = xfer_delta_of(f);

	f->pending--;
	if (reply->err != 0)
		return;
	if (d != NULL && reply->status == SFTP_OK) {
		sftp_keep_handle(&d->basis, reply);
		d->basis_open = true;
	}
	xfer_file_touch(f);
}

static const char *
basis_path(const struct xfer_file *f)
{
	return f->duty->basis != NULL ? f->duty->basis : f->remote;
}

/* Opens the basis of a download, without following a link that somebody may
 * have put there. */
static bool
open_here(struct xfer_file *f, struct delta_work *w)
{
	const struct xfer_duty *d = f->duty;
	bool named = d->basis != NULL;
	struct stat st;

	w->fd = local_open_target(named ? d->basis_at : f->at,
	    named ? d->basis : f->name, O_RDONLY | O_NONBLOCK, 0,
	    LOCAL_LINKS_NONE);
	if (w->fd < 0 || fstat(w->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size < DELTA_NAMED_MIN)
		return false;
	w->size = (uint64_t)st.st_size;
	return true;
}

static struct xfer_delta *
delta_new(struct xfer_file *f, const struct xfer_stream *l)
{
	struct xfer *x = f->x;
	struct xfer_delta *d;

	if (x->deltas == NULL && (x->deltas = delta_pool_new()) == NULL)
		return NULL;
	d = calloc(1, sizeof *d);
	if (d == NULL)
		return NULL;
	d->file = f;
	d->stream = l;
	d->work = (struct delta_work){ .up = f->up, .fd = -1, .part_fd = -1 };
	TAILQ_INIT(&d->copies);
	TAILQ_INSERT_TAIL(&x->deltas->active, d, entry);
	x->deltas->count++;
	return f->duty->delta = d;
}

/* ---- sums --------------------------------------------------------------- */

/* A request that is under way. */
struct ask {
	struct xfer_file *file;
	struct xfer_handle *handle; /* NULL: the request names the file by its
				     * path */
	uint64_t at, from, len; /* for sums, at is the offset */
};

static struct ask *
ask_new(struct xfer_file *f, struct xfer_handle *e)
{
	struct ask *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->file = f;
	a->handle = e;
	if (e != NULL)
		e->pending++;
	f->pending++;
	return a;
}

/* Counts an answer. NULL: the search of the file has ended meanwhile. */
static struct xfer_delta *
answered(const struct ask *a, const struct sftp_reply *reply)
{
	struct xfer_file *f = a->file;
	struct xfer_delta *d = xfer_delta_of(f);

	if (a->handle != NULL)
		a->handle->pending--;
	f->pending--;
	if (reply->err == 0)
		xfer_file_touch(f);
	if (d != NULL && reply->err != 0)
		d->refused = true;
	return d;
}

static void
sums_came(void *arg, const struct sftp_reply *reply)
{
	struct ask *a = arg;
	struct xfer_delta *d = answered(a, reply);
	struct rd body = reply->body;
	const uint8_t *sums;
	uint32_t n;

	if (d != NULL)
		d->asks--;
	if (d != NULL && !d->refused && d->state <= DELTA_SUMS) {
		n = (uint32_t)(a->len / d->block);
		if (reply->type != SFTP_EXTENDED_REPLY ||
		    sftp_get_sums(&body, n, &sums) < 0)
			d->refused = true;
		else
			delta_sums_put(d->work.sums,
			    (uint32_t)(a->at / d->block), sums, n);
	}
	free(a);
}

/* Asks over l for the sums of whole blocks; the bytes behind the last whole
 * block are sent. Without a handle e, the basis of an upload is named by its
 * path. Even if that is another file by now, no harm is done: each copy is
 * proven by sums of the bytes that are written. */
static void
ask_sums(struct xfer_delta *d, struct xfer_stream *l, struct xfer_handle *e)
{
	const struct delta_sums *s = d->work.sums;
	uint64_t all = (uint64_t)s->count * d->block, len;
	struct sftp_block_sums b = { .block = d->block, .seed = s->seed };
	struct ask *a;

	if (e == NULL)
		b.path = basis_path(d->file);
	else
		b.h = d->file->up ? &d->basis : &e->handle;

	len = MAX(d->summed / ASK_PARTS, (uint64_t)ASK_MIN);
	len = MIN(len, (uint64_t)BLOCK_SUM_RANGE_MAX);
	len = MIN(len / d->block, (uint64_t)SUMS_MAX) * d->block;
	while (d->asks < ASKS_MAX && d->asked < all) {
		a = ask_new(d->file, e);
		if (a == NULL) {
			d->refused = true;
			return;
		}
		a->at = d->asked;
		a->len = MIN(len, all - d->asked);
		d->asked += a->len;
		d->asks++;
		b.offset = a->at;
		b.len = a->len;
		sftp_block_sums(l->s, &b, sums_came, a);
	}
}

/* Makes room for the sums if there is none yet. False: that is not possible. */
static bool
has_sums(struct xfer_delta *d)
{
	uint8_t seed[BLOCK_SUM_SEED];

	if (d->work.sums != NULL)
		return true;
	d->summed = d->file->up ? basis_size(d->file) : d->file->source.size;
	d->block = delta_block_for(d->summed);
	if (d->block == 0)
		return false;
	rand_bytes(seed, sizeof seed);
	d->work.sums = delta_sums_new(seed, d->block, d->summed);
	return d->work.sums != NULL;
}

void
xfer_delta_open(struct xfer_file *f, struct xfer_stream *l)
{
	struct xfer_delta *d = xfer_delta_of(f);

	/* The part was given another name or made anew over the same stream:
	 * the delta goes on. */
	if (f->progress.begun || (d != NULL && d->stream == l))
		return;
	xfer_delta_stop(f);
	if (!is_wanted(f) || f->part.name == NULL ||
	    f->target.reuse != XFER_REUSE_NOTHING ||
	    (d = delta_new(f, l)) == NULL)
		return;
	if (!f->up && !open_here(f, &d->work)) {
		xfer_delta_stop(f);
		return;
	}
	if (!f->up)
		return;
	f->pending++;
	sftp_open(l->s, basis_path(f), SFTP_O_READ, NULL, basis_opened, f);
	if (sftp_has(l->s, SFTP_EXT_BLOCK_SUMS_NAME) && has_sums(d))
		ask_sums(d, l, NULL);
}

bool
xfer_delta_begin(struct xfer_file *f)
{
	struct xfer_delta *d = xfer_delta_of(f);

	if (d == NULL)
		return false;
	if (f->up)
		d->work.size = f->source.size;
	if (handle_of(d) == NULL || (f->up && !d->basis_open) ||
	    !has_sums(d)) {
		xfer_delta_stop(f);
		return false;
	}
	if (f->up)
		d->work.fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	else
		d->work.part_fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (d->work.fd < 0 || (!f->up && d->work.part_fd < 0)) {
		xfer_delta_stop(f);
		return false;
	}
	enter(d, DELTA_SUMS);
	return true;
}

/* ---- what was found ----------------------------------------------------- */

/* Has the server copy len bytes of the basis. A hole of the source is left out
 * in the ranges that are sent, so it is sent here, too. */
static void
want_copy(struct xfer_delta *d, uint64_t at, uint64_t from, uint64_t len)
{
	struct delta_copy *c = TAILQ_LAST(&d->copies, delta_copies);

	if (d->refused || (d->file->holes.sparse &&
	    fd_is_hole(d->work.fd, at, len))) {
		send_range(d, at, len);
		return;
	}
	if (c != NULL && c->at + c->len == at && c->from + c->len == from &&
	    c->len + len <= COPY_MAX) {
		c->len += len;
		return;
	}
	c = malloc(sizeof *c);
	if (c == NULL) {
		send_range(d, at, len);
		return;
	}
	*c = (struct delta_copy){ .at = at, .from = from, .len = len };
	TAILQ_INSERT_TAIL(&d->copies, c, entry);
}

/* For an upload: has the runs of a step copied by the server, and all between
 * them sent. */
static void
decide(struct xfer_delta *d)
{
	const struct delta_search *s = d->work.search;
	uint64_t until;

	for (uint32_t i = 0; i < s->runs; i++) {
		const struct delta_run *r = &s->run[i];

		send_range(d, d->decided, r->at - d->decided);
		for (uint32_t n = 0; n < r->count; n++)
			want_copy(d, r->at + (uint64_t)n * d->block,
			    (uint64_t)(r->block + n) * d->block, d->block);
		d->decided = r->at + (uint64_t)r->count * d->block;
	}
	until = d->work.ended ? d->file->source.size : s->at;
	send_range(d, d->decided, until - d->decided);
	d->decided = until;
}

static void
count_copied(struct xfer_delta *d, uint64_t len)
{
	if (len == 0)
		return;
	d->copied = true;
	xfer_progress_moved(d->file, len);
	progress_keep(&d->file->item, len);
}

static void
copy_made(void *arg, const struct sftp_reply *reply)
{
	struct ask *a = arg;
	struct xfer_delta *d = answered(a, reply);

	if (d != NULL) {
		d->copying--;
		d->refused |= reply->status != SFTP_OK;
		if (reply->err == 0 && reply->status == SFTP_OK)
			count_copied(d, a->len);
		else
			send_range(d, a->at, a->len);
	}
	free(a);
}

/* Digests the strong sums by which the blocks were found: the server copies
 * only if the bytes have these sums. */
static bool
digest_sums(const struct delta_sums *s, uint32_t first, uint32_t count,
    uint8_t digest[BLOCK_SUM_COPY])
{
	return digest_once(DIGEST_SHA256, s->strong[first],
		   (size_t)count * BLOCK_SUM_STRONG, digest) == 0;
}

static void
send_copy(struct xfer_delta *d, struct xfer_handle *e, struct ask *a)
{
	const struct delta_sums *s = d->work.sums;
	uint8_t digest[BLOCK_SUM_COPY];
	const struct sftp_copy_blocks copy = { .from = &d->basis,
		.to = &e->handle, .from_at = a->from, .to_at = a->at,
		.len = a->len, .block = d->block, .seed = s->seed,
		.digest = digest };

	if (!digest_sums(s, (uint32_t)(a->from / d->block),
		(uint32_t)(a->len / d->block), digest))
		memset(digest, 0, sizeof digest); /* it will be refused */
	sftp_copy_blocks(e->stream->s, &copy, copy_made, a);
}

static void
send_copies(struct xfer_delta *d, struct xfer_handle *e)
{
	struct delta_copy *c;
	struct ask *a;

	while ((c = TAILQ_FIRST(&d->copies)) != NULL &&
	    d->copying < COPIES_MAX) {
		/* The last copy in the list may still grow. */
		if (TAILQ_NEXT(c, entry) == NULL &&
		    d->state == DELTA_SEARCHING &&
		    c->len + d->block <= COPY_MAX)
			return;
		a = ask_new(d->file, e);
		if (a == NULL) {
			d->refused = true;
			return;
		}
		a->at = c->at;
		a->from = c->from;
		a->len = c->len;
		TAILQ_REMOVE(&d->copies, c, entry);
		free(c);
		d->copying++;
		d->copied = true;
		send_copy(d, e, a);
	}
}

/* ---- turns -------------------------------------------------------------- */

static void
begin_search(struct xfer_delta *d)
{
	struct xfer_deltas *all = d->file->x->deltas;

	if (!delta_work_begin(&d->work, all)) {
		give_up(d);
		return;
	}
	enter(d, DELTA_SEARCHING);
	delta_work_post(all, d);
}

/* Takes the result of a step of the search, and begins the next one. */
static void
searched(struct xfer_delta *d)
{
	if (d->state != DELTA_SEARCHING)
		return;
	if (d->file->up)
		decide(d);
	else
		count_copied(d, d->work.wrote);
	if (!d->work.ended) {
		delta_work_post(d->file->x->deltas, d);
		return;
	}
	if (!d->file->up)
		send_missing(d);
	enter(d, DELTA_COPYING);
}

/* Takes the next step of d, by its state. */
static void
advance(struct xfer_delta *d)
{
	struct xfer_handle *e = handle_of(d);

	if (d->state == DELTA_OPENING || d->work.posted)
		return;
	d->refused |= d->file->failed || (e == NULL &&
	    (d->file->up || d->state == DELTA_SUMS));
	if (d->refused)
		give_up(d);
	if (d->state == DELTA_SUMS && d->work.sums->filled ==
	    d->work.sums->count)
		begin_search(d);
	else if (d->state == DELTA_SUMS)
		ask_sums(d, e->stream, e);
	if (d->file->up && e != NULL && !d->refused)
		send_copies(d, e);
	if (d->state == DELTA_COPYING && d->copying == 0 &&
	    TAILQ_EMPTY(&d->copies))
		enter(d, DELTA_OVER);
}

/* No more than the steps that were done at the beginning are taken: the next
 * step of a file comes in a later turn. */
void
xfer_delta_collect(struct xfer *x)
{
	size_t n = x->deltas != NULL ? delta_work_pending(x->deltas) : 0;
	struct xfer_delta *d;

	for (; n > 0 && (d = delta_work_done(x->deltas, false)) != NULL; n--)
		searched(d);
}

struct xfer_file *
xfer_delta_turn(struct xfer *x)
{
	struct xfer_delta *d, *next;

	if (x->deltas == NULL)
		return NULL;
	for (d = TAILQ_FIRST(&x->deltas->active); d != NULL; d = next) {
		next = TAILQ_NEXT(d, entry);
		advance(d);
		if (d->changed) {
			d->changed = false;
			return d->file;
		}
	}
	return NULL;
}

int
xfer_delta_wait_ms(const struct xfer *x)
{
	enum { POLL_MS = 2 }; /* the loop polls, because a thread does not wake
			       * it */

	if (x->deltas == NULL || delta_work_pending(x->deltas) == 0)
		return -1;
	return x->deltas->pool != NULL ? POLL_MS : 0;
}

bool
xfer_delta_is_over(const struct xfer_file *f)
{
	const struct xfer_delta *d = xfer_delta_of(f);

	return d == NULL || d->state == DELTA_OVER;
}

bool
xfer_delta_is_sent(const struct xfer_file *f)
{
	const struct xfer_delta *d = xfer_delta_of(f);
	const struct xfer_handle *e = d != NULL ? handle_of(d) : NULL;

	if (xfer_delta_is_over(f))
		return true;
	return d->state == DELTA_COPYING && TAILQ_EMPTY(&d->copies) &&
	    !d->refused && e != NULL && sftp_keeps_order(e->stream->s);
}

bool
xfer_delta_has_copied(const struct xfer_file *f)
{
	const struct xfer_delta *d = xfer_delta_of(f);

	return d != NULL && d->copied;
}

void
xfer_deltas_free(struct xfer *x)
{
	delta_pool_free(x->deltas);
	x->deltas = NULL;
}
