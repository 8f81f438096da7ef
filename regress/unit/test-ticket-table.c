/* SPDX-License-Identifier: ISC */
/* Tickets: each is good once, for what it is bound to, until its end; and which
 * logins may mint them. */
#include "regress/unit/help.h"

#include <string.h>

#include "base/buf.h"
#include "crypto/digest.h"
#include "server/monitor/ticket-rules.h"
#include "server/monitor/ticket-table.h"

enum { NOW = 1000, END = 2000 };

static const uint8_t session_id[] = "session", hostkey[] = "host key";
static const struct ticket_binding binding = { { session_id, 7 },
	{ hostkey, 8 }, "user" };

/* The proof over data that the holder of the secret makes. */
static void
prove(const struct ticket_binding *b, char kind, const uint8_t *secret,
    const char *data, uint8_t *proof)
{
	uint8_t key[TICKET_PROOF_LEN];
	struct buf text = { 0 };

	buf_printf(&text, "ticket@hpnssh.org%c", kind);
	buf_put_string(&text, b->session_id.p, b->session_id.len);
	buf_put_cstring(&text, b->user);
	buf_put_string(&text, b->hostkey.p, b->hostkey.len);
	assert_int_equal(digest_hmac(DIGEST_SHA256, secret, TICKET_SECRET_LEN,
			     buf_data(&text), buf_len(&text), key), 0);
	assert_int_equal(digest_hmac(DIGEST_SHA256, key, sizeof key, data,
			     strlen(data), proof), 0);
	buf_clear(&text);
}

static struct span
text_span(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static void
one_ticket(void **state)
{
	static const struct {
		uint64_t now;
		char kind;	   /* that is claimed */
		const char *user;  /* for whom the proof is */
		const char *data;  /* that is shown; the proof is over "data" */
		size_t len;	   /* of the proof */
		enum ticket_verdict want;
	} t[] = {
		{ NOW, 'p', "user", "data", 32, TICKET_GOOD },
		{ END - 1, 'p', "user", "data", 32, TICKET_GOOD },
		{ END, 'p', "user", "data", 32, TICKET_EXPIRED },
		{ NOW, 'r', "user", "data", 32, TICKET_WRONG },
		{ NOW, 'p', "User", "data", 32, TICKET_WRONG },
		{ NOW, 'p', "user", "datum", 32, TICKET_WRONG },
		{ NOW, 'p', "user", "data", 31, TICKET_WRONG },
		{ NOW, 'p', "user", "data", 0, TICKET_WRONG },
	};
	struct ticket_table table = { .n = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ticket_binding b = binding;
		uint8_t serial[TICKET_SERIAL_LEN], secret[TICKET_SECRET_LEN],
		    proof[TICKET_PROOF_LEN];
		const struct span name = { serial, sizeof serial };

		assert_int_equal(ticket_table_mint(&table, &binding, 'p', END,
				     serial, secret), 0);
		b.user = t[i].user;
		prove(&b, t[i].kind, secret, "data", proof);
		/* A part of its name is none. */
		assert_int_equal(ticket_table_redeem(&table,
				     (struct span){ serial, 7 }, 'p',
				     text_span("data"),
				     (struct span){ proof, 32 }, NOW),
		    TICKET_UNKNOWN);
		assert_int_equal(table.n, 1);
		assert_int_equal(ticket_table_redeem(&table, name, t[i].kind,
				     text_span(t[i].data),
				     (struct span){ proof, t[i].len },
				     t[i].now), t[i].want);
		/* Whatever came of it, it is gone. */
		assert_int_equal(table.n, 0);
		prove(&binding, 'p', secret, "data", proof);
		assert_int_equal(ticket_table_redeem(&table, name, 'p',
				     text_span("data"),
				     (struct span){ proof, 32 }, NOW),
		    TICKET_UNKNOWN);
	}
}

static void
many_tickets(void **state)
{
	static const struct ticket_table empty = { .n = 0 };
	uint8_t serials[SERVER_TICKETS_MAX][TICKET_SERIAL_LEN];
	uint8_t secret[TICKET_SECRET_LEN], proof[TICKET_PROOF_LEN],
	    last[TICKET_SERIAL_LEN];
	struct ticket_table table = { .n = 0 };

	(void)state;
	for (size_t i = 0; i < SERVER_TICKETS_MAX; i++)
		assert_int_equal(ticket_table_mint(&table, &binding, 'p',
				     i % 2 == 0 ? END : END + 1, serials[i],
				     secret), 0);
	assert_int_equal(ticket_table_mint(&table, &binding, 'p', END, last,
			     secret), ERR_LIMIT);
	/* The right one of many. */
	ticket_table_expire(&table, END - 1);
	assert_int_equal(table.n, SERVER_TICKETS_MAX);
	ticket_table_expire(&table, END);
	assert_int_equal(table.n, SERVER_TICKETS_MAX / 2);
	assert_int_equal(ticket_table_mint(&table, &binding, 'p', END + 2,
			     last, secret), 0);
	prove(&binding, 'p', secret, "data", proof);
	assert_int_equal(ticket_table_redeem(&table,
			     (struct span){ serials[0], 8 }, 'p',
			     text_span("data"), (struct span){ proof, 32 },
			     END), TICKET_UNKNOWN);
	assert_int_equal(ticket_table_redeem(&table,
			     (struct span){ serials[1], 8 }, 'p',
			     text_span("data"), (struct span){ proof, 32 },
			     END), TICKET_WRONG);
	assert_int_equal(ticket_table_redeem(&table, (struct span){ last, 8 },
			     'p', text_span("data"),
			     (struct span){ proof, 32 }, END), TICKET_GOOD);
	ticket_table_clear(&table);
	assert_memory_equal(&table, &empty, sizeof table);
}

/* The ticket for a connection in place of this one: there is one, which stays
 * good until it is spent, but for a wrong proof. */
static void
one_to_come_back(void **state)
{
	uint8_t serial[2][TICKET_SERIAL_LEN], secret[TICKET_SECRET_LEN],
	    proof[TICKET_PROOF_LEN], beside[TICKET_SERIAL_LEN];
	struct span name[2], right = { proof, sizeof proof },
	    data = text_span("data");
	struct ticket_table table = { .n = 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		name[i] = (struct span){ serial[i], TICKET_SERIAL_LEN };
		assert_int_equal(ticket_table_mint(&table, &binding, 'r', END,
				     serial[i], secret), 0);
		prove(&binding, 'r', secret, "data", proof);
	}
	assert_int_equal(table.n, 0);
	assert_int_equal(ticket_table_redeem(&table, name[0], 'r', data, right,
			     NOW), TICKET_UNKNOWN);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ticket_table_redeem(&table, name[1], 'r',
				     data, right, NOW), TICKET_GOOD);
	assert_true(ticket_table_has_instead(&table, END - 1));
	assert_false(ticket_table_has_instead(&table, END));
	/* Others go when the connection is lost. */
	assert_int_equal(ticket_table_mint(&table, &binding, 'p', END, beside,
			     secret), 0);
	ticket_table_lose(&table);
	assert_int_equal(table.n, 0);
	assert_true(ticket_table_has_instead(&table, NOW));
	ticket_table_spend(&table);
	assert_int_equal(ticket_table_redeem(&table, name[1], 'r', data, right,
			     NOW), TICKET_UNKNOWN);
}

