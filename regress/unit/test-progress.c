/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <locale.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/screen.h"
#include "xfer/progress.h"

static struct buf screen;

static void
to_screen(void *arg, const char *p, size_t len)
{
	(void)arg;
	buf_put(&screen, p, len);
}

static const char *
shown(void)
{
	buf_put_u8(&screen, 0);
	return (const char *)buf_data(&screen);
}

static void
test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 1000, "1.0KB" },
		{ 1536, "1.5KB" },
		{ 10 * 1024 * 1024, "10.0MB" },
		{ 1023 * UINT64_C(1024) * 1024, "1.0GB" },
		{ UINT64_C(5) << 40, "5.0TB" },
		{ UINT64_MAX, "16.0EB" },
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		progress_bytes_text(rows[i].bytes, text, sizeof text);
		assert_string_equal(text, rows[i].text);
		assert_true(strlen(text) <= 6);
	}
}

static void
test_time(void **state)
{
	char text[24];

	(void)state;
	progress_time_text(0, text, sizeof text);
	assert_string_equal(text, "00:00");
	progress_time_text(3599, text, sizeof text);
	assert_string_equal(text, "59:59");
	progress_time_text(3600 * 25 + 61, text, sizeof text);
	assert_string_equal(text, "25:01:01");
	progress_time_text(UINT64_MAX, text, sizeof text);
	assert_true(strlen(text) <= 10);
}

/* Numbers that are not to be believed are shown as what they are. */
static void
test_huge(void **state)
{
	static const uint64_t sizes[] = { INT64_MAX, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct progress *p = progress_new_to(to_screen, NULL, 100);
		struct progress_item item = { 0 };
		const char *text;

		buf_reset(&screen);
		progress_start(p, &item, "huge", sizes[i], 1000);
		progress_add(p, &item, 1500);
		progress_tick(p, &item, 2500);
		text = shown();
		assert_non_null(strstr(text, "   0% "));
		assert_non_null(strstr(text, "9999:"));
		progress_forget(p, &item);
		buf_reset(&screen);
		item = (struct progress_item){ 0 };
		progress_start(p, &item, "huge", sizes[i], 3000);
		progress_add(p, &item, sizes[i]);
		progress_finish(p, &item, true, 3001);
		progress_clear_line(p);
		text = shown();
		assert_non_null(strstr(text, "100%"));
		assert_non_null(strstr(text, "16.0EB/s"));
		progress_free(p);
	}
}

/* A file of 10 MiB at 1 MiB a second. */
static void
test_line(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };
	const char *text;

	(void)state;
	buf_reset(&screen);
	progress_start(p, &item, "file.iso", 10 << 20, 1000);
	for (int i = 1; i <= 5; i++) {
		progress_add(p, &item, 1 << 20);
		progress_tick(p, &item, 1000 + (uint64_t)i * 1000);
	}
	text = strrchr(shown(), '\r');
	assert_non_null(text);
	assert_non_null(strstr(text, "file.iso"));
	assert_non_null(strstr(text, " 50%"));
	assert_non_null(strstr(text, "5.0MB"));
	assert_non_null(strstr(text, "1.0MB/s"));
	assert_non_null(strstr(text, "00:05 ETA"));
	assert_int_equal(strlen(text + 1), 77);
	buf_reset(&screen);
	progress_add(p, &item, 5 << 20);
	progress_finish(p, &item, true, 7000);
	progress_clear_line(p);
	text = shown();
	assert_non_null(strstr(text, "100%"));
	assert_non_null(strstr(text, "00:06"));
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_null(item.name);
	progress_free(p);
}

static void
test_not_too_often(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };
	int lines = 0;

	(void)state;
	buf_reset(&screen);
	progress_start(p, &item, "x", 1000, 0);
	for (uint64_t ms = 0; ms < 1000; ms++) {
		progress_add(p, &item, 1);
		progress_tick(p, &item, ms);
	}
	for (const char *c = shown(); *c != '\0'; c++)
		lines += *c == '\r';
	assert_in_range(lines, 8, 10);
	progress_finish(p, &item, false, 1000);
	progress_free(p);
}

