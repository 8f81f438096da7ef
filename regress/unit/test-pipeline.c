/* SPDX-License-Identifier: ISC */
/*
 * Packets encrypted and decrypted by threads: the bytes are those of the serial
 * path, in its order, whatever the threads do, while keys change, the
 * process forks, and connections end.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/rand.h"
#include "packet-internal.h"
#include "pipeline.h"
#include "regress/unit/help.h"

static const struct {
	const char *cipher, *mac;
} suites[] = {
	{ "aes128-gcm@openssh.com", NULL },
	{ "chacha20-poly1305@openssh.com", NULL },
	{ "aes128-ctr", "umac-64-etm@openssh.com" },
	{ "aes256-ctr", "hmac-sha2-256" }, /* encrypt-and-MAC */
};

static const size_t thread_counts[] = { 0, 1, 4 };

static void
no_wake(void *arg)
{
	(void)arg;
}

/* ---- the pipeline alone ------------------------------------------------ */

enum { AREA = 8 * 1024 * 1024, PACKETS = 700 };

struct layout {
	struct cipher_pos pos;
	size_t at; /* in the area */
	uint32_t len;
};

struct stream {
	struct packet_keys keys;
	struct layout v[PACKETS];
	size_t size;		    /* bytes used */
	uint8_t *plain, *encrypted;    /* AREA bytes each */
	struct cipher *enc, *dec;
};

static void
make_keys(struct packet_keys *k, size_t suite)
{
	memset(k, 0, sizeof *k);
	k->cipher = cipher_by_name(suites[suite].cipher);
	if (suites[suite].mac != NULL)
		k->mac = mac_by_name(suites[suite].mac);
	rand_bytes(k->key, sizeof k->key);
	rand_bytes(k->iv, sizeof k->iv);
	rand_bytes(k->mac_key, sizeof k->mac_key);
}

static void
make_cipher(struct cipher **c, const struct packet_keys *k, bool encrypts)
{
	assert_int_equal(cipher_new(c, k->cipher, k->mac, encrypts, k->key,
			     k->iv,
			     k->mac_key),
	    0);
}

/* Lays out packets of all sizes and seals them one after the other. */
static void
make_stream(struct stream *s, size_t suite)
{
	struct cipher_pos pos = { .seqnr = UINT32_MAX - 20 };
	size_t at = 0;

	make_keys(&s->keys, suite);
	make_cipher(&s->enc, &s->keys, true);
	make_cipher(&s->dec, &s->keys, false);
	s->plain = malloc(AREA);
	s->encrypted = malloc(AREA);
	assert_non_null(s->plain);
	assert_non_null(s->encrypted);
	rand_bytes(s->plain, AREA);
	for (size_t i = 0; i < PACKETS; i++) {
		uint32_t most = rand_uniform(4) == 0 ? 2000 : 32;
		uint32_t len = 16 * (1 + rand_uniform(most));

		if (!cipher_length_apart(s->enc))
			len -= 4;
		s->v[i] = (struct layout){ pos, at, len };
		wire_put_u32(s->plain + at, len);
		at += 4 + len + cipher_tag_len(s->enc);
		assert_true(at < AREA);
		pos.seqnr++;
		pos.packet++;
		pos.block += cipher_blocks(s->enc, len);
	}
	s->size = at;
	memcpy(s->encrypted, s->plain, at);
	for (size_t i = 0; i < PACKETS; i++)
		assert_int_equal(cipher_encrypt(s->enc, &s->v[i].pos,
				     s->encrypted + s->v[i].at, s->v[i].len),
		    0);
}

static void
free_stream(struct stream *s)
{
	cipher_free(s->enc);
	cipher_free(s->dec);
	free(s->plain);
	free(s->encrypted);
}

static void
post(struct pipeline *pl, enum pipeline_dir dir, const struct layout *l,
    uint8_t *area)
{
	struct pipeline_job *j = pipeline_next(pl, dir);

	assert_non_null(j);
	j->pos = l->pos;
	j->pkt = area + l->at;
	j->len = l->len;
	j->err = 1;
	pipeline_post(pl, dir);
}

