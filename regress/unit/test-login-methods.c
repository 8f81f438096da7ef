/* SPDX-License-Identifier: ISC */
/* AuthenticationMethods, MaxStartups, AllowUsers patterns, delays. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/auth/auth.h"
#include "server/listener/startups.h"
#include "server/monitor/login-methods.h"
#include "server/monitor/login-rules.h"

static struct strlist
lists(const char *text)
{
	struct strlist l = { 0 };

	assert_int_equal(strlist_split(&l, text, " "), 0);
	return l;
}

static void
expect_next(const struct auth_methods *m, const char *want)
{
	char *next = auth_methods_next(m);

	assert_string_equal(next, want);
	free(next);
}

static void
any_method_is_enough(void **state)
{
	static const char *const rows[] = { "", "any" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strlist l = lists(rows[i]);
		struct auth_methods m;

		assert_int_equal(auth_methods_init(&m, &l,
				     "publickey,password"),
		    0);
		expect_next(&m, "publickey,password");
		assert_true(auth_methods_may(&m, "password"));
		assert_false(auth_methods_may(&m, "keyboard-interactive"));
		assert_int_equal(auth_methods_done(&m, "password"), 1);
		auth_methods_clear(&m);
		strlist_clear(&l);
	}
}

static void
methods_in_their_order(void **state)
{
	struct strlist l = lists("publickey,password publickey,"
				 "keyboard-interactive:pam password,publickey");
	struct auth_methods m;

	(void)state;
	assert_int_equal(auth_methods_init(&m, &l,
			     "publickey,password,keyboard-interactive"),
	    0);
	expect_next(&m, "publickey,password");
	assert_int_equal(auth_methods_done(&m, "publickey"), 0);
	expect_next(&m, "password,keyboard-interactive");
	assert_int_equal(auth_methods_done(&m, "keyboard-interactive"), 1);
	auth_methods_clear(&m);
	strlist_clear(&l);
}

/* Tickets: clients are not told of them in a list of methods; they are enough
 * alone only where no list says where they count; and without them there may be
 * no list left, which is not the same as none. */
static void
tickets_among_the_methods(void **state)
{
	static const char name[] = "ticket@hpnssh.org";
	static const char enabled[] = "publickey,password,ticket@hpnssh.org";
	static const struct {
		const char *lists;
		bool first, second; /* may it come there? */
	} t[] = {
		{ "", true, false },
		{ "publickey,password", true, true },
		{ "publickey,password publickey,ticket@hpnssh.org", false,
		    true },
		{ "publickey,password,ticket@hpnssh.org", false, false },
	};
	struct strlist only = lists("publickey,ticket@hpnssh.org"),
		       both = lists("publickey,ticket@hpnssh.org publickey"),
		       kept = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct strlist l = lists(t[i].lists);
		struct auth_methods m;
		char *next;

		assert_int_equal(auth_methods_init(&m, &l, enabled), 0);
		auth_methods_allow_alone(&m, name);
		assert_int_equal(auth_methods_may(&m, name), t[i].first);
		next = auth_methods_next(&m);
		assert_null(strstr(next, name));
		free(next);
		if (auth_methods_done(&m, "publickey") == 0) {
			assert_int_equal(auth_methods_may(&m, name),
			    t[i].second);
			expect_next(&m, "password");
		}
		auth_methods_clear(&m);
		strlist_clear(&l);
	}
	assert_int_equal(auth_methods_without(&kept, &only, name),
	    ERR_NOT_FOUND);
	assert_int_equal(kept.n, 0);
	assert_int_equal(auth_methods_without(&kept, &both, name), 0);
	assert_int_equal(kept.n, 1);
	assert_string_equal(kept.v[0], "publickey");
	strlist_clear(&kept);
	strlist_clear(&both);
	both = lists("");
	assert_int_equal(auth_methods_without(&kept, &both, name), 0);
	strlist_clear(&only);
	strlist_clear(&both);
}

/* A list that asks for another one is as good as none. */
static void
the_device_has_to_fit(void **state)
{
	struct strlist l = lists("keyboard-interactive:other password:pam");
	struct auth_methods m;

	(void)state;
	assert_int_equal(auth_methods_init(&m, &l,
			     "keyboard-interactive,password"),
	    ERR_NOT_FOUND);
	expect_next(&m, "");
	assert_false(auth_methods_may(&m, "keyboard-interactive"));
	assert_false(auth_methods_may(&m, "password"));
	auth_methods_clear(&m);
	strlist_clear(&l);
}

/* Nobody is told of it, and where it is not named it is nothing. */
static void
none_is_named(void **state)
{
	struct strlist l = lists("none,publickey publickey,none");
	struct auth_methods m;

	(void)state;
	assert_int_equal(auth_methods_init(&m, &l, "publickey,password"), 0);
	expect_next(&m, "publickey");
	assert_true(auth_methods_may(&m, "none"));
	assert_int_equal(auth_methods_done(&m, "none"), 0);
	assert_int_equal(auth_methods_done(&m, "publickey"), 1);
	auth_methods_clear(&m);
	strlist_clear(&l);
	l = lists("publickey");
	assert_int_equal(auth_methods_init(&m, &l, "publickey"), 0);
	assert_false(auth_methods_may(&m, "none"));
	auth_methods_clear(&m);
	strlist_clear(&l);
}

