/* SPDX-License-Identifier: ISC */
/*
 * A session whose transport breaks goes on over another: each message arrives
 * once and in order, wherever the break was. The session is cut at every byte
 * of each direction, with exchanges of keys in it; with threads, at many. And a
 * peer that lies about what it has is refused.
 */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-internal.h"
#include "packet-keep.h"

enum { KEEP = 8 * 1024 * 1024, TURNS = 100 * 1000 };

/* One end of the session. wire is our end of its socket. */
struct end {
	struct packet *p;
	int fd, wire;
	uint32_t sent, got;
	bool exchanging;
	uint8_t key; /* of the keys that an exchange sets next */
};

struct plan {
	uint32_t messages; /* each way */
	size_t most;	   /* bytes of a message */
	uint32_t rekey_at; /* message of the client before which keys change */
	bool threads;
	const char *cipher;
};

struct session {
	const struct plan *plan;
	struct end end[2]; /* client, server */
	uint8_t *bytes;	   /* what messages are made of */
	uint8_t key;	   /* of the next transport */
	size_t moved[2];   /* bytes on this transport, by their sender */
};

static const uint8_t types[] = { SSH_MSG_CHANNEL_DATA, SSH_MSG_CHANNEL_REQUEST,
	SSH_MSG_CHANNEL_WINDOW_ADJUST, SSH_MSG_IGNORE, SSH_MSG_CHANNEL_DATA,
	SSH_MSG_PING };

static size_t
length_of(const struct session *s, uint32_t i)
{
	return 1 + (i * 7919u) % s->plan->most;
}

static void
set_keys(const struct session *s, struct packet *p, enum packet_dir dir,
    uint8_t seed)
{
	struct packet_keys k = { .cipher = cipher_by_name(s->plan->cipher) };
	bool to_server = packet_is_server(p) == (dir == PACKET_RX);

	k.mac = k.cipher->needs_mac ? mac_at(0) : NULL;
	memset(k.key, seed * 2 + to_server, sizeof k.key);
	memset(k.iv, seed + 100, sizeof k.iv);
	memset(k.mac_key, seed + 50, sizeof k.mac_key);
	assert_int_equal(packet_set_keys(p, dir, &k, true), 0);
}

/* A transport for which a login has been done. */
static struct packet *
transport(struct session *s, struct end *e, bool server)
{
	int fd[2];
	struct packet *p;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(fd_set_nonblock(fd[1], true), 0);
	e->fd = fd[0];
	e->wire = fd[1];
	p = packet_new(fd[0], fd[0], server);
	assert_non_null(p);
	set_keys(s, p, PACKET_TX, s->key);
	set_keys(s, p, PACKET_RX, s->key);
	assert_int_equal(packet_authenticated(p), 0);
	return p;
}

static void
with_threads(const struct session *s, struct packet *p)
{
	if (s->plan->threads)
		(void)packet_threads_start(p, 2);
}

static void
session_open(struct session *s, const struct plan *plan)
{
	*s = (struct session){ .plan = plan, .key = 1 };
	s->bytes = malloc(plan->most + 4096);
	assert_non_null(s->bytes);
	fill_bytes(s->bytes, plan->most + 4096, 5);
	for (int i = 0; i < 2; i++) {
		struct end *e = &s->end[i];

		e->p = transport(s, e, i == 1);
		with_threads(s, e->p);
		assert_int_equal(packet_keep_begin(e->p, KEEP), 0);
		packet_keep_count(e->p);
		packet_handled(e->p); /* the grant */
	}
}

static void
session_close(struct session *s)
{
	for (int i = 0; i < 2; i++) {
		packet_free(s->end[i].p);
		fd_close(&s->end[i].fd);
		fd_close(&s->end[i].wire);
	}
	free(s->bytes);
}

static void
put(struct packet *p, uint8_t type, struct span body)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, type);
	if (type == SSH_MSG_PING)
		buf_put_string(&b, body.p, body.len);
	else
		buf_put(&b, body.p, body.len);
	assert_int_equal(packet_put(p, &b), 0);
	buf_clear(&b);
}

static void
send_next(struct session *s, struct end *e)
{
	uint8_t type = types[e->sent % ARRAY_LEN(types)];
	uint8_t number[4];
	struct buf b;

	wire_put_u32(number, e->sent);
	buf_init(&b);
	buf_put(&b, number, sizeof number);
	buf_put(&b, s->bytes + e->sent % 4096, length_of(s, e->sent));
	put(e->p, type, buf_span(&b));
	buf_clear(&b);
	e->sent++;
}

static bool
is_kept_type(uint8_t type)
{
	return type != SSH_MSG_IGNORE && type != SSH_MSG_PING;
}

/* ---- exchanges of keys -------------------------------------------------- */

