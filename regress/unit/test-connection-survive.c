/* SPDX-License-Identifier: ISC */
/*
 * Both ends of a session that survives its transport have the same keys after
 * each return, also when an answer was lost; nobody else gets in, and a wrong
 * proof changes nothing.
 */
#include "regress/unit/help.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "connection-survive.h"

struct pair {
	struct survive_keys client, server;
};

static const struct survive_binding binding = {
	.session_id = { (const uint8_t *)"SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS",
	    32 },
	.hostkey = { (const uint8_t *)"host key", 8 },
	.user = "anna",
};

static struct pair
granted(void)
{
	uint8_t secret[SURVIVE_SECRET_LEN];
	struct pair p;

	for (size_t i = 0; i < sizeof secret; i++)
		secret[i] = (uint8_t)i;
	assert_int_equal(survive_keys_begin(&p.client, &binding, secret), 0);
	assert_int_equal(survive_keys_begin(&p.server, &binding, secret), 0);
	return p;
}

/* A request of the client on the transport of that identifier. */
static struct survive_request
request(const struct pair *p, const char *sid)
{
	return (struct survive_request){ .session_id = span_text(sid),
		.bytes = span_text("request"),
		.generation = p->client.generation };
}

static int
come(struct pair *p, const struct survive_request *q, uint8_t *proof,
    uint8_t *answer)
{
	assert_int_equal(survive_keys_ask(&p->client, q, proof), 0);
	return survive_keys_accept(&p->server, q,
	    (struct span){ proof, SURVIVE_PROOF_LEN }, 77, answer);
}

static int
confirm(struct pair *p, const struct survive_request *q, const uint8_t *proof,
    uint64_t received, const uint8_t *answer)
{
	return survive_keys_confirm(&p->client, q,
	    (struct span){ proof, SURVIVE_PROOF_LEN }, received,
	    (struct span){ answer, SURVIVE_PROOF_LEN });
}

static void
assert_same_keys(const struct pair *p)
{
	assert_memory_equal(p->client.key, p->server.key, SURVIVE_KEY_LEN);
	assert_int_equal(p->client.generation, p->server.generation);
}

/* The values were computed by another implementation of docs/PROTOCOL.md. */
static void
test_vectors(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();
	struct survive_request q = request(&p,
	    "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT");

	(void)state;
	assert_hex(p.client.key, 32, "2e01461cb1f6ba18d82d7d164aa0911e"
				     "9081ece2923a6a33565866304bd25079");
	assert_int_equal(come(&p, &q, proof, answer), 0);
	assert_hex(proof, 32, "3b1d742ab8781e44ade0f4716e656776"
			      "463c8046a0ad6cd7fff7f7a640bc8d80");
	assert_hex(answer, 32, "15f46767aa49124584c27bb510bbcd01"
			       "49147649ba95adc949a57e646e57ae98");
	assert_hex(p.server.key, 32, "319c5d9a2d94c2ecb752b3598819d01e"
				     "d9484b59d15a8f0c1e0f412b92c6a611");
	assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
	assert_same_keys(&p);
}

static void
test_many_returns(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		char sid[2] = { (char)('a' + i), '\0' };
		struct survive_request q = request(&p, sid);

		assert_int_equal(q.generation, i);
		assert_int_equal(come(&p, &q, proof, answer), 0);
		assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
		assert_same_keys(&p);
		survive_keys_settle(&p.server);
	}
}

/* The answer is lost, twice: the client comes again with the key it has. */
static void
test_lost_answers(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();
	static const char *const sids[] = { "a", "b", "c" };
	struct survive_request q;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sids); i++) {
		q = request(&p, sids[i]);
		assert_int_equal(q.generation, 0);
		assert_int_equal(come(&p, &q, proof, answer), 0);
		assert_int_equal(p.server.generation, 1);
	}
	assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
	assert_same_keys(&p);
}

/* Two tries arrive in another order than they were made: the client has heard
 * the answer to the second one, then the server sees the first one, so many
 * times. *late is the first one, by *early. */
static struct pair
overtaken(struct pair *early, struct survive_request *late, unsigned times)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();
	struct survive_request q;

	*early = p;
	*late = request(early, "first");
	q = request(&p, "second");
	assert_int_equal(come(&p, &q, proof, answer), 0);
	assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
	for (unsigned i = 0; i < times; i++) {
		early->server = p.server;
		assert_int_equal(come(early, late, proof, answer), 0);
		p.server = early->server;
	}
	return p;
}

/* The key that the client has is good until it has spoken over another
 * transport. */
static void
test_tries_that_overtake(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct survive_request late, q;
	struct pair early, p = overtaken(&early, &late, SURVIVE_OTHERS_MAX);

	(void)state;
	q = request(&p, "third");
	assert_int_equal(q.generation, 1);
	assert_int_equal(come(&p, &q, proof, answer), 0);
	assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
	assert_same_keys(&p);
	/* By now the first one is of a generation that is over. */
	early.server = p.server;
	assert_int_equal(come(&early, &late, proof, answer), ERR_DENIED);
}

/* As many as are kept, and one more: the oldest one is forgotten. */
static void
test_too_many_tries(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct survive_request late, q;
	struct pair early, p = overtaken(&early, &late, SURVIVE_OTHERS_MAX + 1);

	(void)state;
	assert_int_equal(p.server.n_others, SURVIVE_OTHERS_MAX);
	q = request(&p, "third");
	assert_int_equal(come(&p, &q, proof, answer), ERR_DENIED);
}

