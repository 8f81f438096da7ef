/* SPDX-License-Identifier: ISC */
/*
 * The messages of survive@ and resume@: bytes as docs/PROTOCOL.md has them, and
 * what a peer may not say: too much, nothing, other lengths, other versions.
 */
#include "regress/unit/help.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "connection-survive-wire.h"
#include "connection-survive.h"
#include "packet-keep.h"

static const struct survive_terms asked = { .seconds = 600,
	.bytes = 8 * 1024 * 1024 };

static struct survive_grant
good_grant(void)
{
	static const uint8_t zeros[SURVIVE_SECRET_LEN];

	return (struct survive_grant){ .handle = { zeros, SURVIVE_HANDLE_LEN },
		.secret = { zeros, SURVIVE_SECRET_LEN },
		.seconds = 600,
		.bytes = 1024 * 1024 };
}

static int
take_grant(const struct survive_grant *g)
{
	struct survive_grant got;
	struct buf b = { 0 };
	int r;

	survive_put_grant(&b, g);
	assert_int_equal(buf_err(&b), 0);
	r = survive_get_grant(rd_from_buf(&b), &asked, &got);
	/* Nor is one taken that has more or fewer bytes. */
	buf_put_u8(&b, 0);
	assert_int_not_equal(survive_get_grant(rd_from_buf(&b), &asked, &got),
	    0);
	assert_int_not_equal(survive_get_grant(rd_from(buf_data(&b),
				 buf_len(&b) - 2), &asked, &got), 0);
	buf_clear(&b);
	return r;
}

static void
test_grants(void **state)
{
	static const uint32_t too_long[] = { 0, 601, UINT32_MAX };
	static const uint32_t too_much[] = { 0, 8 * 1024 * 1024 + 1,
		UINT32_MAX };
	struct survive_grant g = good_grant();

	(void)state;
	assert_int_equal(take_grant(&g), 0);
	for (size_t i = 0; i < ARRAY_LEN(too_long); i++) {
		g = good_grant();
		g.seconds = too_long[i];
		assert_int_equal(take_grant(&g), ERR_LIMIT);
		g = good_grant();
		g.bytes = too_much[i];
		assert_int_equal(take_grant(&g), ERR_LIMIT);
	}
	g = good_grant();
	g.secret.len--;
	assert_int_equal(take_grant(&g), ERR_FORMAT);
	g = good_grant();
	g.handle.len--;
	assert_int_equal(take_grant(&g), ERR_FORMAT);
}

static int
take_request(uint8_t version, uint32_t seconds, uint32_t bytes)
{
	const struct survive_terms t = { seconds, bytes };
	struct survive_terms got;
	struct buf b = { 0 };
	uint8_t *p;
	int r;

	survive_put_request(&b, &t);
	assert_int_equal(buf_len(&b), 9);
	p = (uint8_t *)(uintptr_t)buf_data(&b);
	assert_int_equal(p[0], 1);
	p[0] = version;
	r = survive_get_request(rd_from_buf(&b), &got);
	if (r == 0)
		assert_memory_equal(&got, &t, sizeof t);
	buf_clear(&b);
	return r;
}

static void
test_requests(void **state)
{
	(void)state;
	assert_int_equal(take_request(1, 600, 1), 0);
	assert_int_equal(take_request(1, SURVIVE_SECONDS_MAX,
			     PACKET_KEEP_MAX), 0);
	assert_int_equal(take_request(1, SURVIVE_SECONDS_MAX + 1, 1),
	    ERR_LIMIT);
	assert_int_equal(take_request(1, 1, PACKET_KEEP_MAX + 1), ERR_LIMIT);
	assert_int_equal(take_request(1, 0, 1), ERR_LIMIT);
	assert_int_equal(take_request(1, 1, 0), ERR_LIMIT);
	assert_int_equal(take_request(2, 600, 1), ERR_UNSUPPORTED);
	assert_int_equal(take_request(0, 600, 1), ERR_UNSUPPORTED);
}

/* The proof is about all that is in front of it, the method's name included. */
static void
test_resume(void **state)
{
	static const uint8_t zeros[SURVIVE_PROOF_LEN];
	const struct survive_resume q = {
		.handle = { zeros, SURVIVE_HANDLE_LEN },
		.generation = 3,
		.received = UINT64_C(1) << 40,
	};
	struct survive_resume got;
	struct buf b = { 0 };
	size_t front, signed_len;

	(void)state;
	buf_put_cstring(&b, "resume@hpnssh.org");
	front = buf_len(&b);
	survive_put_resume(&b, &q);
	signed_len = buf_len(&b);
	assert_int_equal(signed_len - front, 1 + 4 + 16 + 4 + 8);
	buf_put_string(&b, zeros, SURVIVE_PROOF_LEN);
	assert_int_equal(survive_get_resume(rd_from(buf_data(&b) + front,
						buf_len(&b) - front),
			     buf_len(&b), &got), 0);
	assert_int_equal(got.signed_len, signed_len);
	assert_int_equal(got.generation, 3);
	assert_true(got.received == q.received);
	for (size_t len = 0; len < buf_len(&b) - front; len++)
		assert_int_not_equal(survive_get_resume(
					 rd_from(buf_data(&b) + front, len),
					 front + len, &got), 0);
	buf_clear(&b);
}

static void
test_welcome(void **state)
{
	static const uint8_t zeros[SURVIVE_PROOF_LEN];
	struct survive_welcome w = { .received = 5,
		.proof = { zeros, SURVIVE_PROOF_LEN } };
	struct survive_welcome got;
	struct buf b = { 0 };

	(void)state;
	survive_put_welcome(&b, &w);
	assert_int_equal(survive_get_welcome(rd_from_buf(&b), &got), 0);
	assert_true(got.received == 5);
	buf_clear(&b);
	w.proof.len--;
	survive_put_welcome(&b, &w);
	assert_int_equal(survive_get_welcome(rd_from_buf(&b), &got),
	    ERR_FORMAT);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_welcome),
	};

	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