static void
lists_that_can_not_be_done(void **state)
{
	struct strlist l = lists("publickey,password password,password");
	struct auth_methods m;

	(void)state;
	assert_int_equal(auth_methods_init(&m, &l, "publickey"),
	    ERR_NOT_FOUND);
	auth_methods_clear(&m);
	assert_int_equal(auth_methods_init(&m, &l, "password"), 0);
	expect_next(&m, "password");
	assert_int_equal(auth_methods_done(&m, "password"), 0);
	assert_int_equal(auth_methods_done(&m, "password"), 1);
	auth_methods_clear(&m);
	strlist_clear(&l);
}

static void
drops_rise_with_the_count(void **state)
{
	static const struct server_startups limits = { 10, 30, 100 };
	static const struct {
		int count;
		uint32_t chance;
		bool drop;
	} rows[] = { { 0, 0, false }, { 9, 0, false }, { 10, 29, true },
		{ 10, 30, false }, { 55, 64, true }, { 55, 65, false },
		{ 99, 98, true }, { 99, 99, false }, { 100, 99, true },
		{ 1000, 99, true } };
	static const struct server_startups hard = { 3, 100, 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(startups_drop(&limits, rows[i].count,
				     rows[i].chance),
		    rows[i].drop);
	assert_false(startups_drop(&hard, 2, 0));
	assert_true(startups_drop(&hard, 3, 99));
}

static struct startups_source
source(const char *address, int bits4, int bits6)
{
	const struct server_net_bits bits = { bits4, bits6 };
	union {
		struct sockaddr sa;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} u;

	memset(&u, 0, sizeof u);
	if (inet_pton(AF_INET, address, &u.four.sin_addr) == 1) {
		u.four.sin_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, address,
				     &u.six.sin6_addr),
		    1);
		u.six.sin6_family = AF_INET6;
	}
	return startups_source_of(&u.sa, &bits);
}

static void
sources(void **state)
{
	static const struct {
		const char *a, *b;
		int bits4, bits6;
		bool same;
	} rows[] = { { "192.0.2.1", "192.0.2.1", 32, 128, true },
		{ "192.0.2.1", "192.0.2.2", 32, 128, false },
		{ "192.0.2.1", "192.0.2.2", 24, 128, true },
		{ "192.0.2.1", "192.0.3.2", 23, 128, true },
		{ "192.0.2.1", "10.0.0.1", 0, 128, true },
		{ "192.0.2.1", "::ffff:192.0.2.1", 32, 128, true },
		{ "2001:db8::1", "2001:db8::2", 32, 64, true },
		{ "2001:db8::1", "2001:db8::2", 32, 128, false },
		{ "2001:db8::1", "192.0.2.1", 0, 0, false } };
	struct startups_source unix_socket = { .family = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct startups_source a = source(rows[i].a, rows[i].bits4,
		    rows[i].bits6);
		struct startups_source b = source(rows[i].b, rows[i].bits4,
		    rows[i].bits6);

		assert_int_equal(startups_same_source(&a, &b), rows[i].same);
	}
	assert_false(startups_same_source(&unix_socket, &unix_socket));
}

static void
user_patterns(void **state)
{
	static const struct {
		const char *user, *pattern;
		bool match;
	} rows[] = { { "ann", "ann", true }, { "ann", "a*", true },
		{ "ann", "bob", false }, { "ann", "ann@192.0.2.7", true },
		{ "ann", "ann@192.0.2.0/24", true },
		{ "ann", "ann@10.0.0.0/8", false },
		{ "ann", "*@*.example.org", true },
		{ "ann", "bob@192.0.2.7", false }, { "ann", "ANN", false } };
	char address[] = "192.0.2.7", host[] = "client.example.org";
	const struct peer p = { .address = address, .host = host };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(login_rules_match_user(rows[i].user, &p,
				     rows[i].pattern),
		    rows[i].match);
}

/* Marks that a user's refusals end on: none is much later than the work, and
 * work that differs little ends on the same. */
static void
refusals_end_on_marks(void **state)
{
	static const uint8_t salt[32] = { 1, 2, 3 };

	(void)state;
	for (int secret = 0; secret < 2; secret++) {
		uint64_t least = secret ? 128000 : 8000, marks = 0, last = 0;

		for (uint64_t spent = 0; spent < 1000000; spent += 100) {
			uint64_t end = spent +
			    auth_delay_us(salt, "ann", secret, 0, spent);

			assert_true(end >= least && end >= last);
			assert_true(end <= MAX(least, spent) * 17 / 16 + 1);
			marks += end != last;
			last = end;
		}
		assert_true(marks < 100);
	}
}

static void
marks_depend_on_name_and_secret(void **state)
{
	static const uint8_t salt[32] = { 1 }, other[32] = { 2 };
	uint64_t ann = auth_delay_us(salt, "ann", true, 0, 0);

	(void)state;
	assert_int_equal(auth_delay_us(salt, "ann", true, 0, 0), ann);
	assert_int_not_equal(auth_delay_us(salt, "bob", true, 0, 0), ann);
	assert_int_not_equal(auth_delay_us(other, "ann", true, 0, 0), ann);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_method_is_enough),
		cmocka_unit_test(methods_in_their_order),
		cmocka_unit_test(tickets_among_the_methods),
		cmocka_unit_test(the_device_has_to_fit),
		cmocka_unit_test(none_is_named),
		cmocka_unit_test(lists_that_can_not_be_done),
		cmocka_unit_test(drops_rise_with_the_count),
		cmocka_unit_test(sources),
		cmocka_unit_test(user_patterns),
		cmocka_unit_test(refusals_end_on_marks),
		cmocka_unit_test(marks_depend_on_name_and_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