/* Once the client has spoken, the key before is worth nothing. */
static void
test_a_stolen_key(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted(), thief = p;
	struct survive_request q = request(&p, "a"), late;
	struct survive_keys was;

	(void)state;
	assert_int_equal(come(&p, &q, proof, answer), 0);
	assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
	survive_keys_settle(&p.server);
	was = p.server;
	late = request(&thief, "b");
	thief.server = p.server;
	assert_int_equal(come(&thief, &late, proof, answer), ERR_DENIED);
	late.generation = 1; /* the key of 0 under another number */
	assert_int_equal(come(&thief, &late, proof, answer), ERR_DENIED);
	assert_memory_equal(&thief.server, &was, sizeof was);
}

static void
test_wrong_proofs(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();
	const struct survive_request q = request(&p, "a");
	struct survive_request other;
	struct survive_keys was = p.server;
	struct span s = { proof, SURVIVE_PROOF_LEN };

	(void)state;
	assert_int_equal(survive_keys_ask(&p.client, &q, proof), 0);
	other = q;
	other.session_id = span_text("b"); /* taken to another transport */
	assert_int_equal(survive_keys_accept(&p.server, &other, s, 0, answer),
	    ERR_DENIED);
	other = q;
	other.bytes = span_text("requesu");
	assert_int_equal(survive_keys_accept(&p.server, &other, s, 0, answer),
	    ERR_DENIED);
	other = q;
	other.generation = 1;
	assert_int_equal(survive_keys_accept(&p.server, &other, s, 0, answer),
	    ERR_DENIED);
	other.generation = UINT32_MAX;
	assert_int_equal(survive_keys_accept(&p.server, &other, s, 0, answer),
	    ERR_DENIED);
	for (size_t len = 0; len < SURVIVE_PROOF_LEN; len++) {
		s.len = len;
		assert_int_equal(survive_keys_accept(&p.server, &q, s, 0,
				     answer), ERR_DENIED);
	}
	s.len = SURVIVE_PROOF_LEN;
	for (size_t i = 0; i < SURVIVE_PROOF_LEN; i++) {
		proof[i] ^= 1;
		assert_int_equal(survive_keys_accept(&p.server, &q, s, 0,
				     answer), ERR_DENIED);
		proof[i] ^= 1;
	}
	assert_memory_equal(&p.server, &was, sizeof was);
	assert_int_equal(survive_keys_accept(&p.server, &q, s, 0, answer), 0);
}

/* Whoever has the host key, but not the session's, cannot take a client in; nor
 * is a number of messages taken that the server did not mean. */
static void
test_wrong_answers(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN], answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();
	const struct survive_request q = request(&p, "a");
	struct survive_keys was = p.client;

	(void)state;
	assert_int_equal(come(&p, &q, proof, answer), 0);
	assert_int_equal(confirm(&p, &q, proof, 78, answer), ERR_DENIED);
	assert_int_equal(confirm(&p, &q, answer, 77, answer), ERR_DENIED);
	assert_int_equal(confirm(&p, &q, proof, 77, proof), ERR_DENIED);
	answer[31] ^= 128;
	assert_int_equal(confirm(&p, &q, proof, 77, answer), ERR_DENIED);
	answer[31] ^= 128;
	assert_memory_equal(&p.client, &was, sizeof was);
	assert_int_equal(confirm(&p, &q, proof, 77, answer), 0);
	/* The same answer again is one of the last generation. */
	assert_int_equal(confirm(&p, &q, proof, 77, answer), ERR_DENIED);
}

static void
test_other_bindings(void **state)
{
	uint8_t secret[SURVIVE_SECRET_LEN] = { 0 };
	struct survive_binding others[] = { binding, binding, binding };
	struct survive_keys k, other;

	(void)state;
	others[0].user = "anne";
	others[1].hostkey = span_text("host kez");
	others[2].session_id = span_text("another");
	assert_int_equal(survive_keys_begin(&k, &binding, secret), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		assert_int_equal(survive_keys_begin(&other, &others[i],
				     secret), 0);
		assert_memory_not_equal(k.key, other.key, sizeof k.key);
	}
}

/* Without a grant, and after the end, nothing is asked for or taken. */
static void
test_nothing_granted(void **state)
{
	uint8_t proof[SURVIVE_PROOF_LEN] = { 0 }, answer[SURVIVE_PROOF_LEN];
	struct pair p = granted();
	struct survive_request q = request(&p, "a");

	(void)state;
	survive_keys_clear(&p.client);
	survive_keys_clear(&p.server);
	assert_int_equal(survive_keys_ask(&p.client, &q, proof), ERR_DENIED);
	assert_int_equal(survive_keys_accept(&p.server, &q,
			     (struct span){ proof, sizeof proof }, 0, answer),
	    ERR_DENIED);
	assert_int_equal(confirm(&p, &q, proof, 0, proof), ERR_DENIED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_many_returns),
		cmocka_unit_test(test_lost_answers),
		cmocka_unit_test(test_tries_that_overtake),
		cmocka_unit_test(test_too_many_tries),
		cmocka_unit_test(test_a_stolen_key),
		cmocka_unit_test(test_wrong_proofs),
		cmocka_unit_test(test_wrong_answers),
		cmocka_unit_test(test_other_bindings),
		cmocka_unit_test(test_nothing_granted),
	};

	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
