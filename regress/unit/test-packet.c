/* SPDX-License-Identifier: ISC */
/*
 * Two packet layers over a socketpair: one encrypts what the other decrypts,
 * for every cipher and MAC; what is changed on the way is noticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"

struct pair {
	int fd[2];
	struct packet *a, *b; /* client, server */
};

static void
pair_open(struct pair *t)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t->fd), 0);
	t->a = packet_new(t->fd[0], t->fd[0], false);
	t->b = packet_new(t->fd[1], t->fd[1], true);
	assert_non_null(t->a);
	assert_non_null(t->b);
}

static void
pair_close(struct pair *t)
{
	packet_free(t->a);
	packet_free(t->b);
	fd_close(&t->fd[0]);
	fd_close(&t->fd[1]);
}

static void
make_keys(struct packet_keys *k, const char *cipher, const char *mac, bool z)
{
	memset(k, 0, sizeof *k);
	k->cipher = cipher_by_name(cipher);
	assert_non_null(k->cipher);
	k->mac = k->cipher->needs_mac ? mac_by_name(mac) : NULL;
	k->compress = z;
	for (size_t i = 0; i < sizeof k->key; i++)
		k->key[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof k->iv; i++)
		k->iv[i] = (uint8_t)(0xff - i);
	for (size_t i = 0; i < sizeof k->mac_key; i++)
		k->mac_key[i] = (uint8_t)(i * 3 + 9);
}

static void
key_pair(struct pair *t, const char *cipher, const char *mac, bool z)
{
	struct packet_keys k;

	make_keys(&k, cipher, mac, z);
	assert_int_equal(packet_set_keys(t->a, PACKET_TX, &k, true), 0);
	assert_int_equal(packet_set_keys(t->b, PACKET_RX, &k, true), 0);
	assert_int_equal(packet_set_keys(t->b, PACKET_TX, &k, true), 0);
	assert_int_equal(packet_set_keys(t->a, PACKET_RX, &k, true), 0);
	assert_int_equal(packet_authenticated(t->a), 0);
	assert_int_equal(packet_authenticated(t->b), 0);
}

static int
put(struct packet *p, uint8_t type, const void *body, size_t len)
{
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, type);
	buf_put(&b, body, len);
	r = packet_put(p, &b);
	buf_clear(&b);
	return r;
}

/* Moves bytes until `to` has a packet; its result. */
static int
carry(struct packet *from, struct packet *to, struct rd *payload)
{
	int r;

	for (int i = 0; i < 10000; i++) {
		if ((r = packet_next(to, payload)) != 0)
			return r;
		r = packet_flush(from);
		if (r != 0 && r != ERR_AGAIN)
			return r;
		r = packet_fill(to);
		if (r < 0 && r != ERR_AGAIN)
			return r;
		if (r == ERR_AGAIN && packet_tx_pending(from) == 0)
			return 0;
	}
	return ERR_TIMEOUT;
}

static const size_t sizes[] = { 0, 1, 3, 7, 8, 15, 16, 17, 255, 4096, 32768,
	70000, 200000 };

static void
check_sizes(struct pair *t)
{
	uint8_t *body = malloc(200000);
	struct rd r;

	assert_non_null(body);
	for (size_t i = 0; i < 200000; i++)
		body[i] = (uint8_t)(i * i >> 5);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		assert_int_equal(put(t->a, 94, body, sizes[i]), 0);
		assert_int_equal(carry(t->a, t->b, &r), 1);
		assert_int_equal(rd_u8(&r), 94);
		assert_int_equal(r.len, sizes[i]);
		assert_memory_equal(r.p, body, sizes[i]);
	}
	free(body);
}

static void
test_every_cipher(void **state)
{
	(void)state;
	for (size_t c = 0; cipher_at(c) != NULL; c++) {
		const struct cipher_alg *alg = cipher_at(c);

		for (size_t m = 0; mac_at(m) != NULL; m++) {
			for (int z = 0; z < 2; z++) {
				struct pair t;

				pair_open(&t);
				check_sizes(&t); /* in clear */
				key_pair(&t, alg->name, mac_at(m)->name, z);
				check_sizes(&t);
				pair_close(&t);
			}
			if (!alg->needs_mac)
				break;
		}
	}
}

