/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

static void
test_strlist(void **state)
{
	struct strlist l = { 0 }, copy = { 0 };

	(void)state;
	assert_int_equal(strlist_split(&l, ",a,,b c;", ", ;"), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0], "a");
	assert_string_equal(l.v[2], "c");
	assert_null(l.v[3]);
	assert_int_equal(strlist_add_len(&l, "xyz", 2), 0);
	assert_true(strlist_has(&l, "xy"));
	assert_false(strlist_has(&l, "x"));
	assert_int_equal(strlist_add(&copy, "gone"), 0);
	assert_int_equal(strlist_copy(&copy, &l), 0);
	assert_int_equal(copy.n, 4);
	assert_ptr_not_equal(copy.v[0], l.v[0]);
	assert_int_equal(strlist_copy(&l, &l), 0);
	assert_int_equal(l.n, 4);
	strlist_clear(&l);
	strlist_clear(&copy);
	assert_int_equal(l.n, 0);
	assert_null(l.v);
	assert_int_equal(strlist_split(&l, ", ,", ", "), 0);
	assert_int_equal(l.n, 0);
}

static void
test_strlist_sort_unique(void **state)
{
	struct strlist l = { NULL, 0 };

	(void)state;
	strlist_sort_unique(&l); /* of nothing */
	assert_int_equal(l.n, 0);
	assert_int_equal(strlist_split(&l, "b,a,b,ab,A,a,b", ","), 0);
	strlist_sort_unique(&l);
	assert_int_equal(l.n, 4);
	assert_string_equal(l.v[0], "A");
	assert_string_equal(l.v[1], "a");
	assert_string_equal(l.v[2], "ab");
	assert_string_equal(l.v[3], "b");
	assert_null(l.v[4]);
	strlist_sort_unique(&l); /* again */
	assert_int_equal(l.n, 4);
	strlist_clear(&l);
}

