/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include "base/mem.h"
#include "conf/channel-timeouts.h"

static const struct conf_row row = { .name = "ChannelTimeout",
	.type = &conf_channel_timeouts_type };
static const struct conf_location at = { .file = "file", .line = 1 };

static int
parse(struct conf_channel_timeouts *t, const char *text)
{
	struct strlist words = { 0 };
	int r;

	assert_int_equal(strlist_split(&words, text, " "), 0);
	r = row.type->parse(&row, t, &words, &at);
	strlist_clear(&words);
	return r;
}

static void
first_counts(void **state)
{
	static const struct {
		const char *list, *kind;
		int seconds, global;
	} rows[] = {
		{ "none", "session:shell", 0, 0 },
		{ "session:*=5m", "session:shell", 300, 0 },
		{ "session=5m", "session:shell", 0, 0 },
		{ "x11*=0 *=9", "x11-connection", 0, 0 },
		{ "x11*=0 *=9", "direct-tcpip", 9, 0 },
		{ "*=9 direct-tcpip=1", "direct-tcpip", 9, 0 },
		{ "direct-tcpip=1h30s", "direct-tcpip", 3630, 0 },
		{ "global=7 *=9", "global", 9, 7 },
		{ "*=9", "direct-tcpip", 9, 0 },
		{ "global=7", "direct-tcpip", 0, 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct conf_channel_timeouts t = { 0 };

		assert_int_equal(parse(&t, rows[i].list), 0);
		assert_int_equal(conf_channel_timeout(&t, rows[i].kind),
		    rows[i].seconds);
		assert_int_equal(conf_channel_timeout_global(&t),
		    rows[i].global);
		row.type->clear(&t);
	}
}

/* A line that is wrong leaves what was there. */
static void
wrong(void **state)
{
	static const char *const rows[] = { "x", "x=", "=5m", "x=soon",
		"x=-1", "x=1 none", "none none", "x=99999999999" };
	struct conf_channel_timeouts t = { 0 };

	(void)state;
	messages_keep();
	assert_int_equal(parse(&t, "x=1"), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		messages_forget();
		if (parse(&t, rows[i]) == 0)
			fail_msg("accepted: %s", rows[i]);
		assert_non_null(strstr(messages, "file line 1: "));
	}
	assert_non_null(strstr(messages, "invalid channel timeout x=9"));
	assert_int_equal(conf_channel_timeout(&t, "x"), 1);
	row.type->clear(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_counts),
	    cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