static void
test_bulk_in_place(void **state)
{
	struct pair t;
	struct rd r;
	uint8_t *p;
	int packets = 0;

	(void)state;
	pair_open(&t);
	key_pair(&t, "aes128-gcm@openssh.com", NULL, false);
	/* Fills the ring to its limit, drains it, many times around. */
	for (int round = 0; round < 40; round++) {
		while ((p = packet_bulk_begin(t.a, 32768 + 9)) != NULL) {
			memset(p, round, 30000);
			p[0] = 94;
			assert_int_equal(packet_bulk_commit(t.a, 30000), 0);
			packets++;
		}
		assert_true(packet_tx_pending(t.a) >= 1024 * 1024);
		while (packets > 0 && carry(t.a, t.b, &r) == 1) {
			assert_int_equal(r.len, 30000);
			assert_int_equal(r.p[29999], round);
			packets--;
		}
		assert_int_equal(packets, 0);
	}
	pair_close(&t);
}

static void
test_tampered(void **state)
{
	static const char *const ciphers[] = { "aes128-gcm@openssh.com",
		"chacha20-poly1305@openssh.com", "aes128-ctr", "aes128-cbc" };
	uint8_t wire[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ciphers); i++) {
		struct pair t;
		struct rd r;
		ssize_t n;
		int err;

		pair_open(&t);
		key_pair(&t, ciphers[i], "hmac-sha2-256-etm@openssh.com",
		    false);
		assert_int_equal(put(t.a, 94, "some secret text", 16), 0);
		assert_int_equal(packet_flush(t.a), 0);
		n = read(t.fd[1], wire, sizeof wire);
		assert_true(n > 20);
		wire[n / 2] ^= 1;
		assert_int_equal(write(t.fd[0], wire, (size_t)n), n);
		err = carry(t.a, t.b, &r);
		assert_int_equal(err, ERR_MAC);
		pair_close(&t);
	}
}

/*
 * With CBC and the MAC over the plain packet, whoever changes a packet must
 * not learn what its length decrypts to: a length out of range, one within it
 * and a wrong MAC all end the connection at the same byte, in the same way.
 */
static void
test_cbc_hides_refusals(void **state)
{
	enum { CHANGED = 3 };
	/* The first byte makes the length huge, one of the last is the MAC's;
	 * the second changes the length within its range or out of it. */
	static const int changed[CHANGED] = { 0, 1, -1 };

	(void)state;
	for (size_t i = 0; i < 2 * CHANGED; i++) {
		const size_t all = 4 + (size_t)CIPHER_LEN_MAX;
		uint8_t *wire = calloc(1, all);
		struct pair t;
		struct rd r;
		ssize_t n;
		int at = changed[i / 2];

		assert_non_null(wire);
		pair_open(&t);
		key_pair(&t, i % 2 == 0 ? "aes128-cbc" : "3des-cbc",
		    "hmac-sha2-256", false);
		assert_int_equal(put(t.a, 94, wire, 500), 0);
		assert_int_equal(packet_flush(t.a), 0);
		n = read(t.fd[1], wire, all);
		assert_true(n > 500);
		wire[at < 0 ? n - 1 : at] ^= 0x80;
		for (size_t sent = 0; sent < all - 1;) {
			size_t len = MIN(all - 1 - sent, (size_t)32000);

			assert_int_equal(write(t.fd[0], wire + sent, len), len);
			sent += len;
			assert_int_equal(carry(t.a, t.b, &r), 0);
		}
		assert_int_equal(write(t.fd[0], wire, 1), 1);
		assert_int_equal(carry(t.a, t.b, &r), ERR_MAC);
		pair_close(&t);
		free(wire);
	}
}

static void
test_bad_lengths(void **state)
{
	static const uint32_t bad[] = { 0, 1, 4, 5, 13, 0x40001, 0x7fffffff,
		0xffffffff };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct pair t;
		uint8_t head[4];
		struct rd r;

		pair_open(&t);
		wire_put_u32(head, bad[i]);
		assert_int_equal(write(t.fd[0], head, 4), 4);
		assert_int_equal(carry(t.a, t.b, &r), ERR_PACKET_LENGTH);
		pair_close(&t);
	}
}

