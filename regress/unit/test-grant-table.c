/* SPDX-License-Identifier: ISC */
/* Grants: what a request may ask for, and what each is good for: so many
 * connections, by one key, from one address, for a while; against a plain model
 * of these rules. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/key.h"
#include "server/monitor/grant-table.h"
#include "xfer/sftp/sftp-rights.h"

enum { PUT = SFTP_MAY_LIST | SFTP_MAY_MAKE | SFTP_MAY_TIMES };

struct setting {
	struct key *key, *other;
	struct buf blob;
	struct grant_table t;
};

static struct span
text_span(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static struct key *
make_key(const char *type)
{
	struct key *k;

	assert_int_equal(key_generate(type, 0, &k), 0);
	return k;
}

static int
set_up(void **state)
{
	struct setting *s = calloc(1, sizeof *s);

	assert_non_null(s);
	s->key = make_key("ed25519");
	s->other = make_key("ed25519");
	assert_int_equal(key_to_blob(s->key, &s->blob), 0);
	*state = s;
	return 0;
}

static int
tear_down(void **state)
{
	struct setting *s = *state;

	grant_table_clear(&s->t);
	buf_clear(&s->blob);
	key_free(s->key);
	key_free(s->other);
	free(s);
	return 0;
}

static struct grant_request
plain(const struct setting *s)
{
	return (struct grant_request){ .key = buf_span(&s->blob),
		.scope = { (char *)(uintptr_t)"/dir", PUT, 1, 2, 3 },
		.connections = 2,
		.begin_s = 10,
		.life_s = 100,
		.address = (char *)(uintptr_t)"" };
}

static enum rendezvous_verdict
show(struct setting *s, const uint8_t *serial, const struct key *k,
    const char *data, const char *address, uint64_t now)
{
	struct buf proof = { 0 };
	const struct grant *g;
	enum rendezvous_verdict v;

	assert_int_equal(key_sign(k, "ssh-ed25519", text_span("data"),
			     &proof), 0);
	v = grant_table_redeem(&s->t,
	    (struct span){ serial, TICKET_SERIAL_LEN }, text_span(data),
	    buf_span(&proof), text_span(address), now, &g);
	if (v == RENDEZVOUS_GOOD)
		assert_string_equal(g->scope.path, "/dir");
	buf_clear(&proof);
	return v;
}

/* ---- requests ----------------------------------------------------------- */

static void
rights_and_kinds(void **state)
{
	static const struct {
		uint32_t rights;
		unsigned kinds; /* the least that allows them; 9: none does */
	} t[] = {
		{ 0, 9 },
		{ SFTP_MAY_LIST, 1 },
		{ SFTP_MAY_LIST | SFTP_MAY_READ, GRANT_GET },
		{ PUT, GRANT_PUT },
		{ PUT | SFTP_MAY_READ, GRANT_PUT | GRANT_GET },
		{ SFTP_MAY_DELETE, GRANT_PUT },
		{ SFTP_MAY_OWNER, 9 },
		{ PUT | SFTP_MAY_OWNER, 9 },
		{ SFTP_MAY_ALL + 1, 9 },
		{ UINT32_MAX, 9 },
	};

	(void)state;
	assert_int_equal(GRANT_MAY_LIST, SFTP_MAY_LIST);
	assert_int_equal(GRANT_MAY_READ, SFTP_MAY_READ);
	assert_int_equal(GRANT_MAY_OWNER, SFTP_MAY_OWNER);
	assert_int_equal(GRANT_MAY_ALL, SFTP_MAY_ALL);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		for (unsigned kinds = 0; kinds < 4; kinds++) {
			bool want = kinds != 0 && t[i].kinds != 9 &&
			    (t[i].rights == SFTP_MAY_LIST ||
				(kinds & t[i].kinds) == t[i].kinds);

			assert_int_equal(
			    grant_rights_allowed(t[i].rights, kinds), want);
		}
}

