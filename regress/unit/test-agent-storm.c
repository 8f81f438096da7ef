/* SPDX-License-Identifier: ISC */
/*
 * A hundred thousand messages that are nearly right, or not at all: the agent
 * answers each, goes on, and does not grow.
 */
#include "regress/unit/agent-host.h"

#include <stdlib.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "agent/agent-internal.h"
#include "base/mem.h"
#include "regress/unit/dice.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

enum { MESSAGES = 100 * 1000, BATCH = 50, TEMPLATES = 10, NOISE_MAX = 300 };

static struct dice dice = { 20261122 };
static struct key *keys[3];
static struct buf templates[TEMPLATES];
static size_t n_templates;

static struct buf *
template(void)
{
	assert_in_range(n_templates, 0, TEMPLATES - 1);
	return &templates[n_templates++];
}

/* keys[1] for a login from here at the host keys[0]. */
static void
put_destination(struct buf *more)
{
	size_t list, hop, end;

	buf_put_u8(more, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(more, AGENT_CONSTRAIN_DESTINATIONS);
	list = buf_open_string(more);
	hop = buf_open_string(more);
	for (int i = 0; i < 2; i++) {
		end = buf_open_string(more);
		buf_put_cstring(more, "");
		buf_put_cstring(more, i == 0 ? "" : "host");
		buf_put_cstring(more, "");
		if (i == 1) {
			put_key(more, keys[0]);
			buf_put_bool(more, false);
		}
		buf_close_string(more, end);
	}
	buf_put_cstring(more, "");
	buf_close_string(more, hop);
	buf_close_string(more, list);
}

static void
put_bind(struct buf *b)
{
	size_t mark;

	buf_put_u8(b, AGENT_EXTENSION);
	buf_put_cstring(b, AGENT_EXT_BIND);
	put_key(b, keys[0]);
	buf_put_cstring(b, "id");
	mark = buf_open_string(b);
	assert_int_equal(key_sign(keys[0], "ssh-ed25519", span_text("id"), b),
	    0);
	buf_close_string(b, mark);
	buf_put_bool(b, true);
}

static int
make_templates(void **state)
{
	struct buf more = { 0 };

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &keys[0]), 0);
	assert_int_equal(key_generate("ecdsa", 256, &keys[1]), 0);
	keys[2] = make_cert_for(keys[0]);
	agent_host_put_add(template(), keys[0], "plain", NULL);
	buf_put_u8(&more, AGENT_CONSTRAIN_LIFETIME);
	buf_put_u32(&more, 5);
	buf_put_u8(&more, AGENT_CONSTRAIN_CONFIRM);
	put_destination(&more);
	agent_host_put_add(template(), keys[1], "limited", &more);
	agent_host_put_add(template(), keys[2], "certificate", NULL);
	agent_host_put_sign(template(), keys[0], "data", 0);
	agent_host_put_sign(template(), keys[1], "data", 2);
	buf_put_u8(template(), AGENT_REQUEST_IDENTITIES);
	put_bind(template());
	buf_put_u8(&templates[n_templates], AGENT_REMOVE_IDENTITY);
	put_key(template(), keys[0]);
	buf_put_u8(&templates[n_templates], AGENT_EXTENSION);
	buf_put_cstring(template(), AGENT_EXT_QUERY);
	buf_put_u8(&templates[n_templates], AGENT_ADD_PROVIDER);
	buf_put_cstring(&templates[n_templates], "/usr/lib/x.so");
	buf_put_cstring(template(), "1234");
	buf_clear(&more);
	return 0;
}

static int
free_templates(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_templates; i++)
		buf_clear(&templates[i]);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		key_free(keys[i]);
	return 0;
}

/* Locking hashes, which is slow on purpose: other tests do that. */
static bool
is_lock(uint8_t type)
{
	return type == AGENT_LOCK || type == AGENT_UNLOCK;
}