/* One wrong proof, a wrong kind, or its end takes it out. */
static void
none_to_come_back(void **state)
{
	static const struct {
		char kind;
		const char *data;
		uint64_t now;
		enum ticket_verdict want;
	} t[] = {
		{ 'p', "data", NOW, TICKET_WRONG },
		{ 'r', "datum", NOW, TICKET_WRONG },
		{ 'r', "data", END, TICKET_EXPIRED },
	};
	struct ticket_table table = { .n = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		uint8_t serial[TICKET_SERIAL_LEN], secret[TICKET_SECRET_LEN],
		    proof[TICKET_PROOF_LEN];
		struct span name = { serial, sizeof serial };

		assert_int_equal(ticket_table_mint(&table, &binding, 'r', END,
				     serial, secret), 0);
		prove(&binding, 'r', secret, "data", proof);
		assert_int_equal(ticket_table_redeem(&table, name, t[i].kind,
				     text_span(t[i].data),
				     (struct span){ proof, 32 }, t[i].now),
		    t[i].want);
		assert_int_equal(ticket_table_redeem(&table, name, 'r',
				     text_span("data"),
				     (struct span){ proof, 32 }, NOW),
		    TICKET_UNKNOWN);
	}
}

/* Places that were taken out are wiped. */
static void
nothing_stays(void **state)
{
	uint8_t serial[TICKET_SERIAL_LEN], secret[TICKET_SECRET_LEN];
	static const struct ticket none = { .kind = 0 };
	struct ticket_table table = { .n = 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ticket_table_mint(&table, &binding, 'p',
				     (uint64_t)(END + i), serial, secret), 0);
	ticket_table_expire(&table, END + 1);
	assert_int_equal(table.n, 1);
	for (size_t i = 1; i < 3; i++)
		assert_memory_equal(&table.v[i], &none, sizeof none);
}