/* All packets through a dir, the loop helping now and then. */
static void
push_through(struct pipeline *pl, enum pipeline_dir dir,
    const struct stream *s, uint8_t *area)
{
	size_t posted = 0, collected = 0;
	uint32_t len;

	while (collected < PACKETS) {
		const struct pipeline_job *j;

		while (posted < PACKETS &&
		    pipeline_next(pl, dir) != NULL) {
			const struct layout *l = &s->v[posted++];

			if (dir == PIPELINE_DECRYPT) {
				assert_int_equal(
				    cipher_decrypt_length(
					s->dec, &l->pos, area + l->at, &len),
				    0);
				assert_int_equal(len, l->len);
			}
			post(pl, dir, l, area);
			if (rand_uniform(8) == 0)
				break;
		}
		pipeline_kick(pl);
		if (rand_uniform(3) == 0)
			(void)pipeline_help(pl, dir);
		if (rand_uniform(16) == 0)
			(void)pipeline_wait(pl, dir);
		if (pipeline_threads(pl) == 0)
			(void)pipeline_wait(pl, dir);
		while ((j = pipeline_done(pl, dir)) != NULL) {
			assert_int_equal(j->err, 0);
			assert_ptr_equal(j->pkt, area + s->v[collected].at);
			collected++;
			pipeline_release(pl, dir);
		}
	}
	assert_int_equal(pipeline_pending(pl, dir), 0);
}

static void
check_same_bytes(const struct stream *s, size_t threads)
{
	struct pipeline *pl = pipeline_new(no_wake, NULL);
	size_t tag = cipher_tag_len(s->enc);
	uint8_t *area = malloc(AREA);

	assert_non_null(pl);
	assert_non_null(area);
	assert_int_equal(pipeline_set_threads(pl, threads), threads);
	for (int dir = 0; dir < 2; dir++)
		pipeline_set_keys(pl, (enum pipeline_dir)dir,
		    s->keys.cipher, s->keys.mac, s->keys.key, s->keys.iv,
		    s->keys.mac_key);
	memcpy(area, s->plain, s->size);
	push_through(pl, PIPELINE_ENCRYPT, s, area);
	assert_memory_equal(area, s->encrypted, s->size);
	push_through(pl, PIPELINE_DECRYPT, s, area);
	for (size_t i = 0; i < PACKETS; i++)
		assert_memory_equal(area + s->v[i].at + 4,
		    s->plain + s->v[i].at + 4, s->v[i].len);
	/* One that was tampered with, and no other. */
	memcpy(area, s->encrypted, s->size);
	area[s->v[1].at + 4 + s->v[1].len + tag - 1] ^= 1;
	for (size_t i = 0; i < 3; i++) {
		uint32_t len;

		assert_int_equal(cipher_decrypt_length(s->dec, &s->v[i].pos,
				     area + s->v[i].at, &len),
		    0);
		post(pl, PIPELINE_DECRYPT, &s->v[i], area);
	}
	pipeline_kick(pl);
	for (size_t i = 0; i < 3; i++) {
		const struct pipeline_job *j = pipeline_wait(pl,
		    PIPELINE_DECRYPT);

		assert_int_equal(j->err, i == 1 ? ERR_MAC : 0);
		pipeline_release(pl, PIPELINE_DECRYPT);
	}
	pipeline_free(pl);
	free(area);
}

static void
test_same_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
		struct stream s;

		make_stream(&s, i);
		for (size_t t = 0; t < ARRAY_LEN(thread_counts); t++)
			check_same_bytes(&s, thread_counts[t]);
		free_stream(&s);
	}
}

/* ---- two ends ---------------------------------------------------------- */

struct pair {
	int fd[2];
	struct packet *a, *b; /* a sends bulk to b */
	uint32_t sent, received;
	bool tx_used, rx_used; /* threads had packets in their hands */
	bool gathers; /* b takes packets when there are enough for threads */
};

static void
rekey(struct packet *p, enum packet_dir dir, const struct packet_keys *k)
{
	assert_int_equal(packet_set_keys(p, dir, k, false), 0);
}

static void
pair_open(struct pair *t, size_t suite, bool compress)
{
	struct packet_keys k;

	*t = (struct pair){ .sent = 0 };
	make_keys(&k, suite);
	k.compress = compress;
	tcp_pair(t->fd);
	fd_set_nodelay(t->fd[0]);
	fd_set_nodelay(t->fd[1]);
	t->a = packet_new(t->fd[0], t->fd[0], false);
	t->b = packet_new(t->fd[1], t->fd[1], true);
	rekey(t->a, PACKET_TX, &k);
	rekey(t->b, PACKET_RX, &k);
	rekey(t->b, PACKET_TX, &k);
	rekey(t->a, PACKET_RX, &k);
	assert_int_equal(packet_authenticated(t->a), 0);
	assert_int_equal(packet_authenticated(t->b), 0);
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
put(struct packet *p, uint8_t type, const void *body, size_t len)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, type);
	buf_put(&b, body, len);
	assert_int_equal(packet_put(p, &b), 0);
	buf_clear(&b);
}