static void
begin_exchange(struct end *e)
{
	e->exchanging = true;
	put(e->p, SSH_MSG_KEXINIT, (struct span){ 0 });
	assert_int_equal(packet_postpone(e->p, true), 0);
}

static void
send_newkeys(const struct session *s, struct end *e)
{
	put(e->p, SSH_MSG_NEWKEYS, (struct span){ 0 });
	set_keys(s, e->p, PACKET_TX, e->key);
	assert_int_equal(packet_postpone(e->p, false), 0);
}

static void
on_exchange(const struct session *s, struct end *e, uint8_t type)
{
	bool server = e == &s->end[1];

	switch (type) {
	case SSH_MSG_KEXINIT:
		packet_set_expect(e->p, PACKET_EXPECT_KEX);
		if (server)
			begin_exchange(e);
		else
			put(e->p, SSH_MSG_KEX_INIT, (struct span){ 0 });
		break;
	case SSH_MSG_KEX_INIT:
		put(e->p, SSH_MSG_KEX_REPLY, (struct span){ 0 });
		send_newkeys(s, e);
		break;
	case SSH_MSG_KEX_REPLY:
		send_newkeys(s, e);
		break;
	default:
		assert_int_equal(type, SSH_MSG_NEWKEYS);
		set_keys(s, e->p, PACKET_RX, e->key);
		packet_set_expect(e->p, PACKET_EXPECT_ANY);
		e->exchanging = false;
	}
}

/* ---- turns -------------------------------------------------------------- */

static void
take(const struct session *s, struct end *e, struct rd r)
{
	uint8_t type = rd_u8(&r);

	if (ssh_msg_is_kex(type)) {
		on_exchange(s, e, type);
		return;
	}
	while (!is_kept_type(types[e->got % ARRAY_LEN(types)]))
		e->got++; /* may have been lost, and is not for us */
	assert_int_equal(type, types[e->got % ARRAY_LEN(types)]);
	assert_int_equal(rd_u32(&r), e->got);
	assert_int_equal(r.len, length_of(s, e->got));
	assert_memory_equal(r.p, s->bytes + e->got % 4096, r.len);
	e->got++;
}

static void
take_all(const struct session *s, struct end *e)
{
	struct rd payload;
	int r;

	while ((r = packet_next(e->p, &payload)) == 1) {
		take(s, e, payload);
		packet_handled(e->p);
	}
	assert_int_equal(r, 0);
}

/* Moves what one end has written, but not more than until a sum of left bytes;
 * false: that was reached. */
static bool
carry(struct session *s, int from, size_t left)
{
	static uint8_t bytes[64 * 1024];
	size_t most;
	ssize_t n;

	if (left <= s->moved[from])
		return false;
	most = MIN(sizeof bytes, left - s->moved[from]);
	n = recv(s->end[from].wire, bytes, most, 0);
	if (n <= 0)
		return true;
	for (ssize_t at = 0, r; at < n; at += r) {
		r = send(s->end[!from].wire, bytes + at, (size_t)(n - at), 0);
		if (r < 0) {
			r = 0; /* full: the end reads */
			if (packet_fill(s->end[!from].p) > 0)
				take_all(s, &s->end[!from]);
		}
	}
	s->moved[from] += (size_t)n;
	return s->moved[from] < left;
}

static void
turn(struct session *s, struct end *e)
{
	uint32_t again;
	int r;

	if (e == &s->end[0] && e->sent == s->plan->rekey_at && !e->exchanging) {
		e->key++;
		s->end[1].key = e->key;
		begin_exchange(e);
		send_next(s, e);
	}
	for (int i = 0; i < 3 && e->sent < s->plan->messages &&
	     packet_has_room(e->p); i++) {
		if (e == &s->end[0] && e->sent == s->plan->rekey_at)
			break;
		send_next(s, e);
	}
	assert_int_equal(packet_keep_poll(e->p, &again), 0);
	r = packet_flush(e->p);
	assert_true(r == 0 || r == ERR_AGAIN);
	r = packet_fill(e->p);
	assert_true(r > 0 || r == ERR_AGAIN);
	take_all(s, e);
}

static bool
is_done(const struct session *s)
{
	const struct plan *plan = s->plan;

	for (int i = 0; i < 2; i++) {
		uint32_t got = s->end[i].got;

		while (got < plan->messages &&
		    !is_kept_type(types[got % ARRAY_LEN(types)]))
			got++;
		if (got < plan->messages ||
		    s->end[i].sent < plan->messages)
			return false;
	}
	return !s->end[0].exchanging && !s->end[1].exchanging;
}

/* Runs until all is there, or until a side has written so many bytes to this
 * transport: false. */
static bool
run_until(struct session *s, const size_t left[2])
{
	for (int i = 0; i < TURNS; i++) {
		turn(s, &s->end[0]);
		if (!carry(s, 0, left[0]))
			return false;
		turn(s, &s->end[1]);
		if (!carry(s, 1, left[1]))
			return false;
		if (is_done(s))
			return true;
	}
	fail_msg("the session does not go on");
	return false;
}

