/* SPDX-License-Identifier: ISC */
/* The page of a report: whatever names say, it has the same elements; what it
 * shows is what was recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/report/report-page.h"
#include "regress/unit/help.h"

/* ---- data --------------------------------------------------------------- */

/* A copy of 10 s at 100 MB/s over two connections, all of whose texts are
 * `name`. */
static struct report_data *
some_data(const char *name)
{
	static const uint8_t digest[32] = { 0xab };
	struct report_data *d = report_data_new();
	struct report_link *links[2];
	struct report_point *p;

	assert_non_null(d);
	d->program = "hpnscp";
	d->version = "SSH-2.0-here";
	d->here = xstrdup(name);
	xstrlist_add(&d->command, name);
	d->began = 1700000000;
	d->ended = 1700000010;
	d->took_ms = 10000;
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		links[i] = report_data_link(d, name);
		assert_non_null(links[i]);
		links[i]->peer = xstrdup(name);
		links[i]->cipher = xstrdup(name);
		links[i]->why = xstrdup(name);
		links[i]->has_tcp = true;
		links[i]->rtt_least_us = 20000;
	}
	for (uint64_t ms = 100; ms <= 10000; ms += 100) {
		p = report_data_point(d, ms, false);
		assert_non_null(p);
		p->moved += 10000000;
		p->open_ms += 200;
		p->held_ms[WHY_SLOW_PATH] += 150;
		for (size_t i = 0; i < ARRAY_LEN(links); i++) {
			struct report_link_point *lp =
			    &links[i]->points[d->n_points - 1];

			lp->bytes += 5000000;
			lp->rtt_us = 20500;
			lp->resent += i == 1;
		}
	}
	report_data_file(d, name, 1000000000, 0, 10000);
	report_data_failure(d, name, name);
	report_data_failure(d, NULL, name);
	report_data_digest(d, name, digest, sizeof digest);
	return d;
}

static char *
page_of(struct report_data *d)
{
	struct buf b;
	char *text;

	buf_init(&b);
	report_page(d, &b);
	assert_int_equal(buf_err(&b), 0);
	text = buf_dup_string(&b);
	assert_non_null(text);
	buf_clear(&b);
	report_data_free(d);
	return text;
}

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

static void
assert_has(const char *page, const char *what)
{
	if (strstr(page, what) == NULL)
		fail_msg("no \"%s\" in %s", what, page);
}

/* ---- tests -------------------------------------------------------------- */

static void
test_numbers(void **state)
{
	char *page = page_of(some_data("name"));

	(void)state;
	assert_has(page, "<!DOCTYPE html>");
	assert_has(page, "<h1>hpnscp: done</h1>");
	assert_has(page, "1.0 GB in 10.0 s, 100 MB/s");
	assert_has(page, "2023-11-14 22:13:20 UTC");
	assert_has(page, "the path: 75 %");
	assert_has(page, "20 ms");
	assert_has(page, ">ab00");
	assert_int_equal(count(page, "<svg"), 4);
	assert_int_equal(count(page, "</svg>"), 4);
	assert_int_equal(count(page, "<table"), count(page, "</table>"));
	assert_int_equal(count(page, "<bdi>"), count(page, "</bdi>"));
	free(page);
}

/* 64 connections for two months: the sums of their milliseconds are more than
 * 32 bits have. */
static void
test_long(void **state)
{
	struct report_data *d = some_data("name");
	struct report_point *last = &d->points[d->n_points - 1];
	char *page;

	(void)state;
	last->open_ms = UINT64_C(64) * 60 * 86400 * 1000;
	last->held_ms[WHY_SLOW_PATH] = last->open_ms / 4 * 3;
	page = page_of(d);
	assert_has(page, "the path: 75 %");
	free(page);
}

/* Numbers that a server tells are as large as they can be. */
static void
test_largest(void **state)
{
	struct report_data *d = some_data("name");
	char *page;

	(void)state;
	for (size_t i = 0; i < d->n_links; i++) {
		struct report_link *l = &d->links[i];

		l->resent = l->sent = l->received = UINT64_MAX;
		l->rtt_least_us = UINT32_MAX;
		for (size_t k = 1; k < d->n_points; k++)
			l->points[k] = (struct report_link_point){
				.bytes = k % 2 ? UINT64_MAX : 0,
				.resent = k % 2 ? UINT64_MAX : 0,
				.rtt_us = UINT32_MAX };
	}
	for (size_t k = 1; k < d->n_points; k++)
		d->points[k].moved = k % 2 ? UINT64_MAX : 0;
	report_data_file(d, "huge", UINT64_MAX, 0, 1);
	report_data_file(d, "there", UINT64_MAX, UINT64_MAX, UINT64_MAX);
	page = page_of(d);
	assert_null(strstr(page, "nan"));
	assert_null(strstr(page, "inf"));
	assert_has(page, "18.4 EB");
	assert_true(strlen(page) < 1000000);
	free(page);
}

