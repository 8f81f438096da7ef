/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
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

/* A file of 10 MiB at 1 MiB a second. */
static void
test_line(void **state)
{
	struct progress *p = progress_new_to(to_screen, NULL, 80);
	struct progress_item item;
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
	assert_int_equal(strlen(text + 1), 79);
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
	struct progress_item item;
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
		struct progress_item item;

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
	struct progress_item item;

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
		cmocka_unit_test(test_not_too_often),
		cmocka_unit_test(test_escapes_and_width),
		cmocka_unit_test(test_stalled),
	};

	return cmocka_run_group_tests(tests, NULL, clear);
}