static void
test_hold_keeps_order(void **state)
{
	static const uint8_t want[] = { SSH_MSG_KEXINIT, SSH_MSG_NEWKEYS, 94,
		95 };
	struct pair t;
	struct rd r;

	(void)state;
	pair_open(&t);
	assert_int_equal(put(t.a, SSH_MSG_KEXINIT, "x", 1), 0);
	assert_int_equal(packet_postpone(t.a, true), 0);
	assert_int_equal(put(t.a, 94, "a", 1), 0);
	assert_int_equal(put(t.a, 95, "b", 1), 0);
	assert_null(packet_bulk_begin(t.a, 100));
	assert_int_equal(put(t.a, SSH_MSG_NEWKEYS, "", 0), 0);
	assert_int_equal(packet_postpone(t.a, false), 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(carry(t.a, t.b, &r), 1);
		assert_int_equal(rd_u8(&r), want[i]);
	}
	pair_close(&t);
}

static void
test_record_and_replay(void **state)
{
	static const uint8_t want[] = { 90, 98, 94 };
	struct pair t;
	struct rd r;

	(void)state;
	pair_open(&t);
	packet_record(t.a, true);
	assert_int_equal(put(t.a, 90, "open", 4), 0);
	assert_int_equal(put(t.a, 98, "request", 7), 0);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	assert_int_equal(rd_u8(&r), 90);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	assert_int_equal(packet_replay(t.a), 0);
	assert_int_equal(put(t.a, 94, "not recorded", 12), 0);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	assert_int_equal(rd_u8(&r), want[0]);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	assert_int_equal(rd_u8(&r), want[1]);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	assert_int_equal(rd_u8(&r), want[2]);
	packet_record(t.a, true);
	assert_int_equal(put(t.a, 90, "open", 4), 0);
	packet_forget(t.a);
	assert_int_equal(packet_replay(t.a), 0);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	assert_int_equal(carry(t.a, t.b, &r), 0);
	pair_close(&t);
}

/* CVE-2025-26466: answers to pings must not pile up during key exchange. */
static void
test_ping_flood_is_bounded(void **state)
{
	struct pair t;
	struct packet_keys k;
	struct buf b;
	struct rd r;
	int err = 0;

	(void)state;
	pair_open(&t);
	make_keys(&k, "aes128-gcm@openssh.com", NULL, false);
	assert_int_equal(packet_set_keys(t.a, PACKET_TX, &k, true), 0);
	assert_int_equal(packet_set_keys(t.b, PACKET_RX, &k, true), 0);
	assert_int_equal(packet_postpone(t.b, true), 0);
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_PING);
	for (int i = 0; i < 1000; i++)
		buf_put_u8(&b, 0);
	((uint8_t *)(uintptr_t)buf_data(&b))[3] = 996 >> 8;
	((uint8_t *)(uintptr_t)buf_data(&b))[4] = 996 & 0xff;
	for (int i = 0; i < 1000 && err == 0; i++) {
		assert_int_equal(packet_put(t.a, &b), 0);
		err = carry(t.a, t.b, &r);
	}
	assert_int_equal(err, ERR_LIMIT);
	buf_clear(&b);
	pair_close(&t);
}

static void
test_ping_in_clear_is_refused(void **state)
{
	struct pair t;
	struct rd r;

	(void)state;
	pair_open(&t);
	assert_int_equal(put(t.a, SSH_MSG_PING, "\0\0\0\0", 4), 0);
	assert_int_equal(carry(t.a, t.b, &r), ERR_PROTOCOL);
	pair_close(&t);
}

/* Terrapin: in the first strict exchange nothing else may be slipped in. */
static void
test_strict_refuses_ignore(void **state)
{
	static const uint8_t types[] = { SSH_MSG_IGNORE, SSH_MSG_DEBUG,
		SSH_MSG_UNIMPLEMENTED, SSH_MSG_EXT_INFO };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct pair t;
		struct rd r;

		pair_open(&t);
		packet_set_expect(t.b, PACKET_EXPECT_STRICT);
		assert_int_equal(put(t.a, types[i], "\0\0\0\0", 4), 0);
		assert_int_equal(carry(t.a, t.b, &r), ERR_PROTOCOL);
		pair_close(&t);
	}
}

