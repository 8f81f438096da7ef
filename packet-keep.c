/* SPDX-License-Identifier: ISC */
/*
 * Keeps what was sent and may have to be sent again (survive@hpnssh.org):
 * packets stay in the output ring, sealed, until the peer has said RECEIVED.
 * Their sizes are in a row beside the ring. A ring that does not fit into the
 * processor's cache costs more than the counting, so as little is kept as does
 * not slow the path (packet-keep-pace.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"
#include "packet-keep.h"

enum {
	ROW_FIRST = 64,		 /* entries */
	ROW_MAX = 1024 * 1024,
	/* RECEIVED is sent at the latest after so many bytes, messages or
	 * milliseconds. */
	TELL_BYTES = 512 * 1024,
	TELL_MESSAGES = 256,
	TELL_MS = 1000,
};

#define COUNTED ((uint32_t)1 << 31) /* bit of an entry: the packet's message is
				     * counted */

struct packet_keep {
	struct packet_row row;
	struct packet_keep_pace pace;
	uint64_t put, acked; /* counted messages */
	uint64_t dropped;    /* bytes */
	uint64_t alone;	     /* number of the last message before which all was
			      * acknowledged, */
	uint64_t alone_ms;   /* and when it was put; 0: it was acknowledged */

	bool counts;   /* messages of the peer are counted */
	bool skip_one; /* the message that is being handled is not counted */
	bool with_adjust;   /* RECEIVED goes out with a WINDOW_ADJUST in this
			     * turn */
	uint64_t received, told; /* messages */
	uint64_t told_bytes;	 /* bytes received on the wire when the last
				  * RECEIVED was sent */
	uint64_t waiting_ms;	 /* time since when there is something to
				  * acknowledge */
};

static bool
is_counted(uint8_t type)
{
	return type >= SSH_MSG_GLOBAL_REQUEST && type < 128;
}

/* ---- the row ----------------------------------------------------------- */

static int
row_grow(struct packet_row *w)
{
	size_t cap = w->cap == 0 ? ROW_FIRST : 2 * w->cap;
	uint32_t *v;

	if (cap > ROW_MAX)
		return ERR_LIMIT;
	if ((v = malloc(cap * sizeof *v)) == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < w->n; i++)
		v[i] = w->v[(w->first + i) & (w->cap - 1)];
	free(w->v);
	w->v = v;
	w->cap = cap;
	w->first = 0;
	return 0;
}

static size_t
front_size(const struct packet_row *w)
{
	return w->v[w->first] & ~COUNTED;
}

static bool
front_is_counted(const struct packet_row *w)
{
	return w->v[w->first] & COUNTED;
}

size_t
packet_row_next(struct packet_row *w, const struct cipher *c, bool *counted)
{
	size_t size = front_size(w);

	*counted = front_is_counted(w);
	w->front.block += cipher_blocks(c,
	    (uint32_t)(size - 4 - cipher_tag_len(c)));
	w->front.packet++;
	w->front.seqnr++;
	w->first = (w->first + 1) & (w->cap - 1);
	w->n--;
	return size;
}

/* Takes the first packet off the row and its bytes off the ring. */
static void
drop_front(struct packet *p)
{
	struct packet_keep *k = p->tx.keep;
	bool counted;
	size_t size = packet_row_next(&k->row, p->half[PACKET_TX].cipher,
	    &counted);

	packet_ring_drop(&p->tx.ring, size);
	p->tx.ring.kept -= size;
	k->dropped += size;
	if (counted)
		k->acked++;
}

/* True if the first packet of the row was sent whole. */
static bool
front_is_sent(const struct packet *p)
{
	const struct packet_row *w = &p->tx.keep->row;

	return w->n > 0 && w->before == 0 &&
	    front_size(w) <= p->tx.ring.kept;
}