static void
what_fits(void **state)
{
	struct setting *s = *state;
	struct buf rsa = { 0 };
	struct key *k = make_key("rsa");
	struct grant_request q = plain(s);

	assert_true(grant_request_fits(&q));
	for (uint32_t i = 0; i < 2; i++) {
		q = plain(s);
		q.connections = i == 0 ? 0 : GRANT_CONNECTIONS_MAX + 1;
		assert_false(grant_request_fits(&q));
		q = plain(s);
		q.begin_s = i == 0 ? 0 : GRANT_BEGIN_MAX_S + 1;
		assert_false(grant_request_fits(&q));
		q = plain(s);
		q.life_s = i == 0 ? 0 : GRANT_LIFE_MAX_S + 1;
		assert_false(grant_request_fits(&q));
	}
	q = plain(s);
	q.key = text_span("");
	assert_false(grant_request_fits(&q));
	assert_int_equal(key_to_blob(k, &rsa), 0);
	q.key = buf_span(&rsa);
	assert_false(grant_request_fits(&q));
	buf_clear(&rsa);
	key_free(k);
}

/* Every cut of a request's bytes, every longer one, and paths that are not
 * absolute. */
static void
requests_on_the_wire(void **state)
{
	struct setting *s = *state;
	struct grant_request q = plain(s), got;
	struct buf b = { 0 };
	size_t len;

	buf_put_string_buf(&b, &s->blob);
	grant_scope_put(&b, &q.scope);
	buf_put_u32(&b, 3);
	buf_put_u32(&b, 4);
	buf_put_u32(&b, 5);
	buf_put_cstring(&b, "10.0.0.1");
	len = buf_len(&b);
	buf_put_u8(&b, 0);
	for (size_t cut = 0; cut <= len + 1; cut++) {
		struct rd r = rd_from_span(
		    (struct span){ buf_data(&b), cut });

		got = (struct grant_request){ .address = NULL };
		assert_int_equal(grant_request_get(&r, &got) == 0,
		    cut == len);
		if (cut == len) {
			assert_string_equal(got.scope.path, "/dir");
			assert_int_equal(got.scope.rights, PUT);
			assert_int_equal(got.scope.deletes, 3);
			assert_int_equal(got.connections, 3);
			assert_int_equal(got.life_s, 5);
			assert_string_equal(got.address, "10.0.0.1");
		}
		grant_request_clear(&got);
	}
	buf_clear(&b);
}

static void
scopes_that_are_none(void **state)
{
	static const struct grant_scope bad[] = {
		{ (char *)(uintptr_t)"dir", PUT, 0, 0, 0 },
		{ (char *)(uintptr_t)"", PUT, 0, 0, 0 },
		{ (char *)(uintptr_t)"/dir", SFTP_MAY_ALL + 1, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct grant_scope got = { .path = NULL };
		struct buf b = { 0 };
		struct rd r;

		grant_scope_put(&b, &bad[i]);
		r = rd_from_buf(&b);
		assert_int_equal(grant_scope_get(&r, &got), ERR_FORMAT);
		grant_scope_clear(&got);
		buf_clear(&b);
	}
}

/* ---- the table ---------------------------------------------------------- */

static void
so_many_connections(void **state)
{
	struct setting *s = *state;
	struct grant_request q = plain(s);
	uint8_t serial[TICKET_SERIAL_LEN];

	assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	assert_int_equal(show(s, serial, s->key, "data", "", 2000),
	    RENDEZVOUS_GOOD);
	/* Once begun, the later ones may come at any time of its life. */
	assert_int_equal(show(s, serial, s->key, "data", "x", 100 * 1000),
	    RENDEZVOUS_GOOD);
	assert_int_equal(show(s, serial, s->key, "data", "", 100 * 1000),
	    RENDEZVOUS_EXPIRED);
}

/* Its numbers hold for all connections together. */
static void
parts_of_its_numbers(void **state)
{
	struct setting *s = *state;
	struct grant_request q = plain(s);
	uint8_t serial[TICKET_SERIAL_LEN];
	uint64_t bytes = 0, files = 0;

	q.connections = 3;
	q.scope.bytes = 1000;
	q.scope.files = 2;
	q.scope.deletes = UINT64_MAX;
	assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(show(s, serial, s->key, "data", "", 2000),
		    RENDEZVOUS_GOOD);
		assert_true(s->t.v[0].part.bytes >= 333);
		assert_int_equal(s->t.v[0].part.files, i < 2);
		assert_true(s->t.v[0].part.deletes == UINT64_MAX);
		bytes += s->t.v[0].part.bytes;
		files += s->t.v[0].part.files;
	}
	assert_int_equal(bytes, 1000);
	assert_int_equal(files, 2);
}