/* It needs nothing and nobody, and says so to the browser. */
static void
test_alone(void **state)
{
	char *page = page_of(some_data("name"));

	(void)state;
	assert_has(page, "default-src 'none'");
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, "url("));
	assert_null(strstr(page, "@import"));
	assert_int_equal(count(page, "src="), 0);
	assert_int_equal(count(page, "href="), 1); /* the empty icon */
	free(page);
}

/* The page has what makes its structure as often as with a harmless name, is
 * UTF-8, and has no other control character than the ends of its lines. */
static void
same_structure(const char *name)
{
	static const char marks[] = "<>\"\n";
	char *plain = page_of(some_data("name"));
	char *page = page_of(some_data(name));
	uint32_t c;
	size_t len;

	for (const char *m = marks; *m != '\0'; m++) {
		const char one[] = { *m, '\0' };

		if (count(page, one) != count(plain, one))
			fail_msg("\"%s\": another number of '%s'", name, one);
	}
	for (const char *p = page; *p != '\0'; p += len) {
		len = str_utf8_len(p, &c);
		assert_true(len > 0);
		assert_true(c >= 0x20 || c == '\n');
		assert_true(c < 0x7f || c > 0x9f);
		assert_true(c < 0x2028 || c > 0x202e);
		assert_true(c < 0x2066 || c > 0x2069);
		assert_true(c != 0x200e && c != 0x200f && c != 0x61c);
	}
	free(page);
	free(plain);
}

static void
test_injections(void **state)
{
	static const char *const names[] = {
		"<script>alert(1)</script>",
		"</td></tr></table><h1>done</h1>",
		"</title><style>*{display:none}",
		"\" onmouseover=\"alert(1)",
		"' onload='x", "<!-- ", "-->", "]]>", "&lt;b&gt;", "&#60;b>",
		"a\nb", "a\r\nb", "a\tb", "\x1b[2J\x1b]0;title\a", "\x7f",
		"\x9b" "31m", "\xc2\x9b" "31m", "\xe2\x80\xae" "gnp.exe",
		"\xe2\x81\xa6" "x\xe2\x81\xa9", "\xd8\x9c", "\xe2\x80\x8f",
		"\xe2\x80\xa8", "\xef\xbb\xbf", "\xff\xfe", "\xc3", "\xc0\xbc",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf3\xa0\x80\xbc", "",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		same_structure(names[i]);
	for (int c = 1; c < 256; c++) {
		char name[] = { 'a', (char)c, 'b', '\0' };

		same_structure(name);
	}
}

static void
test_escapes_are_read(void **state)
{
	char *page = page_of(some_data("a\n<b>\xe2\x80\xae\xff\"'&"));

	(void)state;
	assert_has(page, "a\\x0a&lt;b&gt;\\u{202e}\\xff&quot;&#39;&amp;");
	free(page);
	page = page_of(some_data("gr\xc3\xbc\xc3\x9f" "e \xe6\x97\xa5"));
	assert_has(page, "gr\xc3\xbc\xc3\x9f" "e \xe6\x97\xa5");
	free(page);
}

/* Nothing was recorded: the run ended at once. */
static void
test_empty(void **state)
{
	struct report_data *d = report_data_new();
	char *page;

	(void)state;
	assert_non_null(d);
	d->program = "hpnsync";
	d->version = "SSH-2.0-here";
	d->status = 255;
	page = page_of(d);
	assert_has(page, "hpnsync: not all was done");
	assert_has(page, "exit status 255");
	assert_int_equal(count(page, "<svg"), 0);
	free(page);
}

static void
test_how_it_ended(void **state)
{
	static const struct {
		int status;
		bool interrupted;
		const char *text;
	} cases[] = {
		{ 0, false, "hpnscp: done" },
		{ 1, false, "hpnscp: not all was done" },
		{ 1, true, "hpnscp: interrupted" },
		{ -1, false, "hpnscp: ended early" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct report_data *d = some_data("name");
		char *page;

		d->status = cases[i].status;
		d->interrupted = cases[i].interrupted;
		page = page_of(d);
		assert_has(page, cases[i].text);
		free(page);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_injections),
		cmocka_unit_test(test_escapes_are_read),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_how_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