/* Drops packets at the front that were sent and are not counted. */
static void
drop_uncounted(struct packet *p)
{
	struct packet_row *w = &p->tx.keep->row;
	size_t n = MIN(w->before, p->tx.ring.kept);

	if (n > 0) {
		packet_ring_drop(&p->tx.ring, n);
		p->tx.ring.kept -= n;
		w->before -= n;
	}
	while (front_is_sent(p) && !front_is_counted(w))
		drop_front(p);
}

/* ---- sending ----------------------------------------------------------- */

bool
packet_can_keep(const struct packet *p)
{
	const struct packet_half *h = &p->half[PACKET_TX];

	return h->cipher != NULL && !p->proxied && !h->keys.compress &&
	    !cipher_is_none(h->keys.cipher) &&
	    !cipher_is_chained(h->keys.cipher);
}

int
packet_keep_begin(struct packet *p, size_t max)
{
	struct packet_keep *k;

	ENSURE(p->tx.keep == NULL && p->tx.bulk == NULL);
	if (!packet_can_keep(p))
		return ERR_UNSUPPORTED;
	if ((k = calloc(1, sizeof *k)) == NULL)
		return ERR_NOMEM;
	packet_keep_pace_begin(&k->pace, MIN(max, (size_t)PACKET_KEEP_MAX),
	    clock_ms());
	k->row.before = packet_ring_used(&p->tx.ring);
	p->tx.keep = k;
	return 0;
}

void
packet_keep_limit(struct packet *p, size_t max)
{
	packet_keep_pace_limit(&p->tx.keep->pace, max);
}

void
packet_keep_free(struct packet_keep *k)
{
	if (k == NULL)
		return;
	free(k->row.v);
	free(k);
}

void
packet_keep_end(struct packet *p)
{
	struct packet_ring *r = &p->tx.ring;

	packet_ring_drop(r, r->kept);
	r->kept = 0;
	packet_keep_free(p->tx.keep);
	p->tx.keep = NULL;
}

int
packet_keep_put(struct packet *p, uint8_t type, size_t size)
{
	struct packet_keep *k = p->tx.keep;
	struct packet_row *w = &k->row;
	int r;

	if (w->n == w->cap && (r = row_grow(w)) != 0)
		return r;
	if (w->n == 0)
		w->front = p->half[PACKET_TX].pos;
	w->v[(w->first + w->n) & (w->cap - 1)] = (uint32_t)size |
	    (is_counted(type) ? COUNTED : 0);
	w->n++;
	if (!is_counted(type))
		return 0;
	if (k->acked == k->put++) {
		k->alone = k->put;
		k->alone_ms = clock_ms();
	}
	if (type == SSH_MSG_CHANNEL_WINDOW_ADJUST)
		k->with_adjust = true;
	return 0;
}

void
packet_keep_written(struct packet *p)
{
	drop_uncounted(p);
}

int
packet_keep_new_keys(struct packet *p)
{
	struct packet_keep *k = p->tx.keep;
	struct packet_ring *r = &p->tx.ring;

	if (!packet_can_keep(p))
		return ERR_UNSUPPORTED;
	/* Before the peer sent its part of this exchange it has handled all
	 * that is kept, even if its RECEIVED has not come yet. */
	packet_ring_drop(r, r->kept);
	k->dropped += r->kept;
	r->kept = 0;
	k->row.n = 0;
	k->row.before = packet_ring_used(r);
	k->acked = k->put;
	return 0;
}

bool
packet_keep_is_full(const struct packet *p)
{
	return p->tx.keep != NULL &&
	    packet_ring_used(&p->tx.ring) >= p->tx.keep->pace.limit;
}

size_t
packet_keep_most(const struct packet *p)
{
	return p->tx.keep != NULL ? p->tx.keep->pace.max : 0;
}

int
packet_keep_drop(struct packet *p, uint64_t n)
{
	struct packet_keep *k = p->tx.keep;

	if (n < k->acked)
		return ERR_PROTOCOL;
	while (k->acked < n) {
		if (!front_is_sent(p))
			return ERR_PROTOCOL;
		drop_front(p);
	}
	drop_uncounted(p);
	return 0;
}

