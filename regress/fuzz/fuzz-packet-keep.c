/* SPDX-License-Identifier: ISC */
/*
 * A session that survives its transport, beside a peer that says any numbers:
 * what is put, written, told as received, put under new keys and taken to
 * another transport follows from the input. The peer reads with the right keys;
 * it must find the messages in order from the number on that it named, and no
 * number may be taken that the session could not have meant.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"
#include "packet-keep.h"
#include "regress/fuzz/fuzz.h"

enum { KEEP = 256 * 1024, MESSAGE_MAX = 40 * 1024 };

struct world {
	struct packet *p, *peer;
	int fd[2];
	uint8_t key;
	uint64_t put, acked, written; /* as it must be */
	uint64_t expected; /* number of the next message that comes */
};

static void
set_keys(struct packet *p, enum packet_dir dir, uint8_t seed)
{
	struct packet_keys k = { .cipher = cipher_by_name(seed % 2 == 0 ?
			"aes128-gcm@openssh.com" :
			"chacha20-poly1305@openssh.com") };

	memset(k.key, seed, sizeof k.key);
	if (packet_set_keys(p, dir, &k, true) != 0)
		abort();
}

/* Another transport with a login. */
static struct packet *
transport(struct world *w)
{
	struct packet *p;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, w->fd) != 0)
		abort();
	w->key++;
	p = packet_new(w->fd[0], w->fd[0], false);
	w->peer = packet_new(w->fd[1], w->fd[1], true);
	if (p == NULL || w->peer == NULL)
		abort();
	set_keys(p, PACKET_TX, w->key);
	set_keys(p, PACKET_RX, w->key);
	set_keys(w->peer, PACKET_RX, w->key);
	if (packet_authenticated(p) != 0 || packet_authenticated(w->peer) != 0)
		abort();
	return p;
}

static void
leave_transport(struct world *w)
{
	packet_free(w->peer);
	fd_close(&w->fd[0]);
	fd_close(&w->fd[1]);
}

static int
put_message(struct world *w, uint8_t type, size_t len)
{
	static uint8_t zeros[MESSAGE_MAX];
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, type);
	buf_put_u64(&b, w->put);
	buf_put(&b, zeros, len % MESSAGE_MAX);
	r = packet_put(w->p, &b);
	buf_clear(&b);
	if (r == 0 && type >= 80)
		w->put++;
	return r;
}

/* The peer reads what was written. */
static void
read_all(struct world *w)
{
	struct rd payload;
	uint8_t type;

	while (packet_fill(w->peer) > 0)
		while (packet_next(w->peer, &payload) == 1) {
			type = rd_u8(&payload);
			if (type == SSH_MSG_NEWKEYS)
				set_keys(w->peer, PACKET_RX, w->key);
			else if (rd_u64(&payload) != w->expected++)
				abort();
		}
}

static int
write_some(struct world *w)
{
	int r = packet_flush(w->p);

	if (packet_tx_pending(w->p) == 0)
		w->written = w->put;
	return r == ERR_AGAIN ? 0 : r;
}

/* Is what became of this number right? */
static void
judge(struct world *w, uint64_t n, int r)
{
	if (r == 0 && (n < w->acked || n > w->put))
		abort();
	if (r != 0 && n >= w->acked && n <= w->written)
		abort();
	w->acked = n;
}

static int
receive_number(struct world *w, uint64_t n)
{
	struct buf b;
	struct rd r;
	int err;

	buf_init(&b);
	buf_put_u64(&b, n);
	r = rd_from_buf(&b);
	err = packet_keep_on_received(w->p, &r);
	buf_clear(&b);
	judge(w, n, err);
	return err;
}

static int
new_keys(struct world *w)
{
	struct buf b;
	int r;

	/* The peer's part of an exchange comes after it has read all. */
	for (int i = 0; packet_tx_pending(w->p) > 0; i++) {
		if (i > 1000 || write_some(w) != 0)
			abort();
		read_all(w);
	}
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_NEWKEYS);
	r = packet_put(w->p, &b);
	buf_clear(&b);
	if (r != 0)
		return r;
	w->key++;
	set_keys(w->p, PACKET_TX, w->key);
	w->acked = w->written = w->put;
	return 0;
}

static int
resume(struct world *w, uint64_t n)
{
	struct packet *fresh;
	int r;

	leave_transport(w);
	fresh = transport(w);
	r = packet_resume(w->p, fresh, n);
	packet_free(fresh);
	judge(w, n, r);
	w->written = w->expected = n;
	return r;
}

/* A number near one that may be, or any. */
static uint64_t
some_number(const struct world *w, struct rd *in)
{
	uint8_t how = rd_u8(in);

	if (how == 255)
		return rd_u64(in);
	return (how < 128 ? w->acked : w->put) + how % 16 - 4;
}

static int
step(struct world *w, struct rd *in)
{
	switch (rd_u8(in) % 8) {
	case 0:
	case 1:
		return put_message(w, SSH_MSG_CHANNEL_DATA, rd_u16(in));
	case 2:
		return put_message(w, SSH_MSG_CHANNEL_WINDOW_ADJUST,
		    rd_u8(in));
	case 3:
	case 4:
		return write_some(w);
	case 5:
		read_all(w);
		return 0;
	case 6:
		return receive_number(w, some_number(w, in));
	default:
		return rd_u8(in) % 4 == 0 ? new_keys(w) :
					    resume(w, some_number(w, in));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len);
	struct world w = { .key = 0 };

	log_set_level(LOG_LVL_QUIET);
	w.p = transport(&w);
	if (packet_keep_begin(w.p, KEEP) != 0)
		abort();
	packet_keep_count(w.p);
	packet_handled(w.p);
	for (int i = 0; i < 500 && in.len > 0; i++) {
		if (step(&w, &in) != 0)
			break;
		if (w.p->tx.ring.kept > packet_ring_used(&w.p->tx.ring) ||
		    packet_ring_used(&w.p->tx.ring) >
			PACKET_TX_MAX + packet_keep_most(w.p))
			abort();
	}
	leave_transport(&w);
	packet_free(w.p);
	return 0;
}