static void
test_export_import(void **state)
{
	static const char *const ciphers[] = { "aes128-gcm@openssh.com",
		"chacha20-poly1305@openssh.com", "aes256-ctr", "aes256-cbc",
		"3des-cbc" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ciphers); i++) {
		struct packet_keys k;
		struct packet *b2;
		struct pair t;
		struct buf st;
		struct rd r, in;

		pair_open(&t);
		make_keys(&k, ciphers[i], "umac-64@openssh.com", true);
		assert_int_equal(packet_set_keys(t.a, PACKET_TX, &k, true), 0);
		assert_int_equal(packet_set_keys(t.b, PACKET_RX, &k, true), 0);
		assert_int_equal(put(t.a, 94, "before", 6), 0);
		assert_int_equal(carry(t.a, t.b, &r), 1);
		/* Half a packet is in the buffer when state moves. */
		assert_int_equal(put(t.a, 95, "after the move", 14), 0);
		assert_int_equal(packet_flush(t.a), 0);
		assert_true(packet_fill(t.b) > 0);
		buf_init_secret(&st);
		assert_int_equal(packet_export(t.b, &st), 0);
		b2 = packet_new(t.fd[1], t.fd[1], true);
		in = rd_from_buf(&st);
		assert_int_equal(packet_import(b2, &in), 0);
		assert_int_equal(rd_end(&in), 0);
		assert_int_equal(packet_next(b2, &r), 1);
		assert_int_equal(rd_u8(&r), 95);
		assert_memory_equal(r.p, "after the move", 14);
		buf_clear(&st);
		packet_free(b2);
		pair_close(&t);
	}
}

/* hpnsshd-auth tells the state of a connection, and may be the peer's by then:
 * a length that no packet has is not believed. */
static void
test_import_of_lengths(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 5, 17, CIPHER_LEN_MAX + 16,
		UINT32_MAX, 32 };
	const size_t last = ARRAY_LEN(lengths) - 1;

	(void)state;
	for (size_t i = 0; i <= last; i++) {
		struct packet_keys k;
		struct packet *to;
		struct pair t;
		struct buf st;
		struct rd in;

		pair_open(&t);
		make_keys(&k, "aes128-gcm@openssh.com", NULL, true);
		assert_int_equal(packet_set_keys(t.b, PACKET_RX, &k, true), 0);
		t.b->rx.have_len = true;
		t.b->rx.len = lengths[i];
		buf_init_secret(&st);
		assert_int_equal(packet_export(t.b, &st), 0);
		to = packet_new(t.fd[1], t.fd[1], true);
		in = rd_from_buf(&st);
		assert_int_equal(packet_import(to, &in),
		    i < last ? ERR_FORMAT : 0);
		buf_clear(&st);
		packet_free(to);
		pair_close(&t);
	}
}

static void
note_line(void *arg, const char *text)
{
	(void)text;
	++*(int *)arg;
}

static void
test_identification(void **state)
{
	struct pair t;
	char *line = NULL;
	int others = 0, r = 0;
	static const char hello[] =
	    "welcome\r\nto us\nSSH-2.0-OpenSSH_10.5 x\r\n";

	(void)state;
	pair_open(&t);
	assert_int_equal(write(t.fd[1], hello, sizeof hello - 1),
	    sizeof hello - 1);
	assert_true(packet_fill(t.a) > 0);
	r = packet_read_identification(t.a, &line, note_line, &others);
	assert_int_equal(r, 1);
	assert_string_equal(line, "SSH-2.0-OpenSSH_10.5 x");
	assert_int_equal(others, 2);
	free(line);
	/* A server takes no other line first. */
	assert_int_equal(write(t.fd[0], "GET / HTTP/1.0\r\n", 16), 16);
	assert_true(packet_fill(t.b) > 0);
	assert_int_equal(packet_read_identification(t.b, &line, NULL, NULL),
	    ERR_PROTOCOL);
	pair_close(&t);
}

/* What may wait in the kernel is some milliseconds' worth of the path. */
static void
test_unsent_follows_rate(void **state)
{
	size_t least = packet_unsent_for(0), most = packet_unsent_for(1 << 30);

	(void)state;
	assert_int_equal(packet_unsent_for(1000 * 1000), least);
	assert_int_equal(packet_unsent_for(12500 * 1000), least);
	assert_int_equal(packet_unsent_for(UINT64_MAX), most);
	for (uint64_t rate = 25000 * 1000; rate < 400000 * 1000; rate *= 2) {
		size_t unsent = packet_unsent_for(rate);

		assert_true(unsent > least && unsent <= most);
		assert_in_range(unsent * 1000 / rate, 5, 10);
	}
}

/* Where nothing is known of the path, the ring takes what it always took;
 * where it is slow, packets are small. */