static void
test_escapes_and_width(void **state)
{
	static const int widths[] = { 1, 20, 40, 41, 60, 80, 132, 500 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		struct progress *p =
		    progress_new_to(to_screen, NULL, widths[i]);
		struct progress_item item = { 0 };

		buf_reset(&screen);
		progress_start(p, &item,
		    "\033]0;evil\007\n-a-name-that-is-rather-long-\303\244"
		    "\303\266\303\274-and-goes-on-and-on-and-on.tar.gz",
		    UINT64_MAX, 0);
		progress_add(p, &item, UINT64_MAX / 2);
		progress_tick(p, &item, 5000);
		progress_finish(p, &item, true, 9000);
		progress_clear_line(p);
		for (const char *c = shown(); *c != '\0'; c++)
			assert_true((unsigned char)*c >= ' ' || *c == '\r' ||
			    *c == '\n');
		progress_free(p);
	}
}

static void
test_stalled(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };

	(void)state;
	buf_reset(&screen);
	progress_start(p, &item, "x", 1 << 20, 0);
	progress_add(p, &item, 1000);
	progress_tick(p, &item, 1000);
	progress_tick(p, &item, 8000);
	assert_non_null(strstr(shown(), "- stalled -"));
	progress_finish(p, &item, false, 8000);
	progress_free(p);
	/* No display at all is fine too. */
	progress_start(NULL, &item, "x", 1, 0);
	progress_tick(NULL, NULL, 0);
	progress_clear_line(NULL);
	progress_free(NULL);
}

/* The rate of the last second beside the mean; at the end the best second;
 * and nothing of it in the second file. */
static void
test_last_second(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 100);
	struct progress_item item = { 0 };
	const char *text;

	(void)state;
	buf_reset(&screen);
	progress_start(p, &item, "one", 20 << 20, 1000);
	progress_add(p, &item, 12 << 20);
	progress_tick(p, &item, 2000);
	progress_add(p, &item, 2 << 20);
	progress_tick(p, &item, 3000);
	text = strrchr(shown(), '\r');
	assert_non_null(strstr(text, " 7.0MB/s   2.0MB/s"));
	buf_reset(&screen);
	progress_finish(p, &item, true, 3000);
	progress_clear_line(p);
	assert_non_null(strstr(shown(), " 7.0MB/s  12.0MB/s       00:02"));
	buf_reset(&screen);
	progress_start(p, &item, "two", 4 << 20, 9000);
	progress_add(p, &item, 1 << 20);
	progress_tick(p, &item, 9500);
	progress_tick(p, &item, 10000);
	progress_add(p, &item, 3 << 20);
	progress_tick(p, &item, 11000);
	progress_finish(p, &item, true, 11000);
	progress_clear_line(p);
	assert_non_null(strstr(shown(), " 2.0MB/s   3.0MB/s       00:02"));
	progress_free(p);
}

/* Of a tree: one line; files that fail count no more. */
static void
test_all(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 100);
	struct progress_item items[4] = { { 0 } };

	(void)state;
	buf_reset(&screen);
	progress_listing(p, true);
	progress_streams(p, 3);
	for (size_t i = 0; i < 4; i++)
		progress_found(p, &items[i], 1 << 20);
	for (size_t i = 0; i < 2; i++)
		progress_start(p, &items[i], "dir/name", 1 << 20, 1000);
	progress_add(p, &items[0], 1 << 20);
	progress_add(p, &items[1], 1 << 19);
	progress_finish(p, &items[0], true, 2000);
	progress_tick(p, &items[1], 2000);
	assert_non_null(strstr(shown(), "1/4+ files, 3 lanes "));
	assert_non_null(strstr(shown(), "  37%   1.5MB   1.5MB/s   1.5MB/s"));
	assert_non_null(strstr(shown(), "00:02 ETA"));
	assert_null(strstr(shown(), "name"));
	buf_reset(&screen);
	progress_listing(p, false);
	progress_finish(p, &items[1], false, 2000);
	progress_forget(p, &items[2]);
	progress_forget(p, &items[3]);
	progress_forget(p, &items[3]);
	progress_end(p, 3000);
	assert_non_null(strstr(shown(), "1/4 files, 3 lanes "));
	assert_non_null(strstr(shown(), " 100%   1.5MB "));
	/* What comes next begins anew: a file by itself. */
	buf_reset(&screen);
	progress_start(p, &items[0], "dir/other", 100, 4000);
	progress_add(p, &items[0], 100);
	progress_finish(p, &items[0], true, 4000);
	progress_clear_line(p);
	assert_non_null(strstr(shown(), "\rother "));
	progress_free(p);
}