/* The transport is lost with all that is on it, and another takes its place. */
static void
change_transport(struct session *s)
{
	struct packet *fresh[2];
	uint64_t received[2];

	s->key += 2;
	for (int i = 0; i < 2; i++) {
		struct end *e = &s->end[i];

		fd_close(&e->fd);
		fd_close(&e->wire);
		received[i] = packet_received(e->p);
		fresh[i] = transport(s, e, i == 1);
		e->exchanging = false;
		e->key = s->key + 1;
	}
	for (int i = 0; i < 2; i++) {
		struct end *e = &s->end[i];

		assert_int_equal(packet_resume(e->p, fresh[i], received[!i]),
		    0);
		assert_int_equal(packet_fd_in(e->p), e->fd);
		packet_free(fresh[i]);
		with_threads(s, e->p);
		s->moved[i] = 0;
	}
}

/* Cuts a session when a side has written so many bytes, and its second
 * transport, too. Returns whether the first was cut. */
static bool
run_cut(const struct plan *plan, int side, size_t at)
{
	const size_t all[2] = { SIZE_MAX, SIZE_MAX };
	size_t left[2] = { SIZE_MAX, SIZE_MAX };
	struct session s;
	bool cut;

	session_open(&s, plan);
	left[side] = at;
	cut = !run_until(&s, left);
	if (cut) {
		change_transport(&s);
		left[side] = SIZE_MAX;
		left[!side] = at * 13 % 1500 + 1;
		if (!run_until(&s, left)) {
			change_transport(&s);
			assert_true(run_until(&s, all));
		}
	}
	session_close(&s);
	return cut;
}

static void
cut_everywhere(const struct plan *plan, size_t step)
{
	for (int side = 0; side < 2; side++) {
		size_t at = 1;

		while (run_cut(plan, side, at))
			at += step;
		assert_true(at > 20 * step);
	}
}

static void
test_every_byte(void **state)
{
	const struct plan plan = { .messages = 24, .most = 40,
		.rekey_at = UINT32_MAX, .cipher = "aes128-gcm@openssh.com" };

	(void)state;
	cut_everywhere(&plan, 1);
}

static void
test_every_byte_with_an_exchange(void **state)
{
	const struct plan plan = { .messages = 16, .most = 30, .rekey_at = 9,
		.cipher = "chacha20-poly1305@openssh.com" };

	(void)state;
	cut_everywhere(&plan, 1);
}

static void
test_other_ciphers(void **state)
{
	static const char *const names[] = { "aes256-ctr",
		"aes256-gcm@openssh.com" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct plan plan = { .messages = 30, .most = 300,
			.rekey_at = 20, .cipher = names[i] };

		cut_everywhere(&plan, 37);
	}
}

static void
test_threads(void **state)
{
	const struct plan plan = { .messages = 60, .most = 120 * 1024,
		.rekey_at = 40, .threads = true,
		.cipher = "aes128-gcm@openssh.com" };

	(void)state;
	cut_everywhere(&plan, 100 * 1000);
}

/* ---- liars -------------------------------------------------------------- */

/* The server has messages of the client, of which some are told. */
static void
open_for_lies(struct session *s, const struct plan *plan)
{
	session_open(s, plan);
	for (int i = 0; i < 20; i++) {
		turn(s, &s->end[0]);
		(void)carry(s, 0, SIZE_MAX);
		turn(s, &s->end[1]);
		(void)carry(s, 1, SIZE_MAX);
	}
}

static int
say_received(struct session *s, uint64_t n)
{
	struct rd payload;
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_RECEIVED);
	buf_put_u64(&b, n);
	assert_int_equal(packet_put(s->end[1].p, &b), 0);
	buf_clear(&b);
	assert_int_equal(packet_flush(s->end[1].p), 0);
	(void)carry(s, 1, SIZE_MAX);
	assert_true(packet_fill(s->end[0].p) > 0);
	do {
		r = packet_next(s->end[0].p, &payload);
	} while (r == 1);
	return r;
}

static const struct plan few = { .messages = 12, .most = 40,
	.rekey_at = UINT32_MAX, .cipher = "aes128-gcm@openssh.com" };

static void
test_false_counts(void **state)
{
	static const uint64_t lies[] = { 0, 1, 100, UINT64_MAX,
		(uint64_t)1 << 32 };
	struct session s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		uint64_t has;

		open_for_lies(&s, &few);
		has = packet_received(s.end[1].p);
		assert_true(has > 2);
		assert_int_equal(say_received(&s, has), 0);
		assert_int_equal(say_received(&s, has), 0); /* again: fine */
		assert_int_equal(say_received(&s, lies[i]), ERR_PROTOCOL);
		session_close(&s);
	}
}