/* Packet number n: its length and bytes follow from it. */
static size_t
length_of(uint32_t n)
{
	return n % 5 == 4 ? 5 + n % 90 : 20000 + n * 977 % 13000;
}

/* Nothing that could be compressed. */
static uint8_t
byte_of(uint32_t n, size_t i)
{
	uint32_t x = n * 0x9e3779b1 ^ (uint32_t)i * 0x85ebca6b;

	x = (x ^ x >> 15) * 0xc2b2ae35;
	return (uint8_t)(x >> 24);
}

static void
send_numbered(struct pair *t)
{
	size_t len = length_of(t->sent);
	uint8_t *p = packet_bulk_begin(t->a, 40000);

	if (p == NULL)
		return;
	for (size_t i = 5; i < len; i++)
		p[i] = byte_of(t->sent, i);
	p[0] = SSH_MSG_CHANNEL_DATA;
	wire_put_u32(p + 1, t->sent++);
	assert_int_equal(packet_bulk_commit(t->a, len), 0);
}

static void
flush(struct packet *p)
{
	int r = packet_flush(p);

	assert_true(r == 0 || r == ERR_AGAIN);
	/* On a busy machine the kernel measures a slow path, for which less
	 * would be taken at a time than threads are worth. */
	p->tx.unsent = 0;
}

/* Bytes that are still under way: a busy kernel takes its time. */
static int
unacknowledged(const struct pair *t)
{
	int n;

	assert_int_equal(ioctl(t->fd[0], TIOCOUTQ, &n), 0);
	return n;
}

/* Waits until b has as much as it gives to threads, or all that a has sent. */
static void
gather(struct pair *t)
{
	bool more = true;
	int err;

	while (more && !packet_rx_posted(t->b) &&
	    t->b->rx.end - t->b->rx.off < PACKET_RX_BATCH) {
		flush(t->a);
		more = packet_tx_pending(t->a) > 0 || unacknowledged(t) > 0;
		err = packet_fill(t->b);
		assert_true(err > 0 || err == ERR_AGAIN);
		more |= err > 0;
	}
}

static void
check_numbered(struct pair *t, struct rd r)
{
	assert_int_equal(r.len, length_of(t->received));
	assert_int_equal(rd_u8(&r), SSH_MSG_CHANNEL_DATA);
	assert_int_equal(rd_u32(&r), t->received);
	for (size_t i = 0; i < r.len; i++)
		if (r.p[i] != byte_of(t->received, i + 5))
			fail_msg("packet %u, byte %zu", t->received, i);
	t->received++;
}

/* One turn of both ends; other messages than bulk are given to special(). */
static void
turn(struct pair *t, void (*special)(struct pair *t, struct packet *p,
		      uint8_t type))
{
	struct packet *ends[] = { t->b, t->a };

	t->tx_used |= t->a->tx.unencrypted > 0;
	for (size_t i = 0; i < 2; i++) {
		struct rd r;
		int err;

		/* Several reads, so that there is much to open at once. */
		for (int n = 0; n < 4; n++) {
			flush(t->a);
			flush(t->b);
			err = packet_fill(ends[i]);
			assert_true(err > 0 || err == ERR_AGAIN);
		}
		if (ends[i] == t->b && t->gathers)
			gather(t);
		while ((err = packet_next(ends[i], &r)) == 1) {
			t->rx_used |= packet_rx_posted(t->b);
			if (r.p[0] == SSH_MSG_CHANNEL_DATA)
				check_numbered(t, r);
			else
				special(t, ends[i], r.p[0]);
		}
		assert_int_equal(err, 0);
	}
}

static void
carry(struct pair *t, uint32_t packets)
{
	while (t->received < packets) {
		if (t->sent < packets)
			send_numbered(t);
		if (t->sent == packets || rand_uniform(24) == 0)
			turn(t, NULL);
	}
	assert_int_equal(packet_tx_pending(t->a), 0);
	assert_true(t->b->rx.end == t->b->rx.off);
	assert_false(packet_rx_posted(t->b));
}

