/* SPDX-License-Identifier: ISC */
/* Tickets at the client: what a server may send, good or not, and the proof
 * that is made of them. */
#include "regress/unit/help.h"

#include <string.h>

#include "client/auth/login-tickets.h"
#include "server/monitor/ticket-table.h"

enum { NOW = 5000 };

static const struct login_ticket_binding binding = {
	.session_id = { (const uint8_t *)"session", 7 },
	.hostkey = { (const uint8_t *)"host key", 8 },
	.user = "user",
};

static void
put_ticket(struct buf *b, const void *name, size_t name_len,
    const void *secret, size_t secret_len, uint8_t kind, uint32_t seconds)
{
	buf_put_string(b, name, name_len);
	buf_put_string(b, secret, secret_len);
	buf_put_u8(b, kind);
	buf_put_u32(b, seconds);
}

static const uint8_t zeros[64];

/* What the server mints, the client proves, and the server takes. */
static void
both_ends(void **state)
{
	static const struct ticket_binding theirs = {
		.session_id = { (const uint8_t *)"session", 7 },
		.hostkey = { (const uint8_t *)"host key", 8 },
		.user = "user",
	};
	uint8_t name[TICKET_NAME_LEN] = { 1 }, secret[TICKET_SECRET_LEN];
	struct ticket_table table = { .n = 0 };
	struct login_tickets mine = { .n = 0 };
	struct login_ticket one;
	struct buf reply = { 0 }, request = { 0 }, data = { 0 };
	struct span proof, serial = { name + TICKET_HANDLE_LEN,
		TICKET_SERIAL_LEN };
	struct rd r;

	(void)state;
	assert_int_equal(ticket_table_mint(&table, &theirs, 'p', NOW + 1,
			     name + TICKET_HANDLE_LEN, secret), 0);
	buf_put_u32(&reply, 1);
	put_ticket(&reply, name, sizeof name, secret, sizeof secret, 'p', 60);
	assert_int_equal(login_tickets_take_reply(&mine, &binding,
			     rd_from_buf(&reply), NOW), 0);
	assert_true(login_tickets_take(&mine, NOW, &one));
	assert_false(login_tickets_take(&mine, NOW, &one));
	buf_printf(&request, "so far");
	assert_int_equal(login_ticket_put(&request, &one,
			     (struct span){ (const uint8_t *)"new", 3 }), 0);
	/* The proof is the last string. */
	buf_printf(&data, "client");
	buf_put_string(&data, "new", 3);
	buf_put(&data, buf_data(&request), buf_len(&request) - 36);
	r = rd_from(buf_data(&request) + buf_len(&request) - 36, 36);
	proof = rd_string(&r);
	assert_int_equal(rd_end(&r), 0);
	assert_int_equal(ticket_table_redeem(&table, serial, 'p',
			     buf_span(&data), proof, NOW), TICKET_GOOD);
	buf_clear(&reply);
	buf_clear(&request);
	buf_clear(&data);
}