/* What lies in the ring, but was not sent, nobody can have. */
static void
test_not_sent_yet(void **state)
{
	struct session s;
	uint64_t has;

	(void)state;
	open_for_lies(&s, &few);
	has = packet_received(s.end[1].p);
	put(s.end[0].p, SSH_MSG_CHANNEL_DATA, span_text("not sent"));
	assert_int_equal(say_received(&s, has + 1), ERR_PROTOCOL);
	session_close(&s);
}

static void
test_false_counts_at_a_return(void **state)
{
	static const int lies[] = { -3, 1, 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct session s;
		struct packet *fresh;
		struct end e = { 0 };
		uint64_t has;

		open_for_lies(&s, &few);
		has = packet_received(s.end[1].p);
		assert_int_equal(say_received(&s, has), 0);
		s.key = 40;
		fresh = transport(&s, &e, false);
		assert_int_equal(packet_resume(s.end[0].p, fresh,
				     has + (uint64_t)(int64_t)lies[i]),
		    ERR_PROTOCOL);
		packet_free(fresh);
		fd_close(&e.fd);
		fd_close(&e.wire);
		session_close(&s);
	}
}

/* Whoever acknowledges nothing stops bulk, and no more than was granted is
 * kept. */
static void
test_no_acknowledgement(void **state)
{
	struct session s;
	size_t put_bytes = 0;
	uint8_t *room;

	(void)state;
	session_open(&s, &few);
	while ((room = packet_bulk_begin(s.end[0].p, 32 * 1024)) != NULL) {
		room[0] = SSH_MSG_CHANNEL_DATA;
		assert_int_equal(packet_bulk_commit(s.end[0].p, 32 * 1024), 0);
		put_bytes += 32 * 1024;
		assert_true(put_bytes <= KEEP);
		for (int i = 0; i < 3; i++) {
			(void)!packet_flush(s.end[0].p);
			(void)carry(&s, 0, SIZE_MAX);
			while (packet_fill(s.end[1].p) > 0)
				s.end[1].p->rx.off = s.end[1].p->rx.end;
		}
	}
	assert_int_equal(packet_tx_pending(s.end[0].p), 0);
	assert_int_equal(packet_flush(s.end[0].p), ERR_AGAIN);
	session_close(&s);
}

/* Takes what was sent off the wire, and reads none of it. */
static void
drain(struct end *e)
{
	static uint8_t bytes[64 * 1024];
	int r = packet_flush(e->p);

	assert_true(r == 0 || r == ERR_AGAIN);
	while (recv(e->wire, bytes, sizeof bytes, 0) > 0)
		;
}

/* Nor does one get much kept who asks without end for what is answered at
 * once, and acknowledges nothing: the connection ends. */
static void
test_answers_without_end(void **state)
{
	const struct plan plan = { .cipher = "aes128-gcm@openssh.com" };
	struct session s = { .plan = &plan, .key = 1 };
	struct end *e = &s.end[0];
	uint64_t n = 0, acked;
	int r = 0;

	(void)state;
	e->p = transport(&s, e, true);
	assert_int_equal(packet_keep_begin(e->p, 1000), 0);
	while (r == 0 && n <= 2 * 1024 * 1024) {
		const uint8_t failure = SSH_MSG_REQUEST_FAILURE;
		struct buf b;

		buf_init(&b);
		buf_put_u8(&b, failure);
		r = packet_put(e->p, &b);
		buf_clear(&b);
		n += r == 0;
		if (n % 1000 == 0)
			drain(e);
	}
	assert_int_equal(r, ERR_LIMIT);
	assert_int_equal(packet_unacked(e->p, &acked), n);
	assert_true(n > 100 * 1000);
	assert_true(e->p->tx.ring.cap <= 64 * 1024 * 1024);
	packet_free(e->p);
	fd_close(&e->fd);
	fd_close(&e->wire);
}

static void
test_what_cannot_be_kept(void **state)
{
	static const char *const names[] = { "none", "aes128-cbc" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct plan plan = { .cipher = names[i] };
		struct session s = { .plan = &plan, .key = 1 };
		struct packet *p = transport(&s, &s.end[0], false);

		assert_int_equal(packet_keep_begin(p, KEEP), ERR_UNSUPPORTED);
		packet_free(p);
		fd_close(&s.end[0].fd);
		fd_close(&s.end[0].wire);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_every_byte_with_an_exchange),
		cmocka_unit_test(test_other_ciphers),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_false_counts),
		cmocka_unit_test(test_not_sent_yet),
		cmocka_unit_test(test_false_counts_at_a_return),
		cmocka_unit_test(test_no_acknowledgement),
		cmocka_unit_test(test_answers_without_end),
		cmocka_unit_test(test_what_cannot_be_kept),
	};

	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
