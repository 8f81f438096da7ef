/* SPDX-License-Identifier: ISC */
/*
 * Long before the sequence number begins again new keys are due, and no packet
 * is sent or taken under keys with which all numbers were used: for each
 * cipher, by the loop alone, by the pipeline and with precomputed keystream, at
 * either end.
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

/* The limits as RFC 4344 section 3.1 has them. */
#define DUE ((uint64_t)1 << 31)
#define SPENT ((uint64_t)1 << 32)

enum { LARGE = 32 * 1024, FEW = 12, LATE = FEW + 100 };

static const enum packet_form forms[] = { PACKET_FORM_SERIAL,
	PACKET_FORM_PIPELINE, PACKET_FORM_KEYSTREAM };

struct pair {
	int fd[2];
	struct packet *from, *to;
};

static void
set_keys(struct packet *p, const struct packet_keys *k)
{
	assert_int_equal(packet_set_keys(p, PACKET_TX, k, true), 0);
	assert_int_equal(packet_set_keys(p, PACKET_RX, k, true), 0);
}

static void
pair_open(struct pair *t, const struct cipher_alg *alg, bool from_server)
{
	struct packet_keys k = { .cipher = alg,
		.mac = alg->needs_mac ? mac_at(0) : NULL };

	memset(k.key, 7, sizeof k.key);
	memset(k.iv, 9, sizeof k.iv);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t->fd), 0);
	t->from = packet_new(t->fd[0], t->fd[0], from_server);
	t->to = packet_new(t->fd[1], t->fd[1], !from_server);
	assert_true(t->from != NULL && t->to != NULL);
	set_keys(t->from, &k);
	set_keys(t->to, &k);
	assert_int_equal(packet_authenticated(t->from), 0);
	assert_int_equal(packet_authenticated(t->to), 0);
}

static void
pair_close(struct pair *t)
{
	packet_free(t->from);
	packet_free(t->to);
	fd_close(&t->fd[0]);
	fd_close(&t->fd[1]);
}

/* Threads begin where the connection is then. */
static void
begin_threads(struct pair *t, enum packet_form form)
{
	struct packet *both[] = { t->from, t->to };

	for (int i = 0; i < 2; i++) {
		if (form == PACKET_FORM_PIPELINE)
			(void)packet_threads_start(both[i], 2);
		if (form == PACKET_FORM_KEYSTREAM)
			(void)packet_keystream_start(both[i], 1);
	}
}

/* As if so many packets had gone that way. */
static void
go_to(struct packet *p, enum packet_dir dir, uint64_t packets)
{
	p->half[dir].pos.packet = packets;
	p->half[dir].pos.seqnr = (uint32_t)packets;
}

static int
put(struct packet *p, size_t len)
{
	struct buf b = { 0 };
	int r;

	buf_put_u8(&b, 94);
	memset(buf_reserve(&b, len), 'x', len);
	buf_commit(&b, len);
	r = packet_put(p, &b);
	buf_clear(&b);
	return r;
}

/* What was sent arrives; the result of packet_next(), 0 when there is no more.
 * Threads may be at work on what was not given yet. */
static int
carry(struct pair *t, size_t *taken)
{
	struct rd payload;
	int r;

	for (int idle = 0; idle < 2000;) {
		(void)!packet_flush(t->from);
		r = packet_fill(t->to);
		idle = r > 0 ? 0 : idle + 1;
		while ((r = packet_next(t->to, &payload)) == 1) {
			++*taken;
			idle = 0;
		}
		if (r < 0)
			return r;
		if (packet_tx_pending(t->from) == 0 && idle > 2 &&
		    !packet_rx_posted(t->to))
			return 0;
	}
	fail_msg("nothing moves");
	return 0;
}

static void
each(void (*fn)(struct pair *t, enum packet_form form))
{
	for (size_t c = 0; cipher_at(c) != NULL; c++) {
		for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
			for (int server = 0; server < 2; server++) {
				struct pair t;

				pair_open(&t, cipher_at(c), server == 1);
				fn(&t, forms[f]);
				pair_close(&t);
			}
		}
	}
}

/* ---- new keys are due --------------------------------------------------- */

/* Large packets until no more may be begun; how many these were. */
static size_t
fill_bulk(struct packet *p)
{
	size_t n = 0;
	uint8_t *place;

	while ((place = packet_bulk_begin(p, LARGE)) != NULL) {
		memset(place, 'y', LARGE);
		assert_int_equal(packet_bulk_commit(p, LARGE), 0);
		n++;
	}
	return n;
}

static void
check_due(struct pair *t, enum packet_form form)
{
	size_t sent, taken = 0;

	go_to(t->from, PACKET_TX, DUE - FEW);
	go_to(t->to, PACKET_RX, DUE - FEW);
	begin_threads(t, form);
	assert_false(packet_rekey_due(t->from));
	assert_false(packet_rekey_due(t->to));
	sent = fill_bulk(t->from);
	/* Also what threads have still to encrypt was counted. */
	assert_int_equal(sent, FEW);
	assert_true(packet_rekey_due(t->from));
	assert_int_equal(carry(t, &taken), 0);
	assert_int_equal(taken, FEW);
	assert_true(packet_rekey_due(t->to));
	/* Messages that must go still do, as those of the key exchange. */
	assert_int_equal(put(t->from, 10), 0);
	assert_int_equal(carry(t, &taken), 0);
	assert_int_equal(taken, FEW + 1);
}

static void
due(void **state)
{
	(void)state;
	each(check_due);
}

/* ---- no new keys are to be had ------------------------------------------ */

static void
check_sender(struct pair *t, enum packet_form form)
{
	size_t taken = 0;

	go_to(t->from, PACKET_TX, SPENT - FEW);
	go_to(t->to, PACKET_RX, SPENT - FEW);
	begin_threads(t, form);
	for (int i = 0; i < FEW; i++)
		assert_int_equal(put(t->from, i % 2 == 0 ? LARGE : 10), 0);
	assert_int_equal(put(t->from, 10), ERR_LIMIT);
	assert_int_equal(put(t->from, LARGE), ERR_LIMIT);
	assert_int_equal(carry(t, &taken), 0);
	assert_int_equal(taken, FEW);
}

static void
sender_stops(void **state)
{
	(void)state;
	each(check_sender);
}

/* A peer that does not answer our KEXINIT and goes on. */
static void
check_receiver(struct pair *t, enum packet_form form)
{
	size_t taken = 0;

	go_to(t->from, PACKET_TX, SPENT - FEW);
	go_to(t->to, PACKET_RX, SPENT - FEW);
	begin_threads(t, form);
	for (int i = 0; i < LATE; i++) {
		/* It counts as it likes, where keys do not depend on it. */
		t->from->half[PACKET_TX].pos.packet = i < FEW ?
		    SPENT - FEW + (uint64_t)i : 0;
		assert_int_equal(put(t->from, LARGE), 0);
	}
	assert_int_equal(carry(t, &taken), ERR_LIMIT);
	assert_int_equal(taken, FEW);
}

static void
receiver_stops(void **state)
{
	(void)state;
	each(check_receiver);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(due),
		cmocka_unit_test(sender_stops),
		cmocka_unit_test(receiver_stops),
	};

	log_init("test-packet-wrap", LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