static void
test_match(void **state)
{
	static const struct {
		const char *text, *pattern;
		bool hit, hit_nocase;
	} cases[] = {
		{ "", "", true, true },
		{ "", "*", true, true },
		{ "", "?", false, false },
		{ "a", "", false, false },
		{ "abc", "abc", true, true },
		{ "abc", "ABC", false, true },
		{ "ABC", "a?c", false, true },
		{ "abc", "a*", true, true },
		{ "abc", "*c", true, true },
		{ "abc", "*b", false, false },
		{ "abc", "a*b*c", true, true },
		{ "abc", "a*c*b", false, false },
		{ "abcbc", "*bc", true, true },
		{ "a*c", "a\\*c", false, false },
		{ "abc", "???", true, true },
		{ "abc", "????", false, false },
		{ "abc", "**?**", true, true },
		{ "a,b", "a,b", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (str_match(cases[i].text, cases[i].pattern) !=
			cases[i].hit ||
		    str_match_nocase(cases[i].text, cases[i].pattern) !=
			cases[i].hit_nocase)
			fail_msg("%s, %s", cases[i].text, cases[i].pattern);
	}
}

/* Patterns of many stars must not take exponential time. */
static void
test_match_stars(void **state)
{
	char text[2001], pattern[402];

	(void)state;
	memset(text, 'a', 2000);
	text[2000] = '\0';
	for (int i = 0; i < 400; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + 400, "b", 2);
	assert_false(str_match(text, pattern));
	pattern[400] = '\0';
	assert_true(str_match(text, pattern));
}

static void
test_match_list(void **state)
{
	static const struct {
		const char *text, *list;
		int r;
	} cases[] = {
		{ "a", "", 0 },
		{ "a", "a", 1 },
		{ "a", "b,a", 1 },
		{ "a", "b,c", 0 },
		{ "a", "*,!a", -1 },
		{ "a", "!a,*", -1 },
		{ "a", "!b,*", 1 },
		{ "a", "!b", 0 },
		{ "a", "!*", -1 },
		{ "a", "!", 0 },
		{ "a", ",,a,", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(str_match_list(cases[i].text, cases[i].list,
		    false), cases[i].r);
	assert_int_equal(str_match_list("A", "a", true), 1);
	assert_int_equal(str_match_list("A", "!a,*", true), -1);
}

static void
test_csv(void **state)
{
	const char *pos = ",a,bc,,d", *name;
	char *s;
	size_t len, n = 0;

	(void)state;
	while (csv_next(&pos, &name, &len)) {
		assert_true(len > 0 && name[0] != ',');
		n++;
	}
	assert_int_equal(n, 3);
	assert_true(csv_has("a,bc", "bc"));
	assert_false(csv_has("a,bc", "b"));
	assert_false(csv_has("a,bc", "bcd"));
	assert_false(csv_has("", ""));
	s = csv_first_common("x,b,a", "a,b");
	assert_string_equal(s, "b");
	free(s);
	assert_null(csv_first_common("x,y", "a,b"));
	s = csv_filter("aa,b,ac", "a*,!ac", true);
	assert_string_equal(s, "aa");
	free(s);
	s = csv_filter("aa,b,ac", "a*", false);
	assert_string_equal(s, "b");
	free(s);
	s = csv_filter("aa", "a*", false);
	assert_string_equal(s, "");
	free(s);
}

static void
test_numbers(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t v;
	} ints[] = {
		{ "0", 0, 0 },
		{ "-5", 0, -5 },
		{ "+5", 0, 5 },
		{ "100", 0, 100 },
		{ "101", ERR_LIMIT, 0 },
		{ "-6", ERR_LIMIT, 0 },
		{ "", ERR_SYNTAX, 0 },
		{ "-", ERR_SYNTAX, 0 },
		{ " 1", ERR_SYNTAX, 0 },
		{ "1 ", ERR_SYNTAX, 0 },
		{ "0x1", ERR_SYNTAX, 0 },
		{ "99999999999999999999", ERR_LIMIT, 0 },
	}, times[] = {
		{ "0", 0, 0 },
		{ "90", 0, 90 },
		{ "1h30m", 0, 5400 },
		{ "2w", 0, 1209600 },
		{ "1D1s", 0, 86401 },
		{ "10m5", 0, 605 },
		{ "", ERR_SYNTAX, 0 },
		{ "m", ERR_SYNTAX, 0 },
		{ "1y", ERR_SYNTAX, 0 },
		{ "-1", ERR_SYNTAX, 0 },
		{ "1 m", ERR_SYNTAX, 0 },
		{ "99999999999999w", ERR_LIMIT, 0 },
		{ "9223372036854775807s1", ERR_LIMIT, 0 },
	}, sizes[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "512K", 0, 524288 },
		{ "1g", 0, 1 << 30 },
		{ "2M", 0, 2 << 20 },
		{ "1T", 0, (int64_t)1 << 40 },
		{ "", ERR_SYNTAX, 0 },
		{ "K", ERR_SYNTAX, 0 },
		{ "1KK", ERR_SYNTAX, 0 },
		{ "1x", ERR_SYNTAX, 0 },
		{ "-1", ERR_SYNTAX, 0 },
		{ "17179869184G", ERR_LIMIT, 0 },
		{ "18446744073709551616", ERR_LIMIT, 0 },
	};
	uint64_t bytes;
	int64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
		v = 0;
		assert_int_equal(str_to_int(ints[i].text, -5, 100, &v),
		    ints[i].r);
		assert_int_equal(v, ints[i].v);
	}
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		v = 0;
		assert_int_equal(str_to_seconds(times[i].text, &v),
		    times[i].r);
		assert_int_equal(v, times[i].v);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		bytes = 0;
		assert_int_equal(str_to_bytes(sizes[i].text, &bytes),
		    sizes[i].r);
		assert_int_equal(bytes, sizes[i].v);
	}
	assert_int_equal(str_to_bytes("18446744073709551615", &bytes), 0);
	assert_true(bytes == UINT64_MAX);
}

static void
test_shorten_path(void **state)
{
	char path[1200], *shown;

	(void)state;
	memset(path, 'a', sizeof path);
	path[1024] = '\0';
	shown = xstr_shorten_path(path);
	assert_string_equal(shown, path);
	free(shown);
	/* Characters of two bytes that both cuts would go through. */
	path[1024] = 'a';
	path[1199] = '\0';
	memcpy(path + 199, "\xc3\xbc", 2);
	memcpy(path + 1199 - 201, "\xc3\xbc", 2);
	path[1198] = 'z';
	shown = xstr_shorten_path(path);
	assert_int_equal(strlen(shown), 199 + 3 + 199);
	assert_memory_equal(shown + 198, "a...a", 5);
	assert_int_equal(shown[400], 'z');
	free(shown);
}