/* Each row of the table, beside a key. */
static void
who_may_mint(void **state)
{
	static const struct {
		unsigned traits;
		bool may;
	} t[] = {
		{ TICKET_BY_PUBLICKEY, true },
		{ TICKET_BY_PASSWORD, true },
		{ TICKET_BY_KBDINT, true },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_KBDINT, true },
		{ TICKET_BY_PUBLICKEY | TICKET_FORCED, true },
		{ TICKET_BY_PUBLICKEY | TICKET_CHROOTED, true },
		{ TICKET_BY_PUBLICKEY | TICKET_CHROOTED | TICKET_SFTP_ONLY,
		    true },
		{ 0, false },
		{ TICKET_FORCED, false },
		{ TICKET_BY_NONE, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_NONE, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_HOSTBASED, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_GSSAPI, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_KEYEX, false },
		{ TICKET_BY_TICKET, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_TICKET, false },
		{ TICKET_BY_INSTEAD, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_INSTEAD, true },
		{ TICKET_BY_KBDINT | TICKET_BY_INSTEAD | TICKET_FORCED, true },
		{ TICKET_BY_PASSWORD | TICKET_MUST_CHANGE, false },
		{ TICKET_BY_PUBLICKEY | TICKET_BY_GRANT, false },
		{ TICKET_BY_PUBLICKEY | TICKET_SFTP_ONLY, true },
		{ TICKET_BY_PUBLICKEY | 1U << 31, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		bool forced = (t[i].traits & TICKET_FORCED) != 0;

		assert_int_equal(ticket_rules_may(t[i].traits, TICKET_GRANT),
		    t[i].may && !forced);
		assert_int_equal(ticket_rules_may(t[i].traits, TICKET_BESIDE),
		    t[i].may);
		assert_int_equal(ticket_rules_may(t[i].traits, TICKET_INSTEAD),
		    t[i].may);
		assert_false(ticket_rules_may(t[i].traits, '\0'));
	}
}

/* All that can hold of a login, in every combination: what is barred stays
 * barred beside anything else, and nothing is gained but by what was shown. */
static void
every_login(void **state)
{
	static const unsigned shows = TICKET_BY_PUBLICKEY |
	    TICKET_BY_PASSWORD | TICKET_BY_KBDINT;
	static const unsigned barred = TICKET_BY_NONE | TICKET_BY_KEYEX |
	    TICKET_BY_GSSAPI | TICKET_BY_HOSTBASED | TICKET_BY_TICKET |
	    TICKET_MUST_CHANGE | TICKET_BY_GRANT | 1U << AUTH_METHOD_RESUME;
	static const unsigned harmless = TICKET_FORCED | TICKET_CHROOTED |
	    TICKET_SFTP_ONLY | TICKET_BY_INSTEAD;
	const unsigned end = (unsigned)TICKET_BY_GRANT << 1;
	size_t n = 0;

	(void)state;
	assert_int_equal(shows | barred | harmless, end - 1);
	for (unsigned traits = 0; traits < end; traits++) {
		bool may = (traits & shows) != 0 && (traits & barred) == 0;

		n += may;
		assert_int_equal(ticket_rules_may(traits, TICKET_BESIDE), may);
		assert_int_equal(ticket_rules_may(traits, TICKET_INSTEAD), may);
		assert_int_equal(ticket_rules_may(traits, TICKET_SURVIVE), may);
		assert_int_equal(ticket_rules_may(traits, TICKET_GRANT),
		    may && (traits & TICKET_FORCED) == 0);
		/* Whatever is not in the table bars, too. */
		for (unsigned more = end; more != 0; more <<= 1)
			assert_false(ticket_rules_may(traits | more,
			    TICKET_BESIDE));
	}
	assert_int_equal(n, 7 * 16);
	for (int kind = 0; kind < 256; kind++)
		assert_int_equal(ticket_rules_may(shows, (char)kind),
		    kind == 'p' || kind == 'r' || kind == 'g' || kind == 's');
}

/* Names that are made up find nothing and cost nothing; and a table from which
 * tickets come and go for ever is as one from which none did. */
static void
names_without_end(void **state)
{
	uint8_t serial[TICKET_SERIAL_LEN], secret[TICKET_SECRET_LEN],
	    proof[TICKET_PROOF_LEN] = { 0 }, made_up[TICKET_SERIAL_LEN] = { 0 };
	struct span name = { serial, sizeof serial };
	struct ticket_table table = { .n = 0 };

	(void)state;
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(ticket_table_mint(&table, &binding, 'p', END,
				     serial, secret), 0);
		memcpy(made_up, &i, sizeof i);
		assert_int_equal(ticket_table_redeem(&table,
				     (struct span){ made_up, sizeof made_up },
				     'p', text_span("data"),
				     (struct span){ proof, 32 }, NOW),
		    TICKET_UNKNOWN);
		assert_int_equal(table.n, 1);
		prove(&binding, 'p', secret, "data", proof);
		assert_int_equal(ticket_table_redeem(&table, name, 'p',
				     text_span("data"),
				     (struct span){ proof, 32 }, NOW),
		    TICKET_GOOD);
		assert_int_equal(table.n, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_ticket),
		cmocka_unit_test(many_tickets),
		cmocka_unit_test(one_to_come_back),
		cmocka_unit_test(none_to_come_back),
		cmocka_unit_test(nothing_stays),
		cmocka_unit_test(who_may_mint),
		cmocka_unit_test(every_login),
		cmocka_unit_test(names_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