int
packet_keep_on_received(struct packet *p, struct rd *r)
{
	struct packet_keep *k = p->tx.keep;
	uint64_t n = rd_u64(r), now_ms = clock_ms();
	bool limited = packet_keep_is_full(p);
	int err;

	if ((err = rd_end(r)) != 0 || (err = packet_keep_drop(p, n)) != 0)
		return err;
	if (k->alone_ms != 0 && k->acked >= k->alone) {
		packet_keep_pace_round_trip(&k->pace, now_ms - k->alone_ms);
		k->alone_ms = 0;
	}
	packet_keep_pace_acked(&k->pace, k->dropped, limited, now_ms);
	if (packet_ring_used(&p->tx.ring) == 0)
		packet_keep_pace_idle(&k->pace);
	return 0;
}

/* ---- receiving --------------------------------------------------------- */

void
packet_keep_count(struct packet *p)
{
	p->tx.keep->counts = p->tx.keep->skip_one = true;
}

void
packet_handled(struct packet *p)
{
	struct packet_keep *k = p->tx.keep;

	if (k == NULL || !k->counts)
		return;
	if (k->skip_one)
		k->skip_one = false;
	else if (is_counted(p->rx.type))
		k->received++;
}

static int
tell(struct packet *p)
{
	struct packet_keep *k = p->tx.keep;
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_RECEIVED);
	buf_put_u64(&b, k->received);
	r = packet_put(p, &b);
	buf_clear(&b);
	k->told = k->received;
	k->told_bytes = p->half[PACKET_RX].total.bytes;
	k->waiting_ms = 0;
	return r;
}

int
packet_keep_poll(struct packet *p, uint32_t *again_ms)
{
	struct packet_keep *k = p->tx.keep;
	uint64_t now_ms, bytes;
	bool with_adjust;

	*again_ms = 0;
	if (k == NULL)
		return 0;
	with_adjust = k->with_adjust;
	k->with_adjust = false;
	/* RECEIVED is put off during an exchange: by its end, a higher number
	 * can be told. */
	if (k->received == k->told || p->tx.postponing)
		return 0;
	bytes = p->half[PACKET_RX].total.bytes - k->told_bytes;
	if (with_adjust || bytes >= TELL_BYTES ||
	    k->received - k->told >= TELL_MESSAGES)
		return tell(p);
	now_ms = clock_ms();
	if (k->waiting_ms == 0)
		k->waiting_ms = now_ms;
	if (now_ms - k->waiting_ms >= TELL_MS)
		return tell(p);
	*again_ms = (uint32_t)(TELL_MS - (now_ms - k->waiting_ms));
	return 0;
}

void
packet_keep_begin_again(struct packet *p, struct packet_row *old)
{
	struct packet_keep *k = p->tx.keep;

	*old = k->row;
	k->row = (struct packet_row){
		.before = packet_ring_used(&p->tx.ring),
	};
	k->put = k->acked;
	packet_keep_pace_begin(&k->pace, k->pace.max, clock_ms());
	/* The number was sent with the request to resume, or with the answer to
	 * it. */
	k->told = k->received;
	k->told_bytes = p->half[PACKET_RX].total.bytes;
	k->waiting_ms = 0;
	k->skip_one = k->with_adjust = false;
}

bool
packet_keeps(const struct packet *p)
{
	return p->tx.keep != NULL && p->tx.keep->counts;
}

uint64_t
packet_received(const struct packet *p)
{
	return p->tx.keep != NULL ? p->tx.keep->received : 0;
}

uint64_t
packet_unacked(const struct packet *p, uint64_t *acked)
{
	const struct packet_keep *k = p->tx.keep;

	*acked = k != NULL ? k->acked : 0;
	return k != NULL ? k->put - k->acked : 0;
}