/* Threads on either side, both, or none. */
static void
test_transfer(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
		for (size_t t = 0; t < 9; t++) {
			struct pair pair;
			size_t a = thread_counts[t / 3];
			size_t b = thread_counts[t % 3];

			pair_open(&pair, i, t % 2 == 1);
			assert_int_equal(packet_threads_start(pair.a, a), a);
			assert_int_equal(packet_threads_start(pair.b, b), b);
			pair.gathers = b > 0;
			/* Turns come at random: with bad luck all are small. */
			for (int n = 0; n == 0 || (n < 10 && b > 0 &&
			    !pair.rx_used); n++)
				carry(&pair, pair.sent + 300);
			assert_int_equal(pair.tx_used, a > 0);
			assert_int_equal(pair.rx_used, b > 0);
			pair_close(&pair);
		}
	}
}

/* Keystream made ahead on one side, anything on the other. */
static void
test_transfer_keystream(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
		size_t can = strstr(suites[i].cipher, "-ctr") != NULL ? 2 : 0;
		struct pair pair;

		for (size_t b = 0; b < 3; b++) {
			pair_open(&pair, i, b == 1);
			/* One for each direction. */
			assert_int_equal(packet_keystream_start(pair.a, 1),
			    can);
			assert_int_equal(packet_threads(pair.a), can);
			if (b == 1)
				(void)packet_threads_start(pair.b, 2);
			if (b == 2)
				(void)packet_keystream_start(pair.b, 2);
			carry(&pair, 300);
			assert_false(pair.tx_used);
			assert_int_equal(packet_threads(pair.a), can);
			pair_close(&pair);
		}
	}
}

/*
 * Key exchange in miniature: b asks with KEXINIT, a answers with KEXINIT and
 * NEWKEYS and goes on with new keys, all in one flight.
 */
static struct packet_keys next_keys;
static unsigned rekeys;

static void
exchange(struct pair *t, struct packet *p, uint8_t type)
{
	if (p == t->a) {
		assert_int_equal(type, SSH_MSG_KEXINIT);
		assert_int_equal(packet_postpone(t->a, true), 0);
		put(t->a, SSH_MSG_KEXINIT, "", 0);
		put(t->a, SSH_MSG_NEWKEYS, "", 0);
		rekey(t->a, PACKET_TX, &next_keys);
		assert_int_equal(packet_postpone(t->a, false), 0);
		for (int i = 0; i < 20; i++)
			send_numbered(t);
	} else if (type == SSH_MSG_KEXINIT) {
		packet_set_expect(t->b, PACKET_EXPECT_KEX);
	} else {
		assert_int_equal(type, SSH_MSG_NEWKEYS);
		rekey(t->b, PACKET_RX, &next_keys);
		packet_set_expect(t->b, PACKET_EXPECT_ANY);
		assert_int_equal(packet_postpone(t->b, false), 0);
		rekeys++;
	}
}

static void
test_rekey_under_load(void **state)
{
	(void)state;
	for (size_t t = 0; t <= ARRAY_LEN(thread_counts); t++) {
		struct pair pair;
		unsigned asked = rekeys;

		pair_open(&pair, 2, false);
		if (t == ARRAY_LEN(thread_counts)) {
			(void)packet_keystream_start(pair.a, 1);
			(void)packet_keystream_start(pair.b, 2);
		} else {
			(void)packet_threads_start(pair.a, thread_counts[t]);
			(void)packet_threads_start(pair.b, thread_counts[t]);
		}
		while (pair.received < 1500) {
			for (uint32_t n = rand_uniform(20); n > 0; n--)
				send_numbered(&pair);
			if (asked == rekeys && rand_uniform(3) == 0) {
				make_keys(&next_keys,
				    rand_uniform(ARRAY_LEN(suites)));
				put(pair.b, SSH_MSG_KEXINIT, "", 0);
				assert_int_equal(packet_postpone(pair.b,
						     true), 0);
				asked++;
			}
			turn(&pair, exchange);
		}
		assert_true(rekeys > 10);
		pair_close(&pair);
	}
}

/* The number of threads changes all the time, and what they do. */
static void
test_start_and_stop(void **state)
{
	struct pair t;

	(void)state;
	pair_open(&t, 3, false);
	for (uint32_t n = 0; n < 1200; n++) {
		struct packet *p = n % 2 == 0 ? t.a : t.b;

		send_numbered(&t);
		if (rand_uniform(20) == 0)
			(void)packet_threads_start(p, rand_uniform(4));
		if (rand_uniform(20) == 0)
			(void)packet_keystream_start(p, 1 + rand_uniform(3));
		if (rand_uniform(20) == 0)
			packet_threads_stop(p);
		turn(&t, NULL);
	}
	carry(&t, t.sent);
	packet_threads_stop(t.a);
	packet_threads_stop(t.b);
	assert_int_equal(packet_threads(t.a), 0);
	pair_close(&t);
}