static void
test_room(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t);
	assert_int_equal(packet_tx_room(t.a), PACKET_TX_BULK);
	assert_int_equal(packet_bulk_max(t.a), 32 * 1024);
	t.a->tx.unsent = packet_unsent_for(0);
	assert_int_equal(packet_bulk_max(t.a), 32 * 1024);
	assert_int_equal(packet_tx_room(t.a), packet_unsent_for(0) / 2);
	t.a->tx.unsent = packet_unsent_for(1 << 30);
	assert_int_equal(packet_tx_room(t.a), PACKET_TX_BULK);
	assert_true(packet_bulk_max(t.a) > 252 * 1024);
	assert_non_null(packet_bulk_begin(t.a, packet_bulk_max(t.a)));
	assert_int_equal(packet_bulk_commit(t.a, 0), 0);
	pair_close(&t);
}

/* After bulk the buffers go back to their start, with what is in them. */
static void
test_trim(void **state)
{
	uint8_t body[30000] = { 1, 2, 3 };
	struct pair t;
	struct rd r;
	int n = 0;

	(void)state;
	pair_open(&t);
	key_pair(&t, "aes128-gcm@openssh.com", NULL, false);
	assert_false(packet_is_grown(t.a));
	for (int i = 0; i < 8; i++)
		assert_int_equal(put(t.a, SSH_MSG_CHANNEL_DATA, body,
				     sizeof body), 0);
	assert_true(packet_is_grown(t.a));
	packet_trim(t.a); /* in use: nothing is lost */
	while (carry(t.a, t.b, &r) == 1) {
		assert_int_equal(r.len, 1 + sizeof body);
		assert_memory_equal(r.p + 1, body, sizeof body);
		/* What has arrived behind it stays. */
		if (++n == 7)
			packet_trim(t.b);
	}
	assert_int_equal(n, 8);
	packet_trim(t.a);
	packet_trim(t.b);
	assert_false(packet_is_grown(t.a));
	assert_false(packet_is_grown(t.b));
	assert_int_equal(put(t.a, SSH_MSG_CHANNEL_DATA, body, sizeof body), 0);
	assert_int_equal(carry(t.a, t.b, &r), 1);
	pair_close(&t);
}

/* Small talk is dealt with below; it is counted all the same. */
static void
test_packets_before_authentication(void **state)
{
	struct packet_keys k;
	struct rd payload;
	struct pair t;
	int r = 0;
	size_t n;

	(void)state;
	pair_open(&t);
	make_keys(&k, "aes128-gcm@openssh.com", NULL, false);
	assert_int_equal(packet_set_keys(t.a, PACKET_TX, &k, true), 0);
	assert_int_equal(packet_set_keys(t.b, PACKET_RX, &k, true), 0);
	for (n = 0; n < 100 * 1000 && r == 0; n++) {
		assert_int_equal(put(t.a, SSH_MSG_IGNORE, "\0\0\0\0", 4), 0);
		if (n % 256 == 0)
			r = carry(t.a, t.b, &payload);
	}
	assert_int_equal(r, ERR_LIMIT);
	assert_in_range(n, 64 * 1024, 66 * 1024);
	pair_close(&t);
}

/* ---- through a master's proxy: no keys, and a form of its own ----------- */

static void
expect_bytes(int fd, const void *want, size_t len)
{
	uint8_t got[64];

	assert_int_equal(read(fd, got, sizeof got), len);
	assert_memory_equal(got, want, len);
}