static void
test_plain(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };

	(void)state;
	buf_reset(&screen);
	progress_set_style(p, PROGRESS_PLAIN);
	progress_start(p, &item, "a\nb", 20 << 20, 1000);
	for (unsigned i = 1; i < 20; i++) {
		progress_add(p, &item, 1 << 20);
		progress_tick(p, &item, 1000 + i * 1000);
	}
	progress_add(p, &item, 1 << 20);
	progress_finish(p, &item, true, 21000);
	progress_end(p, 21000);
	assert_string_equal(shown(),
	    "a\\012b, 30% of 20.0MB, 1.0MB/s, last second 1.0MB/s, "
	    "00:14 left\n"
	    "a\\012b, 55% of 20.0MB, 1.0MB/s, last second 1.0MB/s, "
	    "00:09 left\n"
	    "a\\012b, 80% of 20.0MB, 1.0MB/s, last second 1.0MB/s, "
	    "00:04 left\n"
	    "a\\012b, 20.0MB in 00:20, 1.0MB/s, at most 1.0MB/s\n");
	progress_free(p);
}

/* Names of any bytes make valid JSON, each another one. */
static void
test_events(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };

	(void)state;
	buf_reset(&screen);
	progress_set_style(p, PROGRESS_JSON);
	progress_begin_events(p, 1000);
	progress_start(p, &item, "d/\"\\\n\xff\xc3\xa4\xf0\x9d\x84\x9e\x7f\xed"
	    "\xa0\x80", 3000, 1000);
	progress_add(p, &item, 1000);
	progress_tick(p, &item, 2000);
	progress_add(p, &item, 1000);
	progress_tick(p, &item, 3000);
	progress_error(p, "file", "x", "bad");
	progress_finish(p, &item, true, 3500);
	progress_end(p, 3500); /* of this run: more may follow */
	progress_end_events(p, 3500);
#define NAME "d/\\\"\\\\\\u000a\\udcff\\u00e4\xf0\x9d\x84\x9e\\u007f" \
	"\\udced\\udca0\\udc80"
	assert_string_equal(shown(),
	    "{\"event\":\"start\",\"version\":1}\n"
	    "{\"event\":\"file-begin\",\"path\":\"" NAME "\",\"size\":3000,"
	    "\"bytes\":1000,\"kept\":0,\"seconds\":1.000}\n"
	    "{\"event\":\"progress\",\"files\":1,\"files_done\":0,"
	    "\"failures\":0,\"size\":3000,\"bytes\":1000,\"kept\":0,"
	    "\"seconds\":1.000,\"rate\":1000,\"listing\":false,"
	    "\"lanes\":0}\n"
	    "{\"event\":\"progress\",\"files\":1,\"files_done\":0,"
	    "\"failures\":0,\"size\":3000,\"bytes\":2000,\"kept\":0,"
	    "\"seconds\":2.000,\"rate\":1000,\"listing\":false,"
	    "\"lanes\":0}\n"
	    "{\"event\":\"error\",\"class\":\"file\",\"path\":\"x\","
	    "\"text\":\"bad\"}\n"
	    "{\"event\":\"file-done\",\"path\":\"" NAME "\",\"size\":3000,"
	    "\"bytes\":2000,\"kept\":0,\"seconds\":2.500}\n"
	    "{\"event\":\"end\",\"files\":1,\"files_done\":1,"
	    "\"failures\":1,\"size\":2000,\"bytes\":2000,\"kept\":0,"
	    "\"seconds\":2.500,\"rate\":800,\"peak\":1000,\"lanes\":0}\n");
	progress_free(p);
}

/* A file of 400 MiB of which 300 are there: what moves at 5 MiB a second tells
 * how long it takes, and no rate has the rest in it. */
