/* SPDX-License-Identifier: ISC */
/*
 * Lines of the log of events: what any text becomes, what is cut, and that a
 * line has room for the longest of everything; events of the user's process,
 * also broken ones; JSON strings; a file that is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/events/event-line.h"
#include "server/events/event-sink.h"

static char *
text_of(struct buf *b)
{
	char *text = buf_dup_string(b);

	assert_non_null(text);
	buf_clear(b);
	return text;
}

static void
test_strings(void **state)
{
	static const struct {
		const char *text, *json;
	} t[] = { { "", "\"\"" }, { "a b", "\"a b\"" },
		{ "\"\\/", "\"\\\"\\\\/\"" },
		{ "\n\x1b", "\"\\u000a\\u001b\"" },
		{ "\xc3\xa9", "\"\\u00e9\"" },
		{ "\xe2\x80\xae", "\"\\u202e\"" }, /* right to left */
		{ "\x7f\xff\xc3", "\"\\u007f\\udcff\\udcc3\"" },
		{ "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" } };
	struct buf b = { 0 };
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		json_put_string(&b, t[i].text);
		text = text_of(&b);
		assert_string_equal(text, t[i].json);
		free(text);
	}
}

/* A string is cut between characters, at every length. */
static void
test_cut(void **state)
{
	struct buf b = { 0 };
	bool whole;

	(void)state;
	for (size_t room = 2; room < 40; room++) {
		whole = json_put_string_cut(&b, "a\nb\xc3\xa9\xf0\x9f\x98\x80",
		    room);
		assert_true(buf_len(&b) <= room);
		assert_int_equal(whole, room >= 20);
		assert_int_equal(buf_data(&b)[buf_len(&b) - 1], '"');
		buf_clear(&b);
	}
}

static char *
much(size_t len)
{
	char *text = xcalloc(1, len + 1);

	memset(text, 1, len); /* "\u0001": six bytes of one */
	return text;
}

static void
test_longest(void **state)
{
	char *text = much(EVENT_TEXT_MAX), *path = much(EVENT_PATH_MAX), *line;
	const struct event_origin o = { .host = text,
		.conn = "0123456789abcdef",
		.pid = 1 << 22,
		.user = text,
		.has_uid = true,
		.uid = UINT32_MAX,
		.peer = text,
		.port = UINT16_MAX };
	struct event e = { .texts = { text, text, text },
		.paths = { path, path } };
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < EVENT_NUMBERS; i++)
		e.numbers[i] = UINT64_MAX;
	for (int type = 0; type < EVENT_TYPE_COUNT; type++)
		for (int paths = SERVER_EVENT_PATHS_NO;
		     paths <= SERVER_EVENT_PATHS_HASH; paths++) {
			e.type = (enum event_type)type;
			event_line_claim(&b, &e,
			    (enum server_event_paths)paths, &o);
			assert_true(buf_len(&b) <= EVENT_LINE_MAX);
			line = text_of(&b);
			assert_string_equal(line + strlen(line) - 2, "}\n");
			assert_ptr_equal(strchr(line, '\n'),
			    line + strlen(line) - 1);
			free(line);
		}
	free(text);
	free(path);
}

static void
test_there_and_back(void **state)
{
	const struct event e = { .type = EVENT_TRANSFER,
		.texts = { "put", "done" },
		.paths = { "a\nb" },
		.numbers = { 1, 2, UINT64_MAX, 4 } };
	struct event_copy c;
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	event_put(&b, &e);
	r = rd_from_buf(&b);
	assert_int_equal(event_get(&r, &c), 0);
	assert_int_equal(rd_end(&r), 0);
	assert_int_equal(c.e.type, e.type);
	assert_string_equal(c.e.texts[1], "done");
	assert_string_equal(c.e.paths[0], "a\nb");
	assert_memory_equal(c.e.numbers, e.numbers, sizeof e.numbers);
	event_copy_clear(&c);
	for (size_t len = 0; len < buf_len(&b); len++) {
		r = rd_from(buf_data(&b), len);
		assert_int_not_equal(event_get(&r, &c), 0);
		event_copy_clear(&c);
	}
	buf_clear(&b);
	buf_put_u8(&b, EVENT_TYPE_COUNT);
	r = rd_from_buf(&b);
	assert_int_not_equal(event_get(&r, &c), 0);
	event_copy_clear(&c);
	buf_clear(&b);
}

static int
get_again(const struct event *e)
{
	struct event_copy c;
	struct buf b = { 0 };
	struct rd r;
	int err;

	event_put(&b, e);
	r = rd_from_buf(&b);
	err = event_get(&r, &c);
	event_copy_clear(&c);
	buf_clear(&b);
	return err;
}

/* Fields that have a list of words have no others: what reads lines need not
 * look at them. */
