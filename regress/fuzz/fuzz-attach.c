/* SPDX-License-Identifier: ISC */
/*
 * What the process of a session is handed to go on over: the states of a
 * connection, as hpnsshd-auth has told them, which may be the peer's. The input
 * changes bytes of states that a connection has had, or is the states. The
 * session must be what it was before, or go on.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"
#include "packet-keep.h"
#include "regress/fuzz/some.h"
#include "regress/unit/trusting-kex.h"

enum { KEEP = 64 * 1024, MESSAGES = 8, STEPS_MAX = 64 };

static void
must(bool right)
{
	if (!right)
		abort();
}

static void
set_keys(struct packet *p, uint8_t seed)
{
	struct packet_keys k = { .cipher = cipher_by_name(seed % 2 == 0 ?
			"aes128-gcm@openssh.com" :
			"chacha20-poly1305@openssh.com") };

	memset(k.key, seed, sizeof k.key);
	must(packet_set_keys(p, PACKET_TX, &k, true) == 0 &&
	    packet_set_keys(p, PACKET_RX, &k, true) == 0);
}

static struct packet *
connection(int fd[2], uint8_t seed)
{
	struct packet *p;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	must((p = packet_new(fd[0], fd[0], true)) != NULL);
	set_keys(p, seed);
	return p;
}

static void
leave(struct packet *p, int fd[2])
{
	packet_free(p);
	fd_close(&fd[0]);
	fd_close(&fd[1]);
}

/* The session, which has said something that nobody has acknowledged. */
static struct packet *
session(int fd[2])
{
	struct packet *p = connection(fd, 1);
	struct buf b = { 0 };

	must(packet_authenticated(p) == 0);
	must(packet_keep_begin(p, KEEP) == 0);
	packet_keep_count(p);
	buf_put_u8(&b, SSH_MSG_CHANNEL_DATA);
	buf_put_u32(&b, 0);
	for (int i = 0; i < MESSAGES; i++)
		must(packet_put(p, &b) == 0);
	must(packet_flush(p) == 0);
	buf_clear(&b);
	return p;
}

/* The states of another connection, which has half a packet in its buffer. */
static void
states(struct buf *packet_state, struct buf *kex_state)
{
	int fd[2];
	struct packet *p = connection(fd, 2);
	static const uint8_t some[40] = { 0, 0, 0, 32 };

	must(write(fd[1], some, sizeof some) == sizeof some);
	must(packet_fill(p) > 0);
	must(packet_export(p, packet_state) == 0);
	buf_put_string(kex_state, "session", 7);
	buf_put_cstring(kex_state, "SSH-2.0-client");
	buf_put_u32(kex_state, 0);
	buf_put_string(kex_state, "key", 3);
	for (int i = 0; i < 4; i++)
		buf_put_bool(kex_state, true);
	buf_put_cstring(kex_state, "curve25519-sha256");
	buf_put_cstring(kex_state, "ssh-ed25519");
	buf_put_cstring(kex_state, "aes128-gcm@openssh.com");
	buf_put_cstring(kex_state, "aes128-gcm@openssh.com");
	buf_put_cstring(kex_state, "");
	buf_put_cstring(kex_state, "");
	buf_put_bool(kex_state, false);
	buf_put_bool(kex_state, false);
	leave(p, fd);
}

/* Changes bytes where the input says, or puts the input in its place. */
static void
change(struct buf *b, struct rd *in)
{
	uint8_t *p = (uint8_t *)(uintptr_t)buf_data(b);

	if (rd_u8(in) % 8 == 0) {
		struct span all = fuzz_piece(in);

		buf_reset(b);
		buf_put(b, all.p, all.len);
		return;
	}
	for (uint8_t n = rd_u8(in) % 16; n > 0 && in->len >= 3; n--) {
		size_t at = rd_u16(in) % buf_len(b);

		p[at] = rd_u8(in);
	}
}

/* The exchange of keys of this connection, as go_on() of session-survive.c
 * makes it. */
static struct kex *
new_kex(struct packet *p)
{
	const struct kex_hooks hooks = { .check_hostkey = trusting_check,
		.hostkey_blob = trusting_blob,
		.sign = trusting_sign,
		.verify = trusting_verify };
	const struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		"aes128-gcm@openssh.com", "umac-64-etm@openssh.com", "none" };
	struct kex *k;

	must(kex_new(&k, p, &hooks, &mine, "SSH-2.0-s", "SSH-2.0-c") == 0);
	return k;
}

/* Reads what is there, over the connection that the session goes on by. */
static void
go_on(struct packet *p)
{
	struct rd payload;

	for (int i = 0; i < STEPS_MAX && packet_next(p, &payload) == 1; i++)
		;
	if (packet_fill(p) > 0)
		(void)!packet_next(p, &payload);
	(void)!packet_flush(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len), packet_rd, kex_rd;
	struct buf packet_state = { 0 }, kex_state = { 0 };
	int old[2], fd[2];
	struct packet *p, *fresh;
	struct kex *kex;
	uint64_t received = rd_u8(&in) % (MESSAGES + 2);

	log_set_level(LOG_LVL_QUIET);
	states(&packet_state, &kex_state);
	change(&packet_state, &in);
	change(&kex_state, &in);
	packet_rd = rd_from_buf(&packet_state);
	kex_rd = rd_from_buf(&kex_state);
	p = session(old);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	must((fresh = packet_new(fd[0], fd[0], true)) != NULL);
	kex = new_kex(fresh);
	if (packet_import(fresh, &packet_rd) == 0 &&
	    kex_import(kex, &kex_rd) == 0 && packet_authenticated(fresh) == 0 &&
	    packet_resume(p, fresh, received) == 0) {
		must(received <= MESSAGES);
		go_on(p);
	}
	kex_free(kex);
	leave(fresh, fd);
	leave(p, old);
	buf_clear(&packet_state);
	buf_clear(&kex_state);
	return 0;
}
