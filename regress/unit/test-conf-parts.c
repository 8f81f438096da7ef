/* SPDX-License-Identifier: ISC */
/*
 * Values of several parts: what -T shows of one is read as the same value, and
 * nothing outside of a part's limits is ever kept.
 */
#include "regress/unit/help.h"
#include "regress/unit/dice.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/conf-parts.h"
#include "conf/server-survive.h"
#include "conf/server-tickets.h"

struct value {
	int flag, number, time, size, word, far;
};

static const struct conf_enum words[] = { { "first", 7 }, { "second", -3 },
	{ NULL, 0 } };
static const struct conf_part rows[] = {
#define AT(field) offsetof(struct value, field)
	{ "number", AT(number), CONF_PART_NUMBER, 1, 64, 4, NULL },
	{ "time", AT(time), CONF_PART_TIME, 1, 86400, 600, NULL },
	{ "size", AT(size), CONF_PART_SIZE, 1024, 1 << 26, 4096, NULL },
	{ "word", AT(word), CONF_PART_WORD, 0, 0, 7, words },
	{ "far", AT(far), CONF_PART_NUMBER, 0, INT_MAX, 0, NULL },
#undef AT
};
static const struct conf_parts parts = { rows, ARRAY_LEN(rows) };
static const struct conf_row row = { .name = "Keyword" };
static const struct conf_location at = { .file = "file", .line = 1 };

static int
parse(struct value *v, const char *text)
{
	struct strlist list = { 0 };
	char *copy = xstrdup(text), *rest = copy, *word;
	int r;

	while ((word = strsep(&rest, " ")) != NULL)
		xstrlist_add(&list, word);
	r = conf_parts_parse(&row, &parts, v, &list, &at);
	strlist_clear(&list);
	free(copy);
	return r;
}

static char *
format(const struct value *v)
{
	struct strlist list = { 0 };
	struct buf b = { 0 };
	char *text;

	assert_int_equal(conf_parts_format(&parts, v, &list), 0);
	for (size_t i = 0; i < list.n; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", list.v[i]);
	text = buf_dup_string(&b);
	buf_clear(&b);
	strlist_clear(&list);
	return text;
}

static void
test_defaults(void **state)
{
	struct value v;
	char *text;

	(void)state;
	memset(&v, 0x55, sizeof v);
	assert_int_equal(parse(&v, "yes"), 0);
	text = format(&v);
	assert_string_equal(text,
	    "yes number:4 time:600 size:4096 word:first far:0");
	free(text);
	memset(&v, 0x55, sizeof v);
	assert_int_equal(parse(&v, "NO"), 0);
	text = format(&v);
	assert_string_equal(text, "no");
	free(text);
	assert_int_equal(v.time, 600);
}

static void
test_good(void **state)
{
	struct value v;

	(void)state;
	assert_int_equal(parse(&v, "YES WORD:SECOND Number:64 time:2h30 "
				   "size:1M far:2147483647"), 0);
	assert_int_equal(v.flag, 1);
	assert_int_equal(v.word, -3);
	assert_int_equal(v.number, 64);
	assert_int_equal(v.time, 2 * 3600 + 30);
	assert_int_equal(v.size, 1 << 20);
	assert_int_equal(v.far, INT_MAX);
}

static void
test_bad(void **state)
{
	static const char *const bad[] = { "", "maybe", "yess", "no number:4",
		"yes number", "yes number:", "yes number:0", "yes number:65",
		"yes number:-1", "yes number:4x", "yes number: 4",
		"yes numbe:4", "yes numbers:4", "yes :4", "yes time:0",
		"yes time:86401", "yes time:-1", "yes time:2w", "yes time:x",
		"yes size:1023", "yes size:67108865", "yes size:-1",
		"yes size:99999999999999999999", "yes size:4096:1",
		"yes word:", "yes word:third", "yes word:7",
		"yes far:2147483648", "yes far:4294967296", "yes number:4 no",
		"yes yes", "yes time:9223372036854775807" };
	struct value v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (parse(&v, bad[i]) == 0)
			fail_msg("\"%s\" was taken", bad[i]);
}

/* A value that is within its limits, shown and read again, is the same. */
static void
test_round(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 500; seed++) {
		struct dice d = { seed };
		struct value v = { .flag = 1,
			.number = 1 + (int)dice_below(&d, 64),
			.time = 1 + (int)dice_below(&d, 86400),
			.size = 1024 + (int)dice_below(&d, (1 << 26) - 1023),
			.word = dice_below(&d, 2) == 0 ? 7 : -3,
			.far = (int)dice_below(&d, INT_MAX) };
		struct value again;
		char *text = format(&v);

		memset(&again, 0x55, sizeof again);
		assert_int_equal(parse(&again, text), 0);
		assert_memory_equal(&again, &v, sizeof v);
		free(text);
	}
}

/* Words of random letters, numbers and colons: what is taken is in its limits,
 * and is shown as a value that can be read. */
static void
test_random_words(void **state)
{
	static const char *const pieces[] = { "number", "time", "size", "word",
		"far", ":", ":", "1", "9", "0", "k", "M", "h", "-", "first",
		"second" };
	unsigned taken = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 20000; seed++) {
		struct dice d = { seed };
		struct buf b = { 0 };
		struct value v, again;
		char *text, *shown;

		buf_printf(&b, "yes ");
		for (uint32_t n = 1 + dice_below(&d, 5); n > 0; n--)
			buf_printf(&b, "%s",
			    pieces[dice_below(&d, ARRAY_LEN(pieces))]);
		text = buf_dup_string(&b);
		buf_clear(&b);
		memset(&v, 0x55, sizeof v);
		if (parse(&v, text) == 0) {
			taken++;
			assert_in_range(v.number, 1, 64);
			assert_in_range(v.time, 1, 86400);
			assert_in_range(v.size, 1024, 1 << 26);
			assert_true(v.word == 7 || v.word == -3);
			assert_true(v.far >= 0);
			shown = format(&v);
			memset(&again, 0x55, sizeof again);
			assert_int_equal(parse(&again, shown), 0);
			assert_memory_equal(&again, &v, sizeof v);
			free(shown);
		}
		free(text);
	}
	assert_true(taken > 10);
}

/* The keywords of this form: their defaults are within their own limits, and
 * are read as they are shown. */
static void
test_keywords(void **state)
{
	static const struct conf_type *const types[] = { &server_survive_type,
		&server_tickets_type };
	union {
		int flag;
		struct server_survive survive;
		struct server_tickets tickets;
	} one, two;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct strlist words_of = { 0 }, shown = { 0 };

		memset(&one, 0, sizeof one);
		memset(&two, 0, sizeof two);
		xstrlist_add(&words_of, "yes");
		assert_int_equal(types[i]->parse(&row, &one, &words_of, &at),
		    0);
		assert_int_equal(types[i]->format(&row, &one, &shown), 0);
		assert_true(shown.n > 2);
		assert_int_equal(types[i]->parse(&row, &two, &shown, &at), 0);
		assert_memory_equal(&one, &two, sizeof one);
		strlist_clear(&words_of);
		strlist_clear(&shown);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_random_words),
		cmocka_unit_test(test_keywords),
	};

	log_set_level(LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
