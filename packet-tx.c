/* SPDX-License-Identifier: ISC */
/* The sending half of packet.h: the output ring, encryption, and write(2). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/rand.h"
#include "packet-internal.h"
#include "packet-keep.h"

size_t
packet_ring_used(const struct packet_ring *r)
{
	return r->wrapped ? r->wrap - r->head + r->tail : r->tail - r->head;
}

static size_t
ring_pending(const struct packet_ring *r)
{
	return packet_ring_used(r) - r->kept;
}

/* Sets the pieces of the ring's content behind its first skip bytes, in order;
 * returns their number. */
static int
pieces_from(const struct packet_ring *r, size_t skip, struct span piece[2])
{
	size_t first = r->wrapped ? r->wrap - r->head : r->tail - r->head;
	int n = 0;

	if (skip < first)
		piece[n++] = (struct span){ r->data + r->head + skip,
			first - skip };
	skip -= MIN(skip, first);
	if (r->wrapped && skip < r->tail)
		piece[n++] = (struct span){ r->data + skip, r->tail - skip };
	return n;
}

int
packet_ring_pieces(const struct packet_ring *r, struct span piece[2])
{
	return pieces_from(r, r->kept, piece);
}

void
packet_ring_clear(struct packet_ring *r)
{
	free(r->data);
	*r = (struct packet_ring){ 0 };
}

/* Makes the output ring larger. Its bytes move, so it waits until all jobs on
 * them are done. */
static int
ring_grow(struct packet *p, size_t need)
{
	struct packet_ring *r = &p->tx.ring;
	size_t used = packet_ring_used(r), kept = r->kept, cap, at = 0;
	struct span piece[2];
	uint8_t *data;
	int n;

	if (used + need > PACKET_TX_MAX + packet_keep_most(p))
		return ERR_LIMIT;
	packet_tx_collect(p, true);
	cap = MAX(r->cap, (size_t)PACKET_TX_FIRST);
	/* Room for twice the need, to wrap without growing again. */
	while (cap < used + need)
		cap *= 2;
	if (cap == r->cap)
		cap *= 2;
	if ((data = malloc(cap)) == NULL)
		return ERR_NOMEM;
	n = pieces_from(r, 0, piece);
	for (int i = 0; i < n; i++) {
		memcpy(data + at, piece[i].p, piece[i].len);
		at += piece[i].len;
	}
	free(r->data);
	*r = (struct packet_ring){ .data = data, .cap = cap, .tail = at,
		.kept = kept };
	return 0;
}

/* Makes room for len contiguous bytes at the tail of the ring. */
static int
ring_reserve(struct packet *p, size_t len, uint8_t **pkt)
{
	struct packet_ring *r = &p->tx.ring;
	int err;

	if (packet_ring_used(r) == 0) {
		r->head = r->tail = r->wrap = 0;
		r->wrapped = false;
	}
	if (!r->wrapped && r->cap - r->tail < len && r->head > len) {
		r->wrap = r->tail;
		r->tail = 0;
		r->wrapped = true;
	}
	if ((r->wrapped ? r->head - r->tail : r->cap - r->tail) < len &&
	    (err = ring_grow(p, len)) != 0)
		return err;
	*pkt = r->data + r->tail;
	return 0;
}

void
packet_ring_drop(struct packet_ring *r, size_t len)
{
	size_t first;

	if (r->wrapped) {
		first = MIN(len, r->wrap - r->head);
		r->head += first;
		len -= first;
		if (r->head == r->wrap) {
			r->head = 0;
			r->wrapped = false;
		}
	}
	r->head += len;
}

int
packet_tx_raw(struct packet *p, const void *bytes, size_t len)
{
	uint8_t *pkt;
	int r;

	if (len == 0)
		return 0;
	ENSURE(p->tx.unencrypted == 0 && p->tx.keep == NULL);
	if ((r = ring_reserve(p, len, &pkt)) != 0)
		return r;
	memcpy(pkt, bytes, len);
	p->tx.ring.tail += len;
	return 0;
}