static void
test_kept_is_no_rate(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 100);
	struct progress_item item = { 0 };
	const char *text;

	(void)state;
	buf_reset(&screen);
	progress_start(p, &item, "part", 400 << 20, 1000);
	progress_keep(&item, 150 << 20);
	progress_tick(p, &item, 1100);
	progress_keep(&item, 150 << 20);
	for (unsigned i = 1; i <= 5; i++) {
		progress_add(p, &item, 5 << 20);
		progress_tick(p, &item, 1000 + i * 1000);
	}
	text = strrchr(shown(), '\r');
	assert_non_null(strstr(text, " 81%   325MB   5.0MB/s   5.0MB/s"));
	assert_non_null(strstr(text, "00:15 ETA"));
	buf_reset(&screen);
	progress_finish(p, &item, true, 6000);
	progress_clear_line(p);
	assert_non_null(strstr(shown(), " 5.0MB/s   5.0MB/s       00:05"));
	/* All was there. */
	buf_reset(&screen);
	progress_start(p, &item, "whole", 400 << 20, 7000);
	progress_keep(&item, 400 << 20);
	progress_finish(p, &item, true, 7001);
	progress_clear_line(p);
	assert_non_null(strstr(shown(), "100%   400MB    already there"));
	assert_null(strstr(shown(), "/s"));
	progress_free(p);
}

/* Of the last 30 s: what was slow an hour ago does not count, and a pause does
 * not turn it over. */
static void
test_last_half_minute(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 100);
	struct progress_item item = { 0 };
	uint64_t now = 1000;

	(void)state;
	progress_start(p, &item, "x", UINT64_C(100) << 30, now);
	for (unsigned i = 0; i < 3600; i++) {
		progress_add(p, &item, 1 << 10);
		progress_tick(p, &item, now += 1000);
	}
	for (unsigned i = 0; i < 30; i++) {
		progress_add(p, &item, 30 << 20);
		progress_tick(p, &item, now += 1000);
	}
	assert_true(item.rate > 29 << 20 && item.rate < 31 << 20);
	for (unsigned i = 0; i < 10; i++)
		progress_tick(p, &item, now += 1000);
	assert_true(item.rate > 18 << 20 && item.rate < 21 << 20);
	assert_true(item.last < 1);
	/* The process was stopped for an hour. */
	progress_tick(p, &item, now += 3600 * 1000);
	assert_true(item.rate < 1 << 20);
	progress_restart(&item);
	progress_tick(p, &item, now += 1000);
	progress_add(p, &item, 1 << 20);
	progress_tick(p, &item, now += 1000);
	assert_true(item.rate > 1000 << 10 && item.rate < 1100 << 10);
	progress_finish(p, &item, false, now);
	progress_free(p);
}

/* Two files together: each has a rate of its own, taken each second. */
static void
test_together(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 100);
	struct progress_item one = { 0 }, two = { 0 };
	uint64_t now = 1000;

	(void)state;
	progress_start(p, &one, "one", 1 << 30, now);
	progress_start(p, &two, "two", 1 << 30, now);
	for (unsigned i = 0; i < 20; i++) {
		progress_add(p, &one, 3 << 20);
		progress_add(p, &two, i < 10 ? 1 << 20 : 2 << 20);
		progress_tick(p, &one, now += 1000);
	}
	progress_finish(p, &one, true, now);
	buf_reset(&screen);
	progress_tick(p, &two, now += 200);
	assert_non_null(strstr(shown(), " 1.5MB/s   2.0MB/s"));
	progress_finish(p, &two, true, now);
	progress_free(p);
}

/* A character of two columns counts for two; what the locale does not know may
 * be one. */
static void
test_double_width(void **state)
{
	static const char *const locales[] = { "C", "C.UTF-8" };
	static const struct {
		const char *name, *begins[2];
	} rows[] = {
		{ "\346\270\254\345\256\232.h5",
		    { "\r\346\270\254\345\256\232.h5 ",
			"\r\346\270\254\345\256\232.h5 " } },
		{ "o\314\210.h5",
		    { "\ro\314\210.h5 ", "\ro\314\210.h5 " } },
	};

	(void)state;
	for (size_t l = 0; l < ARRAY_LEN(locales); l++) {
		assert_non_null(setlocale(LC_CTYPE, locales[l]));
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			struct progress *p =
			    progress_new_to(to_screen, NULL, 60);
			struct progress_item item = { 0 };
			const char *text;
			size_t len;

			buf_reset(&screen);
			progress_start(p, &item, rows[i].name, 10, 0);
			progress_tick(p, &item, 500);
			text = shown();
			assert_memory_equal(text, rows[i].begins[l],
			    strlen(rows[i].begins[l]));
			/* In bytes: two more for each of three that takes two
			 * columns; one more for one that takes none. */
			len = i == 0 ? 57 + 2 : l == 0 ? 57 + 1 : 57 + 2;
			assert_int_equal(strlen(text + 1), len);
			progress_finish(p, &item, false, 600);
			progress_free(p);
		}
	}
	assert_non_null(setlocale(LC_CTYPE, "C"));
}

