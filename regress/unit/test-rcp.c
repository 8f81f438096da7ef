/* SPDX-License-Identifier: ISC */
/* Records of the legacy copy protocol, names that are taken, and -Z's. */
#include "regress/unit/hex.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/rcp/rcp-proto.h"

#define HASH32 "0123456789abcdef0123456789abcdef"
#define HASH HASH32 HASH32 HASH32 HASH32

static void
test_records(void **state)
{
	struct rcp_record r;

	(void)state;
	assert_int_equal(rcp_record_parse(&r, "C0644 12 a b", false), 0);
	assert_int_equal(r.type, 'C');
	assert_int_equal(r.mode, 0644);
	assert_int_equal(r.size, 12);
	assert_string_equal(r.name, "a b");
	assert_string_equal(r.hash, "");
	assert_int_equal(rcp_record_parse(&r,
	    "C7777 9223372036854775807 x", false), 0);
	assert_int_equal(r.mode, 07777);
	assert_true(r.size == INT64_MAX);
	assert_int_equal(rcp_record_parse(&r, "D0755 0 ", false), 0);
	assert_string_equal(r.name, "");
	assert_int_equal(rcp_record_parse(&r, "T5 999999 6 0", false), 0);
	assert_int_equal(r.mtime.tv_sec, 5);
	assert_int_equal(r.mtime.tv_nsec, 999999000);
	assert_int_equal(r.atime.tv_sec, 6);
	assert_int_equal(rcp_record_parse(&r, "E", false), 0);
	assert_int_equal(rcp_record_parse(&r, "C0644 1 " HASH " x", true), 0);
	assert_string_equal(r.hash, HASH);
	assert_string_equal(r.name, "x");
	assert_int_equal(rcp_record_parse(&r, "D0755 0 x", true), 0);
}

static void
test_bad_records(void **state)
{
	static const char *const bad[] = { "", "C", "C0644", "C0644 ",
		"C0644 1", "C0644 x y", "C0644 1x y", "C0644  1 y",
		"C644 1 y", "C00644 1 y", "C0648 1 y", "C0644 -1 y",
		"C0644 +1 y", "C0644 9223372036854775808 y",
		"C0644 99999999999999999999999 y", "E ", "Ex", "T", "T1 0 1",
		"T1 0 1 0 ", "T1 1000000 1 0", "T-1 0 1 0", "X", "c0644 1 y" };
	struct rcp_record r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(rcp_record_parse(&r, bad[i], false),
		    ERR_FORMAT);
	assert_int_equal(rcp_record_parse(&r, "C0644 1 x", true), ERR_FORMAT);
	assert_int_equal(rcp_record_parse(&r, "C0644 1 " HASH, true),
	    ERR_FORMAT);
	assert_int_equal(rcp_record_parse(&r, "C0644 1 " HASH "0 x", true),
	    ERR_FORMAT);
}

static void
test_plain_names(void **state)
{
	(void)state;
	assert_true(rcp_name_is_plain("a"));
	assert_true(rcp_name_is_plain("..."));
	assert_true(rcp_name_is_plain(".a"));
	assert_true(rcp_name_is_plain("-"));
	assert_false(rcp_name_is_plain(""));
	assert_false(rcp_name_is_plain("."));
	assert_false(rcp_name_is_plain(".."));
	assert_false(rcp_name_is_plain("/"));
	assert_false(rcp_name_is_plain("a/"));
	assert_false(rcp_name_is_plain("../a"));
}