int
packet_put_identification(struct packet *p, const char *line)
{
	struct buf b;
	int r;

	buf_init(&b);
	buf_printf(&b, "%s\r\n", line);
	if ((r = buf_err(&b)) == 0)
		r = packet_tx_raw(p, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

/* The bytes of padding that make the encrypted part a multiple of the block. */
static size_t
padding_for(const struct packet *p, size_t payload_len)
{
	const struct cipher *c = p->half[PACKET_TX].cipher;
	size_t align = c != NULL ? cipher_align(c) : 8;
	size_t head = c != NULL && cipher_length_apart(c) ? 0 : 4;
	size_t pad = align - (head + 1 + payload_len) % align;

	if (p->proxied)
		return payload_len < PACKET_PROXIED_MIN ?
		    PACKET_PROXIED_MIN - payload_len : 0;
	if (pad < PACKET_PAD_MIN)
		pad += align;
	while (4 + 1 + payload_len + pad < PACKET_SIZE_MIN)
		pad += align;
	return pad;
}

/* Is the packet to be encrypted by a thread? Yes if there are threads and it is
 * large, or if a packet in front of it is a job. Otherwise the loop encrypts it
 * at once. */
static bool
is_job(const struct packet *p, uint32_t field)
{
	if (p->threads.pipe == NULL || !packet_threads_can(p, PACKET_TX))
		return false;
	return p->tx.unencrypted > 0 ||
	    (field >= PACKET_JOB_MIN && pipeline_threads(p->threads.pipe) > 0);
}

static void
post(struct packet *p, uint8_t *pkt, uint32_t field, size_t size)
{
	struct pipeline_job *j;

	while ((j = pipeline_next(p->threads.pipe, PIPELINE_ENCRYPT)) == NULL) {
		(void)pipeline_wait(p->threads.pipe, PIPELINE_ENCRYPT);
		packet_tx_collect(p, false);
	}
	j->pos = p->half[PACKET_TX].pos;
	j->pkt = pkt;
	j->len = field;
	j->size = size;
	pipeline_post(p->threads.pipe, PIPELINE_ENCRYPT);
	p->tx.unencrypted += size;
	p->tx.since_wake += size;
	if (p->tx.since_wake >= PACKET_JOBS_BYTES) {
		p->tx.since_wake = 0;
		pipeline_kick(p->threads.pipe);
	}
}

/* Completes the packet at pkt, whose payload of len bytes is at pkt + 5: adds
 * header, padding and tag, and encrypts it, or posts it as a job. */
static int
finish_packet(struct packet *p, uint8_t *pkt, size_t len)
{
	struct packet_half *h = &p->half[PACKET_TX];
	size_t pad = padding_for(p, len), size;
	uint32_t field = (uint32_t)(1 + len + pad);
	int r = packet_may_count(h);

	if (r != 0)
		return r;
	wire_put_u32(pkt, field);
	pkt[4] = (uint8_t)pad;
	rand_pad(pkt + 5 + len, pad);
	size = 4 + field;
	if (h->cipher != NULL)
		size += cipher_tag_len(h->cipher);
	if (p->tx.keep != NULL && (r = packet_keep_put(p, pkt[5], size)) != 0)
		return r;
	if (h->cipher != NULL) {
		if (is_job(p, field))
			post(p, pkt, field, size);
		else if ((r = cipher_encrypt(
			      h->cipher, &h->pos, pkt, field)) != 0)
			return r;
		h->pos.block += cipher_blocks(h->cipher, field);
		h->pos.packet++;
	}
	h->pos.seqnr++;
	h->bytes_since_keys += size;
	h->total.bytes += size;
	h->total.packets++;
	h->total.payload += len;
	p->tx.ring.tail += size;
	return 0;
}

int
packet_put_now(struct packet *p, const uint8_t *payload, size_t len)
{
	struct packet_half *h = &p->half[PACKET_TX];
	uint8_t *pkt;
	int r;

	if (h->zlib != NULL) {
		buf_reset(&p->tx.plain);
		r = zstream_deflate(h->zlib, payload, len, &p->tx.plain);
		if (r != 0)
			return r;
		payload = buf_data(&p->tx.plain);
		len = buf_len(&p->tx.plain);
	}
	if (len + PACKET_SLACK > CIPHER_LEN_MAX)
		return ERR_LIMIT;
	if ((r = ring_reserve(p, len + PACKET_SLACK, &pkt)) != 0)
		return r;
	memcpy(pkt + 5, payload, len);
	return finish_packet(p, pkt, len);
}

static bool
may_go_during_kex(uint8_t type)
{
	return (type <= SSH_MSG_DEBUG) || type == SSH_MSG_EXT_INFO ||
	    ssh_msg_is_kex(type);
}

int
packet_put(struct packet *p, const struct buf *msg)
{
	size_t max;
	int r = buf_err(msg);

	if (r != 0)
		return r;
	ENSURE(p->tx.bulk == NULL && buf_len(msg) > 0);
	if (p->tx.recording) {
		buf_put_string_buf(&p->tx.recorded, msg);
		if ((r = buf_err(&p->tx.recorded)) != 0)
			return r;
	}
	if (!p->tx.postponing || may_go_during_kex(buf_data(msg)[0]))
		return packet_put_now(p, buf_data(msg), buf_len(msg));
	max = p->authenticated ? PACKET_POSTPONED_MAX :
				 PACKET_POSTPONED_MAX_PREAUTH;
	if (buf_len(&p->tx.postponed) + buf_len(msg) > max)
		return ERR_LIMIT;
	buf_put_string_buf(&p->tx.postponed, msg);
	return buf_err(&p->tx.postponed);
}

/* Whether so much waits to be sent, or is kept, that bulk has to wait. */
static bool
is_full(const struct packet *p)
{
	return ring_pending(&p->tx.ring) >= packet_tx_room(p) ||
	    packet_keep_is_full(p);
}

uint8_t *
packet_bulk_begin(struct packet *p, size_t max)
{
	ENSURE(p->tx.bulk == NULL);
	if (p->tx.postponing || is_full(p) || packet_rekey_due(p))
		return NULL;
	if (max + PACKET_SLACK > CIPHER_LEN_MAX ||
	    ring_reserve(p, max + PACKET_SLACK, &p->tx.bulk) != 0) {
		p->tx.bulk = NULL;
		return NULL;
	}
	p->tx.bulk_max = max;
	return p->tx.bulk + 5;
}

int
packet_bulk_commit(struct packet *p, size_t len)
{
	uint8_t *pkt = p->tx.bulk;

	ENSURE(pkt != NULL && len <= p->tx.bulk_max);
	p->tx.bulk = NULL;
	if (len == 0)
		return 0;
	if (p->half[PACKET_TX].zlib != NULL) {
		int r;

		/* The compressed payload replaces the plain one. */
		buf_reset(&p->tx.plain);
		r = zstream_deflate(p->half[PACKET_TX].zlib, pkt + 5, len,
		    &p->tx.plain);
		if (r != 0)
			return r;
		len = buf_len(&p->tx.plain);
		if (len + PACKET_SLACK > CIPHER_LEN_MAX)
			return ERR_LIMIT;
		if ((r = ring_reserve(p, len + PACKET_SLACK, &pkt)) != 0)
			return r;
		memcpy(pkt + 5, buf_data(&p->tx.plain), len);
	}
	return finish_packet(p, pkt, len);
}

/* Sends messages that are kept as strings, in order, and empties the buffer. */
static int
put_all(struct packet *p, struct buf *messages)
{
	struct rd r = rd_from_buf(messages);
	struct span msg;
	int err = 0;

	while (r.len > 0 && err == 0) {
		msg = rd_string(&r);
		if ((err = rd_err(&r)) == 0)
			err = packet_put_now(p, msg.p, msg.len);
	}
	buf_clear(messages);
	return err;
}

void
packet_record(struct packet *p, bool on)
{
	buf_set_max(&p->tx.recorded, PACKET_POSTPONED_MAX_PREAUTH);
	p->tx.recording = on;
}

int
packet_replay(struct packet *p)
{
	ENSURE(!p->tx.postponing);
	p->tx.recording = false;
	return put_all(p, &p->tx.recorded);
}

void
packet_forget(struct packet *p)
{
	p->tx.recording = false;
	buf_clear(&p->tx.recorded);
}

int
packet_postpone(struct packet *p, bool on)
{
	p->tx.postponing = on;
	return on ? 0 : put_all(p, &p->tx.postponed);
}

size_t
packet_tx_pending(const struct packet *p)
{
	return ring_pending(&p->tx.ring);
}

bool
packet_has_room(const struct packet *p)
{
	return !p->tx.postponing && !packet_keep_is_full(p) &&
	    ring_pending(&p->tx.ring) < packet_tx_room(p) / 2;
}

size_t
packet_tx_ready(const struct packet *p)
{
	return ring_pending(&p->tx.ring) - p->tx.unencrypted;
}

void
packet_tx_collect(struct packet *p, bool wait)
{
	struct pipeline *pipe = p->threads.pipe;
	const struct pipeline_job *j;

	if (p->tx.unencrypted == 0)
		return;
	while ((j = wait ? pipeline_wait(pipe, PIPELINE_ENCRYPT) :
			   pipeline_done(pipe, PIPELINE_ENCRYPT)) != NULL) {
		if (j->err != 0)
			p->tx.err = j->err;
		p->tx.unencrypted -= j->size;
		pipeline_release(pipe, PIPELINE_ENCRYPT);
	}
	if (p->tx.unencrypted == 0)
		p->tx.since_wake = 0;
}

/*
 * The number of bytes at the front of the ring that are encrypted. As long as
 * they are too few for a write(2), the loop encrypts too. The other packets are
 * left to the threads, which go on during the write.
 */
static size_t
gather_encrypted(struct packet *p)
{
	packet_tx_collect(p, false);
	while (p->tx.unencrypted > 0 && packet_tx_ready(p) < PACKET_TX_PIECE &&
	    pipeline_help(p->threads.pipe, PIPELINE_ENCRYPT))
		packet_tx_collect(p, false);
	return packet_tx_ready(p);
}

static int
fill_iov(const struct packet *p, size_t len, struct iovec iov[2])
{
	struct span piece[2];
	int count = packet_ring_pieces(&p->tx.ring, piece), used = 0;

	for (int i = 0; i < count && len > 0; i++) {
		iov[i].iov_base = (uint8_t *)(uintptr_t)piece[i].p;
		iov[i].iov_len = MIN(piece[i].len, len);
		len -= iov[i].iov_len;
		used++;
	}
	return used;
}

static void
wrote(struct packet *p, size_t n)
{
	if (p->tx.keep == NULL) {
		packet_ring_drop(&p->tx.ring, n);
		return;
	}
	p->tx.ring.kept += n;
	packet_keep_written(p);
}

int
packet_flush(struct packet *p)
{
	size_t ready = gather_encrypted(p);
	struct iovec iov[2];
	ssize_t n;
	int count;

	if (p->tx.err != 0)
		return p->tx.err;
	if (ready > 0) {
		count = fill_iov(p, ready, iov);
		n = fd_writev(p->fd_out, iov, count);
		if (n == -1 && errno != EAGAIN && errno != EWOULDBLOCK)
			return ERR_SYSTEM;
		if (n > 0)
			wrote(p, (size_t)n);
		if (n < (ssize_t)ready || n >= PACKET_TX_PIECE)
			packet_pace(p);
		if (n < (ssize_t)ready)
			return ERR_AGAIN;
	}
	return is_full(p) ? ERR_AGAIN : 0;
}

void
packet_disconnect(struct packet *p, enum ssh_disconnect reason,
    const char *text)
{
	struct buf b;

	p->tx.bulk = NULL;
	if (p->proxied)
		return; /* the master takes the closed socket as the end */
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_DISCONNECT);
	buf_put_u32(&b, reason);
	buf_put_cstring(&b, text);
	buf_put_cstring(&b, "");
	if (packet_put(p, &b) == 0) {
		packet_tx_collect(p, true);
		(void)!packet_flush(p);
	}
	buf_clear(&b);
}