/* No line of any width is as long as the window. */
static void
test_narrow(void **state)
{
	(void)state;
	for (int width = 1; width < 200; width++) {
		struct progress *p = progress_new_to(to_screen, NULL, width);
		struct progress_item item = { 0 };

		buf_reset(&screen);
		progress_start(p, &item, "name", 1 << 30, 0);
		progress_add(p, &item, 1 << 20);
		progress_tick(p, &item, 500);
		assert_true(strlen(shown() + 1) < (size_t)MAX(width, 2));
		progress_finish(p, &item, false, 600);
		progress_free(p);
	}
}

/* Others write when the line is gone, and not before there is one. */
static void
test_screen(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };

	(void)state;
	buf_reset(&screen);
	progress_wait(p, true);
	progress_start(p, &item, "x", 10, 1000);
	progress_tick(p, &item, 2000);
	screen_clear();
	assert_int_equal(buf_len(&screen), 0);
	progress_wait(p, false);
	progress_tick(p, &item, 3000);
	buf_reset(&screen);
	screen_clear();
	assert_string_equal(shown(), "\r\033[K");
	buf_reset(&screen);
	screen_clear();
	assert_int_equal(buf_len(&screen), 0);
	progress_finish(p, &item, false, 3000);
	progress_free(p);
	screen_clear();
}

static void
test_summary(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item items[6] = { { 0 } };
	char text[128];

	(void)state;
	progress_set_style(p, PROGRESS_NONE);
	assert_false(progress_summary(p, text, sizeof text));
	for (size_t i = 0; i < 6; i++)
		progress_found(p, &items[i], 10);
	progress_start(p, &items[0], "x", 10, 0);
	progress_add(p, &items[0], 10);
	progress_finish(p, &items[0], true, 1);
	assert_false(progress_summary(p, text, sizeof text));
	progress_verified(p);
	assert_true(progress_summary(p, text, sizeof text));
	assert_string_equal(text, "1 copied, 1 verified");
	progress_start(p, &items[1], "x", 10, 0);
	progress_keep(&items[1], 10);
	progress_finish(p, &items[1], true, 1);
	progress_start(p, &items[2], "x", 10, 0);
	progress_error(p, "file", "x", "bad");
	progress_finish(p, &items[2], false, 1);
	progress_error(p, "file", "y", "bad");
	progress_forget(p, &items[3]);
	for (size_t i = 4; i < 6; i++) {
		progress_drop(p, &items[i]);
		progress_drop(p, &items[i]);
	}
	progress_end(p, 2);
	assert_true(progress_summary(p, text, sizeof text));
	assert_string_equal(text, "1 copied, 1 already there, 2 not copied "
	    "(listed above), 2 not begun, or stopped, 1 verified");
	progress_free(p);
}

/* Asked, it answers in any style. */
static void
test_asked(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item = { 0 };

	(void)state;
	buf_reset(&screen);
	progress_set_style(p, PROGRESS_NONE);
	progress_start(p, &item, "x", 20, 1000);
	progress_add(p, &item, 10);
	progress_tick(p, &item, 2000);
	assert_int_equal(buf_len(&screen), 0);
	progress_request(p);
	progress_tick(p, &item, 2100);
	progress_tick(p, &item, 2200);
	assert_string_equal(shown(),
	    "x, 50% of 20 B, 10 B/s, last second 10 B/s, 00:01 left\n");
	progress_finish(p, &item, true, 3000);
	progress_free(p);
}

static int
clear(void **state)
{
	(void)state;
	buf_clear(&screen);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_not_too_often),
		cmocka_unit_test(test_escapes_and_width),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_last_second),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_kept_is_no_rate),
		cmocka_unit_test(test_last_half_minute),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_double_width),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_screen),
		cmocka_unit_test(test_summary),
	};

	return cmocka_run_group_tests(tests, NULL, clear);
}