static void
test_proxied_form(void **state)
{
	static const uint8_t close_7[] = { 0, 0, 0, 6, 0,
		SSH_MSG_CHANNEL_CLOSE, 0, 0, 0, 7 };
	/* 4 bytes of a message and padding; what is in that does not matter. */
	static const uint8_t failure[] = { 0, 0, 0, 5, 3,
		SSH_MSG_REQUEST_FAILURE };
	uint8_t got[64];
	struct rd r;
	struct pair t;

	(void)state;
	pair_open(&t);
	packet_set_proxied(t.a);
	assert_true(packet_is_authenticated(t.a));
	assert_int_equal(put(t.a, SSH_MSG_CHANNEL_CLOSE, "\0\0\0\7", 4), 0);
	assert_int_equal(packet_flush(t.a), 0);
	expect_bytes(t.fd[1], close_7, sizeof close_7);
	assert_int_equal(put(t.a, SSH_MSG_REQUEST_FAILURE, "", 0), 0);
	assert_int_equal(packet_flush(t.a), 0);
	assert_int_equal(read(t.fd[1], got, sizeof got), 9);
	assert_memory_equal(got, failure, sizeof failure);
	/* It must not end the connection of others. */
	packet_disconnect(t.a, SSH_DISCONNECT_BY_APPLICATION, "bye");
	assert_int_equal(packet_tx_pending(t.a), 0);

	/* The other way, with padding and without. */
	assert_int_equal(write(t.fd[1], failure, sizeof failure),
	    sizeof failure);
	assert_int_equal(write(t.fd[1], "xyz", 3), 3);
	assert_int_equal(write(t.fd[1], close_7, sizeof close_7),
	    sizeof close_7);
	assert_true(packet_fill(t.a) > 0);
	assert_int_equal(packet_next(t.a, &r), 1);
	assert_int_equal(rd_u8(&r), SSH_MSG_REQUEST_FAILURE);
	assert_int_equal(r.len, 0);
	assert_int_equal(packet_next(t.a, &r), 1);
	assert_int_equal(rd_u8(&r), SSH_MSG_CHANNEL_CLOSE);
	assert_int_equal(r.len, 4);
	assert_int_equal(packet_next(t.a, &r), 0);
	pair_close(&t);
}

/* All sizes, and no new keys are ever due. */
static void
test_proxied_bulk(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t);
	packet_set_proxied(t.a);
	packet_set_proxied(t.b);
	packet_set_rekey_limit(t.a, 1, 0);
	check_sizes(&t);
	assert_false(packet_rekey_due(t.a));
	assert_false(packet_rekey_due(t.b));
	pair_close(&t);
}

static void
test_proxied_master_that_breaks_the_rules(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
	} bad[] = {
		{ "\0\0\0\0", 4, ERR_PACKET_LENGTH },
		{ "\0\0\0\1\0", 5, ERR_PACKET_LENGTH }, /* no message */
		{ "\0\4\0\1", 4, ERR_PACKET_LENGTH },
		{ "\xff\xff\xff\xff", 4, ERR_PACKET_LENGTH },
		/* All of it is padding, or more than all. */
		{ "\0\0\0\6\5\x61\0\0\0\0", 10, ERR_PROTOCOL },
		{ "\0\0\0\6\xff\x61\0\0\0\0", 10, ERR_PROTOCOL },
		/* Messages that are no part of the connection protocol. */
		{ "\0\0\0\6\0\1\0\0\0\0", 10, ERR_PROTOCOL },
		{ "\0\0\0\6\0\2\0\0\0\0", 10, ERR_PROTOCOL },
		{ "\0\0\0\6\0\x14\0\0\0\0", 10, ERR_PROTOCOL }, /* KEXINIT */
		{ "\0\0\0\6\0\x32\0\0\0\0", 10, ERR_PROTOCOL }, /* USERAUTH */
		{ "\0\0\0\6\0\xc0\0\0\0\0", 10, ERR_PROTOCOL }, /* PING */
	};
	struct pair t;
	struct rd r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		pair_open(&t);
		packet_set_proxied(t.a);
		assert_int_equal(write(t.fd[1], bad[i].bytes, bad[i].len),
		    bad[i].len);
		assert_true(packet_fill(t.a) > 0);
		assert_int_equal(packet_next(t.a, &r), bad[i].err);
		pair_close(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cipher),
		cmocka_unit_test(test_bulk_in_place),
		cmocka_unit_test(test_tampered),
		cmocka_unit_test(test_cbc_hides_refusals),
		cmocka_unit_test(test_bad_lengths),
		cmocka_unit_test(test_hold_keeps_order),
		cmocka_unit_test(test_record_and_replay),
		cmocka_unit_test(test_ping_flood_is_bounded),
		cmocka_unit_test(test_ping_in_clear_is_refused),
		cmocka_unit_test(test_strict_refuses_ignore),
		cmocka_unit_test(test_export_import),
		cmocka_unit_test(test_import_of_lengths),
		cmocka_unit_test(test_identification),
		cmocka_unit_test(test_unsent_follows_rate),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_packets_before_authentication),
		cmocka_unit_test(test_proxied_form),
		cmocka_unit_test(test_proxied_bulk),
		cmocka_unit_test(test_proxied_master_that_breaks_the_rules),
	};

	log_init("test-packet", LOG_LVL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
