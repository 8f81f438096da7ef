/* SPDX-License-Identifier: ISC */
/*
 * The keys of a full agent: each is encoded a fixed number of times, however
 * many others there are. Encoding two for each comparison took half a second
 * of every connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/auth/userauth-internal.h"
#include "keys/agent-wire.h"

static size_t encoded, compared;

static int
count_blob(const struct key *k, struct buf *out)
{
	encoded++;
	return key_to_blob(k, out);
}

static bool
count_equal(const struct key *a, const struct key *b)
{
	compared++;
	return key_equal_public(a, b);
}

/* What is tested, with its calls counted. */
#define key_to_blob(k, out) count_blob(k, out)
#define key_equal_public(a, b) count_equal(a, b)
#include "client/auth/userauth-keys.c"
#undef key_to_blob
#undef key_equal_public

enum { MANY = AGENT_KEYS_MAX, TIMES = 2 };

/* Number i of many; any 32 bytes are such a key. */
static struct key *
make_key(uint32_t i)
{
	uint8_t point[32] = { 0x58 };
	struct buf blob = { 0 };
	struct key *k = NULL;

	memcpy(point + 1, &i, sizeof i);
	buf_put_cstring(&blob, "ssh-ed25519");
	buf_put_string(&blob, point, sizeof point);
	assert_int_equal(key_from_blob(buf_span(&blob), &k), 0);
	buf_clear(&blob);
	return k;
}

static void
add(struct pubkey_state *s, uint32_t i, bool named_only)
{
	struct agent_key one = { .key = make_key(i), .comment = xstrdup("x") };

	add_agent_key(s, &one, named_only);
	key_free(one.key);
	free(one.comment);
}

static const struct named_file file = { "/nonexistent/key", true,
	KEY_OF_FILE };

static void
each_is_encoded_once(void **state)
{
	struct pubkey_state *s = xcalloc(1, sizeof *s);

	(void)state;
	assert_false(count_equal(NULL, NULL));
	place_file(s, &file, make_key(MANY / 2), file.path);
	encoded = compared = 0;
	for (uint32_t i = 0; i < MANY; i++)
		add(s, i, false);
	find_signers(s);
	put_in_order(s);
	assert_int_equal(s->n, MANY);
	assert_in_range(encoded, MANY, TIMES * MANY);
	assert_in_range(compared, 0, MANY);
	pubkey_state_free(s);
}

/* The one that a file names is found among them, and is the first. */
static void
the_named_one_is_found(void **state)
{
	struct pubkey_state *s = xcalloc(1, sizeof *s);
	struct key *named = make_key(MANY / 2);

	(void)state;
	place_file(s, &file, make_key(MANY / 2), file.path);
	for (uint32_t i = 0; i < MANY; i++)
		add(s, i, false);
	put_in_order(s);
	assert_true(key_equal_public(s->v[0].pub, named));
	assert_true(s->v[0].in_agent);
	assert_string_equal(s->v[0].path, file.path);
	for (size_t i = 1; i < s->n; i++)
		assert_false(key_equal_public(s->v[i].pub, named));
	key_free(named);
	pubkey_state_free(s);
}

/* IdentitiesOnly: nothing else is taken; and a key twice is one. */
static void
others_are_left_out(void **state)
{
	struct pubkey_state *s = xcalloc(1, sizeof *s);

	(void)state;
	place_file(s, &file, make_key(7), file.path);
	place_file(s, &file, make_key(7), "/nonexistent/copy");
	for (uint32_t i = 0; i < 20; i++)
		add(s, i, true);
	assert_int_equal(s->n, 1);
	assert_true(s->v[0].in_agent);
	pubkey_state_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_encoded_once),
		cmocka_unit_test(the_named_one_is_found),
		cmocka_unit_test(others_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