static void
hostile_replies(void **state)
{
	static const struct {
		uint32_t n;
		size_t there, name, secret;
		uint8_t kind;
		int want;
		size_t kept;
	} t[] = {
		{ 0, 0, 24, 32, 'p', 0, 0 },
		{ 2, 2, 24, 32, 'p', 0, 2 },
		{ 1, 2, 24, 32, 'p', ERR_TRAILING, 0 },
		{ 3, 2, 24, 32, 'p', ERR_TRUNCATED, 0 },
		{ UINT32_C(1) << 31, 2, 24, 32, 'p', ERR_TRUNCATED, 0 },
		{ UINT32_MAX, 40, 24, 32, 'p', ERR_TRUNCATED, 0 },
		{ 40, 40, 24, 32, 'p', 0, LOGIN_TICKETS_MAX },
		{ 2, 2, 23, 32, 'p', ERR_FORMAT, 0 },
		{ 2, 2, 25, 32, 'p', ERR_FORMAT, 0 },
		{ 2, 2, 24, 31, 'p', ERR_FORMAT, 0 },
		{ 2, 2, 24, 64, 'p', ERR_FORMAT, 0 },
		{ 2, 2, 24, 0, 'p', ERR_FORMAT, 0 },
		{ 2, 2, 24, 32, 'r', 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		static const struct login_tickets none = { .n = 0 };
		struct login_tickets mine = { .n = 0 };
		struct buf b = { 0 };

		buf_put_u32(&b, t[i].n);
		for (size_t k = 0; k < t[i].there; k++)
			put_ticket(&b, zeros, t[i].name, zeros, t[i].secret,
			    t[i].kind, 60);
		assert_int_equal(login_tickets_take_reply(&mine, &binding,
				     rd_from_buf(&b), NOW), t[i].want);
		assert_int_equal(mine.n, t[i].kept);
		assert_int_equal(mine.back.kind != 0,
		    t[i].want == 0 && t[i].kind == 'r');
		if (t[i].kept == 0 && mine.back.kind == 0)
			assert_memory_equal(&mine, &none, sizeof mine);
		login_tickets_clear(&mine);
		assert_memory_equal(&mine, &none, sizeof mine);
		buf_clear(&b);
	}
}

/* The one to come back with waits for the connection's loss, and is good until
 * another one replaces it. */
static void
coming_back(void **state)
{
	struct login_tickets mine = { .n = 0 };
	struct login_ticket one;
	struct buf b = { 0 };
	uint8_t name[24] = { 7 };

	(void)state;
	buf_put_u32(&b, 3);
	put_ticket(&b, zeros, 24, zeros, 32, 'p', 60);
	put_ticket(&b, zeros, 24, zeros, 32, 'r', 600000);
	put_ticket(&b, name, 24, zeros, 32, 'r', UINT32_MAX);
	assert_int_equal(login_tickets_take_reply(&mine, &binding,
			     rd_from_buf(&b), NOW), 0);
	assert_int_equal(login_tickets_count(&mine, NOW), 1);
	assert_false(login_tickets_may_return(&mine, NOW));
	assert_true(login_tickets_take(&mine, NOW, &one));
	assert_int_equal(one.kind, 'p');
	assert_false(login_tickets_take(&mine, NOW, &one));
	login_tickets_lose(&mine);
	assert_int_equal(login_tickets_count(&mine, NOW), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(login_tickets_may_return(&mine, NOW));
		assert_true(login_tickets_take(&mine, NOW, &one));
		assert_int_equal(one.kind, 'r');
		assert_memory_equal(one.name, name, sizeof name);
	}
	/* No longer than for a week. */
	assert_false(login_tickets_take(&mine,
	    NOW + UINT64_C(7) * 24 * 3600 * 1000, &one));
	buf_clear(&b);
}

/* They end when the server says, but not later than after an hour. */
static void
their_end(void **state)
{
	static const uint32_t seconds[] = { 0, 1, 3600, UINT32_MAX };
	struct login_tickets mine = { .n = 0 };
	struct buf b = { 0 };

	(void)state;
	buf_put_u32(&b, 4);
	for (int i = 0; i < 4; i++)
		put_ticket(&b, zeros, 24, zeros, 32, 'p', seconds[i]);
	assert_int_equal(login_tickets_take_reply(&mine, &binding,
			     rd_from_buf(&b), NOW), 0);
	assert_int_equal(login_tickets_count(&mine, NOW), 3);
	assert_int_equal(login_tickets_count(&mine, NOW + 999), 3);
	assert_int_equal(login_tickets_count(&mine, NOW + 1000), 2);
	assert_int_equal(login_tickets_count(&mine, NOW + 3599999), 2);
	assert_int_equal(login_tickets_count(&mine, NOW + 3600000), 0);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends),
		cmocka_unit_test(hostile_replies),
		cmocka_unit_test(coming_back),
		cmocka_unit_test(their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