static void
test_wanted(void **state)
{
	static const struct {
		const char *request, *name;
		bool ok;
	} rows[] = {
		{ "a", "a", true },
		{ "a", "b", false },
		{ "/x/a", "a", true },
		{ "~/x/a//", "a", true },
		{ "/x/a", "x", false },
		{ "a*", "abc", true },
		{ "*", "abc", true },
		{ "*", ".abc", false },
		{ ".*", ".abc", true },
		{ "x*/y", "xa", false },
		{ "[ab]", "b", true },
		{ "[ab]", "c", false },
		{ "a\\ b", "a b", true },
		{ "a\\*", "a*", true },
		{ "a\\*", "ab", false },
		{ "{a,b}", "a", true },
		{ "{a,b}", "b", true },
		{ "{a,b}", "c", false },
		{ "x{a,b}y{1,2}", "xby1", true },
		{ "x{a,b}y{1,2}", "xby", false },
		{ "{x/a,y/b}", "b", true },
		{ "{x/a,y/b}", "y", false },
		{ "{a,{b,c}d}e", "cde", true },
		{ "{a,{b,c}d}e", "ae", true },
		{ "{a,{b,c}d}e", "ce", false },
		{ "{a,}b", "b", true },
		{ "{a}", "{a}", true },
		{ "{a}", "a", false },
		{ "{a,b", "{a,b", true },
		{ "\\{a,b}", "{a,b}", true },
		{ "\\{a,b}", "a", false },
		{ "{}", "{}", true },
		{ "[{a,b}]", "{", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strlist l = { NULL, 0 };

		assert_int_equal(rcp_wanted_add(&l, rows[i].request), 0);
		if (rcp_wanted_has(&l, rows[i].name) != rows[i].ok)
			fail_msg("%s, %s", rows[i].request, rows[i].name);
		strlist_clear(&l);
	}
}

/* A request is a person's own, but may not take all memory. */
static void
test_wanted_limit(void **state)
{
	struct strlist l = { NULL, 0 };
	char request[40 * 5 + 1] = "";

	(void)state;
	for (int i = 0; i < 40; i++)
		memcpy(request + 5 * i, "{a,b}", 6);
	assert_int_equal(rcp_wanted_add(&l, request), ERR_LIMIT);
	strlist_clear(&l);
}

static void
test_standing(void **state)
{
	struct rcp_sink_state s = { .kind = 'R', .mode = 0600, .size = 77 }, t;
	char text[RCP_SINK_STATE_LEN + 1] = "";

	(void)state;
	memcpy(s.hash, HASH, sizeof s.hash);
	rcp_sink_state_write(text, &s);
	assert_int_equal(strlen(text), RCP_SINK_STATE_LEN);
	assert_int_equal(strncmp(text, "R0600 77 " HASH " ", 138), 0);
	assert_int_equal(rcp_sink_state_parse(&t, text), 0);
	assert_int_equal(t.kind, 'R');
	assert_int_equal(t.size, 77);
	assert_string_equal(t.hash, HASH);

	s = (struct rcp_sink_state){ .kind = 'R' };
	rcp_sink_state_write(text, &s);
	assert_int_equal(strncmp(text, "R0000 0  ", 9), 0);
	assert_int_equal(rcp_sink_state_parse(&t, text), 0);
	assert_string_equal(t.hash, "");

	s = (struct rcp_sink_state){ .kind = 'S' };
	rcp_sink_state_write(text, &s);
	assert_int_equal(rcp_sink_state_parse(&t, text), 0);
	assert_int_equal(t.kind, 'S');

	/* The longest there is. */
	s = (struct rcp_sink_state){ .kind = 'C', .mode = 07777,
		.size = INT64_MAX };
	memcpy(s.hash, HASH, sizeof s.hash);
	rcp_sink_state_write(text, &s);
	assert_int_equal(rcp_sink_state_parse(&t, text), 0);
	assert_true(t.size == INT64_MAX);
	assert_string_equal(t.hash, HASH);

	text[0] = 'X';
	assert_int_equal(rcp_sink_state_parse(&t, text), ERR_FORMAT);
	text[0] = 'C';
	text[RCP_SINK_STATE_LEN - 1] = 'x';
	assert_int_equal(rcp_sink_state_parse(&t, text), ERR_FORMAT);
	memset(text, ' ', RCP_SINK_STATE_LEN);
	text[0] = 'R';
	assert_int_equal(rcp_sink_state_parse(&t, text), ERR_FORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_plain_names),
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_wanted_limit),
		cmocka_unit_test(test_standing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