static int wake_fd[2];

static void
wake_pipe(void *arg)
{
	(void)arg;
	(void)!write(wake_fd[1], "", 1);
}

/* Whoever may wait is woken, also for the last packet, of which the sleeping
 * threads were not told. */
static void
test_last_packet(void **state)
{
	struct pollfd pfd;
	struct pair t;

	(void)state;
	assert_int_equal(pipe(wake_fd), 0);
	pfd = (struct pollfd){ .fd = wake_fd[0], .events = POLLIN };
	pair_open(&t, 0, false);
	packet_set_notify(t.a, wake_pipe, NULL);
	assert_int_equal(packet_threads_start(t.a, 1), 1);
	carry(&t, 1000); /* lets the socket's buffers grow */
	for (int i = 0; i < 20; i++) {
		for (int n = 0; n < 30; n++) {
			send_numbered(&t);
			/* Both all done, and the thread asleep. */
			if (n >= 26)
				usleep(500);
		}
		while (packet_tx_pending(t.a) > 0) {
			char byte;

			flush(t.a);
			if (packet_tx_ready(t.a) == 0 &&
			    packet_prepare_wait(t.a, true) &&
			    packet_tx_pending(t.a) > 0) {
				assert_int_equal(poll(&pfd, 1, 5000), 1);
				assert_int_equal(read(wake_fd[0], &byte, 1),
				    1);
			}
			if (packet_tx_ready(t.a) > 0)
				turn(&t, NULL);
		}
		carry(&t, t.sent);
	}
	pair_close(&t);
	close(wake_fd[0]);
	close(wake_fd[1]);
}

/* What was given to threads is not forgotten when these stop. */
static void
test_stop_with_decrypted(void **state)
{
	struct pair t;
	struct rd r;
	int err;

	(void)state;
	pair_open(&t, 0, false);
	carry(&t, 300);
	assert_int_equal(packet_threads_start(t.b, 2), 2);
	while (!packet_rx_posted(t.b)) {
		for (int n = 0; n < 30; n++)
			send_numbered(&t);
		for (int n = 0; n < 4; n++) {
			flush(t.a);
			err = packet_fill(t.b);
			assert_true(err > 0 || err == ERR_AGAIN);
		}
		if ((err = packet_next(t.b, &r)) == 1)
			check_numbered(&t, r);
	}
	packet_threads_stop(t.b);
	assert_int_equal(packet_threads(t.b), 0);
	while (packet_rx_posted(t.b)) {
		assert_false(packet_prepare_wait(t.b, true));
		assert_int_equal(packet_next(t.b, &r), 1);
		check_numbered(&t, r);
	}
	assert_true(packet_prepare_wait(t.b, true));
	carry(&t, t.sent);
	pair_close(&t);
}

/* The end of the connection comes after all that was sent. */
static void
test_end_of_input(void **state)
{
	struct pair t;
	struct rd r;
	bool there;
	int err;

	(void)state;
	pair_open(&t, 0, false);
	carry(&t, 300);
	assert_int_equal(packet_threads_start(t.b, 2), 2);
	for (int n = 0; n < 25; n++)
		send_numbered(&t);
	assert_int_equal(t.sent, 300 + 25); /* enough for threads */
	do {
		flush(t.a);
		there = packet_tx_pending(t.a) == 0 && unacknowledged(&t) == 0;
		err = packet_fill(t.b);
		assert_true(err > 0 || err == ERR_AGAIN);
	} while (!there || err > 0);
	shutdown(t.fd[0], SHUT_WR);
	if (packet_next(t.b, &r) == 1)
		check_numbered(&t, r);
	assert_true(packet_rx_posted(t.b));
	while ((err = packet_fill(t.b)) != ERR_CLOSED) {
		assert_true(err > 0 || err == ERR_AGAIN);
		while ((err = packet_next(t.b, &r)) == 1)
			check_numbered(&t, r);
		assert_int_equal(err, 0);
	}
	assert_int_equal(t.received, t.sent);
	pair_close(&t);
}

