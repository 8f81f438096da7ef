/* SPDX-License-Identifier: ISC */
/*
 * Goes on over another transport: messages that the peer lacks are opened with
 * the old key and sealed with the new one. This is done before anything else is
 * put, so at any time there is one ring, and one key for it.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"
#include "packet-keep.h"

/* Drops the packets that threads have opened and nobody has taken. They were
 * not counted, so the peer sends them again. */
static void
drop_opened(struct packet *p)
{
	struct pipeline *pipe = p->threads.pipe;

	packet_threads_stop(p);
	if (p->threads.pipe == NULL)
		return;
	while (pipeline_wait(pipe, PIPELINE_DECRYPT) != NULL)
		pipeline_release(pipe, PIPELINE_DECRYPT);
	p->rx.jobs[0] = p->rx.jobs[1] = 0;
	packet_threads_stop(p);
}

static void
swap_bytes(void *a, void *b, size_t len)
{
	uint8_t *x = a, *y = b;

	for (size_t i = 0; i < len; i++) {
		uint8_t t = x[i];

		x[i] = y[i];
		y[i] = t;
	}
}

static void
add_totals(struct packet_counters *to, const struct packet_counters *old)
{
	to->bytes += old->bytes;
	to->packets += old->packets;
	to->payload += old->payload;
}

/* Gives p the transport of fresh, and fresh the lost one. */
static void
swap_transports(struct packet *p, struct packet *fresh)
{
	swap_bytes(&p->fd_in, &fresh->fd_in, sizeof p->fd_in);
	swap_bytes(&p->fd_out, &fresh->fd_out, sizeof p->fd_out);
	swap_bytes(p->half, fresh->half, sizeof p->half);
	swap_bytes(&p->tx.ring, &fresh->tx.ring, sizeof p->tx.ring);
	swap_bytes(&p->rx, &fresh->rx, sizeof p->rx);
	for (int dir = 0; dir < 2; dir++)
		add_totals(&p->half[dir].total, &fresh->half[dir].total);
	p->tx.unsent = fresh->tx.unsent;
	p->tx.sampled_ms = fresh->tx.sampled_ms;
	p->tx.err = 0;
	p->rekey.keyed_ms = fresh->rekey.keyed_ms;
	p->threads.trial.phase = PACKET_SERIAL;
	p->threads.trial.retry_ms = 0;
}

/* Opens the sealed packet of size bytes at pkt, and puts its message again. */
static int
put_again(struct packet *p, struct cipher *old, const struct cipher_pos *pos,
    uint8_t *pkt, size_t size)
{
	size_t tag = cipher_tag_len(old);
	uint32_t len;
	int r;

	if ((r = cipher_decrypt_length(old, pos, pkt, &len)) != 0)
		return r;
	ENSURE(size >= 4 + tag && len == size - 4 - tag);
	if ((r = cipher_decrypt(old, pos, pkt, len)) != 0)
		return r;
	ENSURE((size_t)pkt[4] + 1 < len);
	return packet_put_now(p, pkt + 5, len - 1 - pkt[4]);
}

/* Puts the counted messages of the old ring again. w: the sizes of its packets;
 * keys: those that have sealed them. */
static int
put_all_again(struct packet *p, const struct packet_ring *ring,
    const struct packet_keys *keys, struct packet_row *w)
{
	struct packet_ring all = *ring;
	struct cipher *old = NULL;
	struct span piece[2];
	size_t skip = w->before, size;
	bool counted;
	int n, r;

	all.kept = 0;
	n = packet_ring_pieces(&all, piece);
	r = cipher_new(&old, keys->cipher, keys->mac, false, keys->key,
	    keys->iv, keys->mac_key);
	for (int i = 0; i < n && r == 0; i++) {
		size_t at = MIN(skip, piece[i].len);

		skip -= at;
		while (r == 0 && at < piece[i].len) {
			struct cipher_pos pos = w->front;

			ENSURE(w->n > 0);
			size = packet_row_next(w, old, &counted);
			ENSURE(size <= piece[i].len - at);
			if (counted)
				r = put_again(p, old, &pos,
				    (uint8_t *)(uintptr_t)piece[i].p + at,
				    size);
			at += size;
		}
	}
	cipher_free(old);
	return r;
}

int
packet_resume(struct packet *p, struct packet *fresh, uint64_t received)
{
	struct packet_row row;
	int r;

	ENSURE(p->tx.keep != NULL && fresh->tx.keep == NULL &&
	    fresh->authenticated && p->tx.bulk == NULL);
	if (!packet_can_keep(fresh))
		return ERR_UNSUPPORTED;
	packet_tx_collect(p, true);
	if ((r = packet_keep_drop(p, received)) != 0)
		return r;
	drop_opened(p);
	packet_threads_stop(fresh);
	swap_transports(p, fresh);
	packet_keep_begin_again(p, &row);
	r = put_all_again(p, &fresh->tx.ring, &fresh->half[PACKET_TX].keys,
	    &row);
	free(row.v);
	packet_ring_clear(&fresh->tx.ring);
	/* Messages that waited for the end of a key exchange were never
	 * counted. */
	return r == 0 && p->tx.postponing ? packet_postpone(p, false) : r;
}