static void
test_words(void **state)
{
	static const char *const others[] = { "", "PUT", "put ", "\xff",
		"pu\xc3\xa9", "done\n" };
	struct event e = { .type = EVENT_TRANSFER,
		.texts = { "get", "part" } };

	(void)state;
	assert_int_equal(get_again(&e), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		e.texts[0] = others[i];
		assert_int_equal(get_again(&e), ERR_PROTOCOL);
		e.texts[0] = "get";
		e.texts[1] = others[i];
		assert_int_equal(get_again(&e), ERR_PROTOCOL);
		e.texts[1] = "failed";
	}
	e = (struct event){ .type = EVENT_SESSION_OPEN,
		.texts = { "exec", "\xff", "\xff" } };
	assert_int_equal(get_again(&e), 0);
	e.texts[0] = "root";
	assert_int_equal(get_again(&e), ERR_PROTOCOL);
	e = (struct event){ .type = EVENT_CONNECTION,
		.texts = { "none", "" } };
	assert_int_equal(get_again(&e), 0);
	e.texts[1] = "me";
	assert_int_equal(get_again(&e), ERR_PROTOCOL);
}

/* Numbers stay integers for readers whose numbers are doubles. */
static void
test_largest_number(void **state)
{
	const struct event_origin o = { .host = "h", .pid = 1 };
	const struct event e = { .type = EVENT_TRANSFER,
		.texts = { "get", "done" },
		.paths = { "p" },
		.numbers = { 1, UINT64_MAX, 5, UINT64_MAX } };
	struct buf b = { 0 };
	char *line;

	(void)state;
	event_line_claim(&b, &e, SERVER_EVENT_PATHS_YES, &o);
	line = text_of(&b);
	assert_non_null(strstr(line, "\"bytes_read\":9007199254740991,"));
	assert_non_null(strstr(line, "\"bytes_written\":5,"));
	free(line);
}

/* A log in a new file, which may have only ten bytes between limit() and
 * unlimit(). */
struct small_log {
	char path[32];
	int fd;
	struct rlimit before;
	struct event_sink *sink;
};

static void
small_log_open(struct small_log *l)
{
	char spec[64];

	*l = (struct small_log){ .path = "/tmp/hpn-events-XXXXXX" };
	l->fd = mkstemp(l->path);
	assert_true(l->fd >= 0);
	snprintf(spec, sizeof spec, "file:%s", l->path);
	l->sink = event_sink_new(spec, 0);
	assert_non_null(l->sink);
	/* The test's own log is a file, to which the limit may apply, too. */
	log_set_level(LOG_LVL_QUIET);
}

static void
limit(struct small_log *l)
{
	struct rlimit small = { .rlim_cur = 10 };

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &l->before), 0);
	small.rlim_max = l->before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
}

static void
unlimit(const struct small_log *l)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l->before), 0);
}

static void
small_log_close(struct small_log *l)
{
	event_sink_free(l->sink);
	close(l->fd);
	assert_int_equal(unlink(l->path), 0);
}

/* A log that may not grow further loses lines, counts them, and ends nobody.
 * What it has of a line that was cut is taken back. */
static void
test_full_file(void **state)
{
	struct small_log l;
	struct event_sink *s;
	struct buf b = { 0 }, text = { 0 };

	(void)state;
	small_log_open(&l);
	s = l.sink;
	buf_put(&b, "1234567\n", 8);
	event_sink_put(s, &b);
	limit(&l);
	event_sink_put(s, &b); /* cut */
	event_sink_put(s, &b); /* too soon after that */
	assert_int_equal(event_sink_dropped(s), 2);
	assert_int_equal(lseek(l.fd, 0, SEEK_END), 8);
	unlimit(&l);
	usleep(1100 * 1000);
	event_sink_put(s, &b);
	assert_int_equal(event_sink_dropped(s), 2);
	assert_int_equal(lseek(l.fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_read_file(l.fd, &text, 100), 0);
	assert_int_equal(buf_len(&text), 16);
	assert_memory_equal(buf_data(&text), "1234567\n1234567\n", 16);
	buf_clear(&text);
	buf_clear(&b);
	small_log_close(&l);
}

/* Of several lines those that are whole stay, and do not count as dropped. */
static void
test_full_amid_lines(void **state)
{
	struct small_log l;
	struct buf b = { 0 };

	(void)state;
	small_log_open(&l);
	buf_put(&b, "1\n2\n345678\n9\n", 13);
	limit(&l);
	event_sink_put(l.sink, &b);
	unlimit(&l);
	assert_int_equal(event_sink_dropped(l.sink), 2);
	assert_int_equal(lseek(l.fd, 0, SEEK_END), 4);
	buf_clear(&b);
	small_log_close(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_largest_number),
		cmocka_unit_test(test_full_amid_lines),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_full_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