/* The end comes with jobs ready, in hand and done. */
static void
test_early_end(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct pair t;

		pair_open(&t, (size_t)i % ARRAY_LEN(suites), false);
		(void)packet_threads_start(t.a, 2);
		(void)packet_threads_start(t.b, 2);
		for (int n = 0; n < 40; n++)
			send_numbered(&t);
		if (i % 2 == 0) {
			flush(t.a);
			assert_true(packet_fill(t.b) != 0);
		}
		if (i % 4 == 0) {
			struct rd r;

			(void)!packet_next(t.b, &r);
		}
		if (i % 5 == 0)
			packet_disconnect(t.a, SSH_DISCONNECT_BY_APPLICATION,
			    "enough");
		pair_close(&t);
	}
}

/* The parent goes on with its threads, a child without. */
static void
test_fork(void **state)
{
	struct pair t;
	int status;
	pid_t pid;

	(void)state;
	pair_open(&t, 0, false);
	assert_int_equal(packet_threads_start(t.a, 2), 2);
	assert_int_equal(packet_threads_start(t.b, 1), 1);
	for (int i = 0; i < 5; i++) {
		for (int n = 0; n < 15; n++)
			send_numbered(&t);
		turn(&t, NULL);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			if (packet_threads(t.a) != 0)
				_exit(1);
			(void)packet_poll(t.a);
			packet_free(t.a);
			packet_free(t.b);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_int_equal(packet_threads(t.a), 2);
	}
	/* And the child may go on instead, as with ssh -f. */
	pid = fork();
	if (pid == 0) {
		carry(&t, t.sent + 100);
		pair_close(&t);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	pair_close(&t);
}

/* Without threads to be had all works, and nobody hears of it. */
static void
test_no_threads_to_be_had(void **state)
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct pair t;

		/* The limit does not hold for root. */
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(2);
		if (setrlimit(RLIMIT_NPROC, &none) != 0)
			_exit(3);
		pair_open(&t, 0, false);
		if (packet_threads_start(t.a, 4) != 0 ||
		    packet_threads_start(t.b, 4) != 0)
			_exit(4);
		carry(&t, 200);
		pair_close(&t);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
test_one_processor(void **state)
{
	(void)state;
#if defined(__linux__)
	cpu_set_t old, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
	while (!CPU_ISSET(cpu, &old))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	assert_int_equal(pipeline_threads_auto(), 0);
	assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
	assert_int_equal(pipeline_threads_auto(),
	    MIN(CPU_COUNT(&old) - 1, 4));
#else
	skip();
#endif
}

/* What was asked for starts with the first turn after login, and no trial
 * ends it; keystream only where it can be. */
static void
test_given_form(void **state)
{
	static const struct {
		size_t suite;
		enum packet_form form;
		bool deny;
		size_t threads, pipeline;
	} rows[] = {
		{ 2, PACKET_FORM_AUTO, false, 0, 0 },
		{ 2, PACKET_FORM_SERIAL, false, 0, 0 },
		{ 2, PACKET_FORM_PIPELINE, true, 3, 3 },
		{ 0, PACKET_FORM_PIPELINE, false, 3, 3 },
		{ 2, PACKET_FORM_KEYSTREAM, false, 6, 0 },
		{ 2, PACKET_FORM_KEYSTREAM, true, 0, 0 },
		{ 0, PACKET_FORM_KEYSTREAM, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair t;

		pair_open(&t, rows[i].suite, false);
		packet_set_threads(t.a, 3);
		packet_set_form(t.a, rows[i].form, rows[i].deny);
		t.a->authenticated = false;
		(void)packet_poll(t.a);
		assert_int_equal(packet_threads(t.a), 0);
		t.a->authenticated = true;
		for (int n = 0; n < 3; n++) {
			(void)packet_poll(t.a);
			assert_int_equal(packet_threads(t.a), rows[i].threads);
			carry(&t, t.sent + 30);
		}
		assert_int_equal(t.a->threads.pipe != NULL,
		    rows[i].pipeline > 0);
		pair_close(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_transfer_keystream),
		cmocka_unit_test(test_rekey_under_load),
		cmocka_unit_test(test_start_and_stop),
		cmocka_unit_test(test_last_packet),
		cmocka_unit_test(test_stop_with_decrypted),
		cmocka_unit_test(test_end_of_input),
		cmocka_unit_test(test_early_end),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_no_threads_to_be_had),
		cmocka_unit_test(test_one_processor),
		cmocka_unit_test(test_given_form),
	};

	log_init("test-pipeline", LOG_LVL_ERROR);
	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
