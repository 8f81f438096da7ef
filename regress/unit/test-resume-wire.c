/* SPDX-License-Identifier: ISC */
/*
 * What two monitors say about a session that goes on over another connection:
 * it comes out as it went in, and nothing that is cut or changed is taken for
 * something that it is not.
 */
#include "regress/unit/help.h"
#include "regress/unit/dice.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "connection-survive.h"
#include "server/monitor/resume-wire.h"

static struct buf store; /* of all random texts of a turn */

static struct span
some(struct dice *d, uint32_t most)
{
	size_t from = buf_len(&store), len = dice_below(d, most + 1);

	for (size_t i = 0; i < len; i++)
		buf_put_u8(&store, (uint8_t)dice_below(d, 256));
	return (struct span){ buf_data(&store) + from, len };
}

static void
assert_span(struct span got, struct span want)
{
	assert_int_equal(got.len, want.len);
	if (want.len > 0)
		assert_memory_equal(got.p, want.p, want.len);
}

static struct resume_question
some_question(struct dice *d)
{
	return (struct resume_question){ .generation = dice_below(d, 1000),
		.received = (uint64_t)dice_below(d, UINT32_MAX) << 32 |
		    dice_below(d, UINT32_MAX), .uid = dice_below(d, UINT32_MAX),
		.data = some(d, 300), .proof = some(d, 64),
		.session_id = some(d, 64), .user = some(d, 30),
		.address = some(d, 30), .hostkey = some(d, 200),
		.port = dice_below(d, 65536) };
}

static struct resume_answer
some_answer(struct dice *d)
{
	struct resume_answer a = { .login = { .verdict = dice_below(d, 2) == 0 ?
		RENDEZVOUS_GOOD :
		    (enum rendezvous_verdict)dice_below(d,
			RENDEZVOUS_VERDICTS), .age_ms = dice_below(d, 1000000),
		.pid = dice_below(d, 100000), .n = dice_below(d,
		    RENDEZVOUS_PROOFS_MAX + 1) } };

	for (size_t i = 0; i < a.login.n; i++)
		a.login.proofs[i] = (struct rendezvous_proof){
			.method = some(d, 20), .key = some(d, 100) };
	a.login.auth_info = some(d, 50);
	a.received = dice_below(d, UINT32_MAX);
	a.proof = some(d, 0);
	for (a.proof.len = 0; a.proof.len < SURVIVE_PROOF_LEN;)
		a.proof.len += some(d, 1).len;
	for (a.bounds = some(d, 0); a.bounds.len < RESUME_BOUNDS_LEN;)
		a.bounds.len += some(d, 1).len;
	return a;
}

/* Room before any span of a turn is made, since they lie in it. */
static void
begin_turn(void)
{
	buf_reset(&store);
	assert_non_null(buf_reserve(&store, 64 * 1024));
}

static void
test_questions(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		struct dice d = { seed };
		struct resume_question q, got;
		struct buf b = { 0 };

		begin_turn();
		q = some_question(&d);
		resume_put_question(&b, &q);
		assert_int_equal(resume_get_question(rd_from_buf(&b), &got), 0);
		assert_int_equal(got.generation, q.generation);
		assert_true(got.received == q.received && got.uid == q.uid);
		assert_span(got.data, q.data);
		assert_span(got.proof, q.proof);
		assert_span(got.session_id, q.session_id);
		assert_span(got.user, q.user);
		assert_span(got.address, q.address);
		assert_span(got.hostkey, q.hostkey);
		assert_int_equal(got.port, q.port);
		/* Every cut, and every byte more, is an error. */
		for (size_t n = 0; n < buf_len(&b); n++)
			assert_true(resume_get_question(rd_from(buf_data(&b),
			    n), &got) < 0);
		buf_put_u8(&b, 0);
		assert_true(resume_get_question(rd_from_buf(&b), &got) < 0);
		buf_clear(&b);
	}
}

static void
test_answers(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		struct dice d = { seed };
		struct resume_answer a, got;
		struct buf b = { 0 };

		begin_turn();
		a = some_answer(&d);
		resume_put_answer(&b, &a);
		assert_int_equal(resume_get_answer(rd_from_buf(&b), &got), 0);
		assert_int_equal(got.login.verdict, a.login.verdict);
		for (size_t n = 0; n < buf_len(&b); n++)
			assert_true(resume_get_answer(rd_from(buf_data(&b), n),
			    &got) < 0);
		assert_int_equal(resume_get_answer(rd_from_buf(&b), &got), 0);
		if (a.login.verdict == RENDEZVOUS_GOOD) {
			assert_true(got.received == a.received);
			assert_span(got.proof, a.proof);
			assert_span(got.bounds, a.bounds);
			assert_int_equal(got.login.n, a.login.n);
			for (size_t i = 0; i < a.login.n; i++) {
				assert_span(got.login.proofs[i].method,
				    a.login.proofs[i].method);
				assert_span(got.login.proofs[i].key,
				    a.login.proofs[i].key);
			}
		}
		buf_put_u8(&b, 0);
		assert_true(resume_get_answer(rd_from_buf(&b), &got) < 0);
		buf_clear(&b);
	}
}

/* What a good answer is held to: lengths of the proof and of the bounds. */
static void
test_lengths(void **state)
{
	struct dice d = { 1 };
	struct resume_answer a, got;
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		begin_turn();
		a = some_answer(&d);
		a.login.verdict = RENDEZVOUS_GOOD;
		a.proof.len -= i == 0;
		a.proof.len += i == 1;
		a.bounds.len -= i == 2;
		a.bounds.len += i == 3;
		resume_put_answer(&b, &a);
		assert_int_equal(resume_get_answer(rd_from_buf(&b), &got),
		    ERR_FORMAT);
		buf_reset(&b);
	}
	buf_clear(&b);
}

/* Another release, or version, is told from a message that is broken. */
static void
test_versions(void **state)
{
	struct dice d = { 2 };
	struct resume_question q, got;
	struct resume_answer answer;
	struct buf b = { 0 };

	(void)state;
	begin_turn();
	q = some_question(&d);
	resume_put_question(&b, &q);
	/* The version, and the first letter of the release. */
	for (size_t at = 0; at <= 5; at += 5) {
		uint8_t *other = malloc(buf_len(&b));

		assert_non_null(other);
		memcpy(other, buf_data(&b), buf_len(&b));
		other[at]++;
		assert_int_equal(resume_get_question(rd_from(other,
		    buf_len(&b)), &got), ERR_UNSUPPORTED);
		free(other);
	}
	/* A monitor of another version answers in its own form. */
	buf_reset(&b);
	buf_put_u8(&b, RESUME_VERSION - 1);
	buf_put_cstring(&b, "whatever");
	assert_int_equal(resume_get_answer(rd_from_buf(&b), &answer), 0);
	assert_int_equal(answer.login.verdict, RENDEZVOUS_OTHER_VERSION);
	assert_true(resume_get_answer(rd_from(NULL, 0), &answer) < 0);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_versions),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	buf_clear(&store);
	return r;
}