static void
put_noise(struct buf *b)
{
	uint32_t len = 1 + dice_below(&dice, NOISE_MAX);

	for (uint32_t i = 0; i < len; i++) {
		uint8_t byte = (uint8_t)dice_below(&dice,
		    dice_below(&dice, 2) == 0 ? 30 : 256);

		buf_put_u8(b, i == 0 && is_lock(byte) ? AGENT_EXTENSION :
							byte);
	}
}

/* A template with some bytes changed, cut off, or more of them. */
static void
put_mutant(struct buf *b)
{
	const struct buf *t = &templates[dice_below(&dice,
	    (uint32_t)n_templates)];
	uint32_t changes = dice_below(&dice, 4);
	uint8_t *p;

	buf_put_buf(b, t);
	p = (uint8_t *)(uintptr_t)buf_data(b);
	while (changes-- > 0) {
		size_t at = dice_below(&dice, (uint32_t)buf_len(b));

		p[at] = (uint8_t)dice_below(&dice, 256);
	}
	if (is_lock(p[0]))
		p[0] = AGENT_SIGN_REQUEST;
	if (dice_below(&dice, 8) == 0)
		buf_truncate(b, 1 + dice_below(&dice, (uint32_t)buf_len(b)));
	else if (dice_below(&dice, 8) == 0)
		put_noise(b);
}

static void
send_batch(int fd)
{
	struct buf b = { 0 };

	for (int i = 0; i < BATCH; i++) {
		if (dice_below(&dice, 4) == 0)
			put_noise(&b);
		else
			put_mutant(&b);
		agent_host_send(fd, &b);
		buf_clear(&b);
	}
}

/* One for each, of a type that there is. */
static void
take_answers(struct agent_host *h, int fd, unsigned *good)
{
	struct buf answer = { 0 };
	uint8_t type;

	for (int i = 0; i < BATCH; i++) {
		assert_true(agent_host_answer(h, fd, &answer, 60000));
		type = buf_data(&answer)[0];
		assert_true(type == AGENT_FAILURE || type == AGENT_SUCCESS ||
		    type == AGENT_IDENTITIES_ANSWER ||
		    type == AGENT_SIGN_RESPONSE ||
		    type == AGENT_EXTENSION_FAILURE ||
		    type == AGENT_EXTENSION_RESPONSE);
		*good += type != AGENT_FAILURE;
		buf_clear(&answer);
	}
}

/* Not measured where the C library does not tell (musl). */
static size_t
memory_in_use(void)
{
#ifdef __GLIBC__
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

static void
test_storm(void **state)
{
	const struct agent_params params = { .fingerprint = DIGEST_SHA256,
		.websafe = "" };
	struct agent_host h;
	size_t early = 0, late;
	unsigned good = 0;
	int fd;

	(void)state;
	assert_int_equal(setenv("SSH_ASKPASS_REQUIRE", "never", 1), 0);
	agent_host_open(&h, &params);
	for (int i = 0; i < MESSAGES / BATCH; i++) {
		fd = agent_host_client(&h);
		send_batch(fd);
		take_answers(&h, fd, &good);
		close(fd);
		assert_int_equal(loop_turn(h.loop, 0), 0);
		if (i == MESSAGES / BATCH / 10) {
			agentd_remove_keys(h.agentd);
			early = memory_in_use();
		}
	}
	/* They were near enough to the real thing to be worth trying. */
	assert_in_range(good, MESSAGES / 10, MESSAGES);
	fd = agent_host_client(&h);
	assert_in_range(agent_host_count(&h, fd), 0, 100);
	close(fd);
	agentd_remove_keys(h.agentd);
	for (int i = 0; i < 5; i++)
		assert_int_equal(loop_turn(h.loop, 0), 0);
	late = memory_in_use();
	assert_in_range(late, 0, early + 256 * 1024);
	assert_int_equal(h.agentd->n_clients, 0);
	assert_int_equal(h.agentd->buffered, 0);
	agent_host_close(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, make_templates, free_templates);
}
