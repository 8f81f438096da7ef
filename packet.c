/* SPDX-License-Identifier: ISC */
#include "packet.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"

/*
 * REKEY_...: bytes, or packets, after which keys are renewed if the user set no
 * limit: 2^32 blocks of a cipher with 16 byte blocks (RFC 4344 section 3.2),
 * half of that for ChaCha20.
 */
#define REKEY_BLOCK16 ((uint64_t)1 << 36)
#define REKEY_STREAM ((uint64_t)1 << 35)
#define REKEY_PACKETS ((uint64_t)1 << 31)

struct packet *
packet_new(int fd_in, int fd_out, bool server)
{
	struct packet *p;

	if (fd_set_nonblock(fd_in, true) != 0 ||
	    fd_set_nonblock(fd_out, true) != 0)
		return NULL;
	if ((p = calloc(1, sizeof *p)) == NULL)
		return NULL;
	p->fd_in = fd_in;
	p->fd_out = fd_out;
	p->server = server;
	p->rekey.keyed_ms = clock_ms();
	return p;
}

void
packet_free(struct packet *p)
{
	if (p == NULL)
		return;
	pipeline_free(p->threads.pipe); /* first: threads use the buffers */
	for (int i = 0; i < 2; i++) {
		cipher_free(p->half[i].cipher);
		zstream_free(p->half[i].zlib);
	}
	packet_ring_clear(&p->tx.ring);
	packet_keep_free(p->tx.keep);
	buf_clear(&p->tx.postponed);
	buf_clear(&p->tx.recorded);
	buf_clear(&p->tx.plain);
	buf_clear(&p->rx.plain);
	free(p->rx.buf);
	free(p->rx.other);
	mem_free_secret(p, sizeof *p);
}

int
packet_fd_in(const struct packet *p)
{
	return p->fd_in;
}

int
packet_fd_out(const struct packet *p)
{
	return p->fd_out;
}

bool
packet_is_server(const struct packet *p)
{
	return p->server;
}

/* Starts compression, unless the user is not authenticated yet
 * (zlib@openssh.com). Called again with new keys, which need a new stream. */
static int
start_compression(struct packet *p, enum packet_dir dir)
{
	struct packet_half *h = &p->half[dir];

	zstream_free(h->zlib);
	h->zlib = NULL;
	if (!h->keys.compress || !p->authenticated)
		return 0;
	return zstream_new(&h->zlib, dir == PACKET_TX);
}

int
packet_set_keys(struct packet *p, enum packet_dir dir,
    const struct packet_keys *keys, bool strict)
{
	struct packet_half *h = &p->half[dir];
	struct cipher *c;
	int r;

	/* Jobs that encrypt use the old keys, and are waited for. There are no
	 * jobs that decrypt: see threads_may_decrypt() in packet-rx.c. */
	if (dir == PACKET_TX)
		packet_tx_collect(p, true);
	else if (packet_rx_posted(p))
		return ERR_PROTOCOL;
	r = cipher_new(&c, keys->cipher, keys->mac, dir == PACKET_TX,
	    keys->key, keys->iv, keys->mac_key);
	if (r != 0)
		return r;
	cipher_free(h->cipher);
	h->cipher = c;
	h->keys = *keys;
	h->pos.packet = 0;
	h->pos.block = 0;
	if (strict)
		h->pos.seqnr = 0;
	h->bytes_since_keys = 0;
	p->rekey.keyed_ms = clock_ms();
	packet_threads_set_keys(p, dir);
	log_debug2("%s: cipher %s, MAC %s",
	    dir == PACKET_TX ? "sending" : "receiving", keys->cipher->name,
	    packet_mac_name(p, dir));
	if (dir == PACKET_TX && p->tx.keep != NULL &&
	    (r = packet_keep_new_keys(p)) != 0)
		return r;
	return start_compression(p, dir);
}

const char *
packet_cipher_name(const struct packet *p, enum packet_dir dir)
{
	const struct packet_half *h = &p->half[dir];

	return h->cipher != NULL ? h->keys.cipher->name : "none";
}

const char *
packet_mac_name(const struct packet *p, enum packet_dir dir)
{
	const struct packet_half *h = &p->half[dir];

	if (h->cipher == NULL)
		return "none";
	return h->keys.mac != NULL ? h->keys.mac->name : "<implicit>";
}

void
packet_set_expect(struct packet *p, enum packet_expect expect)
{
	p->rx.expect = expect;
}

int
packet_authenticated(struct packet *p)
{
	int r;

	p->authenticated = true;
	if ((r = start_compression(p, PACKET_TX)) != 0)
		return r;
	return start_compression(p, PACKET_RX);
}

void
packet_set_proxied(struct packet *p)
{
	ENSURE(p->half[PACKET_TX].total.packets == 0 && p->rx.end == 0);
	p->proxied = p->authenticated = true;
	p->rx.expect = PACKET_EXPECT_CONNECTION;
}

bool
packet_is_authenticated(const struct packet *p)
{
	return p->authenticated;
}

void
packet_set_rekey_limit(struct packet *p, uint64_t bytes, uint32_t seconds)
{
	p->rekey.bytes = bytes;
	p->rekey.seconds = seconds;
}

static bool
half_due(const struct packet *p, const struct packet_half *h)
{
	uint64_t limit = p->rekey.bytes;

	if (h->cipher == NULL)
		return false;
	if (limit == 0)
		limit = h->keys.cipher->block_len >= 16 ? REKEY_BLOCK16 :
							  REKEY_STREAM;
	return h->bytes_since_keys >= limit || h->pos.packet >= REKEY_PACKETS;
}

int
packet_may_count(const struct packet_half *h)
{
	if (h->cipher == NULL || h->pos.packet < PACKET_KEYS_MAX)
		return 0;
	log_info("no new keys were to be had, and these are used up");
	return ERR_LIMIT;
}

bool
packet_rekey_due(const struct packet *p)
{
	if (!p->authenticated || p->tx.postponing)
		return false;
	if (p->rekey.seconds != 0 &&
	    clock_ms() - p->rekey.keyed_ms >= p->rekey.seconds * UINT64_C(1000))
		return true;
	return half_due(p, &p->half[PACKET_TX]) ||
	    half_due(p, &p->half[PACKET_RX]);
}

uint32_t
packet_rekey_wait_s(const struct packet *p)
{
	uint64_t age = (clock_ms() - p->rekey.keyed_ms) / 1000;

	if (p->rekey.seconds == 0 || !p->authenticated)
		return 0;
	return age >= p->rekey.seconds ? 1 : p->rekey.seconds - (uint32_t)age;
}

bool
packet_is_grown(const struct packet *p)
{
	return p->tx.ring.cap > PACKET_GROWN || p->rx.cap > PACKET_GROWN ||
	    p->rx.other != NULL;
}

void
packet_trim(struct packet *p)
{
	if (p->tx.bulk == NULL && packet_ring_used(&p->tx.ring) == 0)
		packet_ring_clear(&p->tx.ring);
	packet_rx_trim(p);
}

struct packet_counters
packet_counters(const struct packet *p, enum packet_dir dir)
{
	struct packet_counters n = p->half[dir].total;

	if (p->half[dir].zlib != NULL)
		zstream_totals(p->half[dir].zlib, &n.compressed, &n.inflated);
	return n;
}

const char *
packet_disconnect_text(const struct packet *p, uint32_t *reason)
{
	if (reason != NULL)
		*reason = p->disconnect_reason;
	return p->disconnect_text;
}