static void
ways_to_be_refused(void **state)
{
	struct setting *s = *state;
	struct grant_request q = plain(s);
	uint8_t serial[TICKET_SERIAL_LEN], none[TICKET_SERIAL_LEN] = { 0 };

	q.address = (char *)(uintptr_t)"10.0.0.1";
	assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	assert_int_equal(show(s, none, s->key, "data", "10.0.0.1", 1000),
	    RENDEZVOUS_UNKNOWN);
	assert_int_equal(show(s, serial, s->key, "data", "10.0.0.2", 1000),
	    RENDEZVOUS_ADDRESS);
	assert_int_equal(show(s, serial, s->key, "data", "10.0.0.1", 10999),
	    RENDEZVOUS_GOOD);
	/* A wrong signature ends it. */
	assert_int_equal(show(s, serial, s->other, "data", "10.0.0.1", 11000),
	    RENDEZVOUS_WRONG);
	assert_int_equal(show(s, serial, s->key, "data", "10.0.0.1", 11000),
	    RENDEZVOUS_UNKNOWN);
	assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	assert_int_equal(show(s, serial, s->key, "datum", "10.0.0.1", 1000),
	    RENDEZVOUS_WRONG);
	/* Nobody came in time; its life is over. */
	assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	assert_int_equal(show(s, serial, s->key, "data", "10.0.0.1", 11000),
	    RENDEZVOUS_EXPIRED);
	assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	assert_int_equal(show(s, serial, s->key, "data", "10.0.0.1", 1000),
	    RENDEZVOUS_GOOD);
	assert_int_equal(show(s, serial, s->key, "data", "10.0.0.1",
			     101 * 1000), RENDEZVOUS_EXPIRED);
}

static void
a_full_table(void **state)
{
	struct setting *s = *state;
	struct grant_request q = plain(s);
	uint8_t serial[TICKET_SERIAL_LEN];

	for (int i = 0; i < GRANTS_MAX; i++)
		assert_int_equal(grant_table_mint(&s->t, &q, 1000, serial), 0);
	assert_int_equal(grant_table_mint(&s->t, &q, 10999, serial),
	    ERR_LIMIT);
	/* Those that nobody has used in time give their places back. */
	assert_int_equal(grant_table_mint(&s->t, &q, 11000, serial), 0);
	assert_int_equal(s->t.n, 1);
}

static void
taken_back(void **state)
{
	static const uint8_t none[TICKET_SERIAL_LEN];
	struct setting *s = *state;
	struct grant_request q = plain(s);
	uint8_t serials[3][TICKET_SERIAL_LEN];

	for (int i = 0; i < 3; i++)
		assert_int_equal(grant_table_mint(&s->t, &q, 1000, serials[i]),
		    0);
	grant_table_end(&s->t, (struct span){ none, sizeof none });
	grant_table_end(&s->t, (struct span){ serials[1], 3 });
	assert_int_equal(s->t.n, 3);
	grant_table_end(&s->t, (struct span){ serials[1], TICKET_SERIAL_LEN });
	assert_int_equal(s->t.n, 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(show(s, serials[i], s->key, "data", "", 2000),
		    i == 1 ? RENDEZVOUS_UNKNOWN : RENDEZVOUS_GOOD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_and_kinds),
		cmocka_unit_test_setup_teardown(what_fits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(requests_on_the_wire, set_up,
		    tear_down),
		cmocka_unit_test(scopes_that_are_none),
		cmocka_unit_test_setup_teardown(so_many_connections, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(parts_of_its_numbers, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(ways_to_be_refused, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_full_table, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(taken_back, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