static void
test_escape(void **state)
{
	static const struct {
		const char *text, *out;
	} cases[] = {
		{ "plain", "plain" },
		{ "a\nb\tc\r\x7f", "a\\012b\\011c\\015\\177" },
		{ "\x1b[31m", "\\033[31m" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe2\x82\xac \xf0\x9f\x98\x80",
		    "\xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc2\x85", "\\302\\205" },	      /* C1 control */
		{ "\xc0\xaf", "\\300\\257" },	      /* overlong */
		{ "\xe0\x80\xaf", "\\340\\200\\257" },
		{ "\xed\xa0\x80", "\\355\\240\\200" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\\364\\220\\200\\200" },
		{ "\xff", "\\377" },
		{ "\xe2\x82", "\\342\\202" },	      /* cut */
		{ "\xe2\x80\xae", "\\342\\200\\256" }, /* right to left */
		{ "\xe2\x81\xa6", "\\342\\201\\246" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *all = xstr_escape(cases[i].text);

		str_escape(out, sizeof out, cases[i].text);
		assert_string_equal(out, cases[i].out);
		assert_string_equal(all, cases[i].out);
		free(all);
	}
	/* Never half of a character, always an end. */
	str_escape(out, 5, "ab\ncd");
	assert_string_equal(out, "ab");
	str_escape(out, 4, "ab\xc3\xbc");
	assert_string_equal(out, "ab");
	str_escape(out, 5, "ab\xc3\xbc");
	assert_string_equal(out, "ab\xc3\xbc");
	str_escape(out, 1, "ab");
	assert_string_equal(out, "");
}

static void
test_compare(void **state)
{
	(void)state;
	assert_true(str_equal_nocase("KeyWord", "keyword"));
	assert_false(str_equal_nocase("key", "keyword"));
	assert_false(str_equal_nocase("@", "`"));
	assert_true(str_has_prefix("abc", "ab"));
	assert_true(str_has_prefix("abc", ""));
	assert_false(str_has_prefix("ab", "abc"));
}

/* RFC 4648 section 10. */
static void
test_base64(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	static const char *const bad[] = { "Z", "Zg=", "Zg", "Zh==", "Zm9=",
		"Z===", "====", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-_", "Zm9\xff",
		"=m9v" };
	uint8_t *out;
	char *text;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		text = str_base64_encode(pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(text, pairs[i][1]);
		free(text);
		assert_int_equal(str_base64_decode(pairs[i][1],
		    strlen(pairs[i][1]), &out, &len), 0);
		assert_int_equal(len, strlen(pairs[i][0]));
		assert_memory_equal(out, pairs[i][0], len);
		free(out);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(str_base64_decode(bad[i], strlen(bad[i]),
		    &out, &len), ERR_FORMAT);
		assert_null(out);
	}
}

/* Every byte in every place. */
static void
test_base64_all(void **state)
{
	uint8_t in[259], *out;
	char *text;
	size_t len;

	(void)state;
	for (size_t shift = 0; shift < 3; shift++) {
		memset(in, 0, sizeof in);
		for (size_t i = 0; i < 256; i++)
			in[shift + i] = (uint8_t)i;
		text = str_base64_encode(in, sizeof in);
		assert_int_equal(str_base64_decode(text, strlen(text), &out,
		    &len), 0);
		assert_int_equal(len, sizeof in);
		assert_memory_equal(out, in, len);
		free(text);
		free(out);
	}
	/* All bytes that are no digits are refused. */
	for (int c = 1; c < 256; c++) {
		char word[4] = { 'A', (char)c, 'A', 'A' };
		bool digit = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "abcdefghijklmnopqrstuvwxyz0123456789+/", c) != NULL;

		assert_int_equal(str_base64_decode(word, 4, &out, &len),
		    digit ? 0 : ERR_FORMAT);
		free(out);
	}
}

static void
test_hex(void **state)
{
	char *s;

	(void)state;
	s = str_hex("\x00\x9f\xff", 3);
	assert_string_equal(s, "009fff");
	free(s);
	s = str_hex("", 0);
	assert_string_equal(s, "");
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_strlist),
	    cmocka_unit_test(test_strlist_sort_unique),
	    cmocka_unit_test(test_match),
	    cmocka_unit_test(test_match_stars),
	    cmocka_unit_test(test_match_list),
	    cmocka_unit_test(test_csv),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_escape),
	    cmocka_unit_test(test_shorten_path),
	    cmocka_unit_test(test_compare),
	    cmocka_unit_test(test_base64),
	    cmocka_unit_test(test_base64_all),
	    cmocka_unit_test(test_hex),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
