/* SPDX-License-Identifier: ISC */
/*
 * The client engine: its calls against our server engine, replies of servers
 * that lie, data that is taken from a file, and when it wakes its carrier.
 */
#include "regress/unit/memory-carrier.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/sftp/walk-format.h"

/* ---- tests with an honest server ---------------------------------------- */

static void
test_calls(void **state)
{
	struct sftp_attrs a;
	struct sftp_statvfs v;
	struct memory m;
	char *name;

	(void)state;
	memory_begin(&m, 1, true, 0);
	assert_int_equal(sftp_call_stat(m.client, ".", true, &a), 0);
	assert_true(S_ISDIR(a.mode));
	assert_int_equal(sftp_call_stat(m.client, "none", true, &a),
	    SFTP_NO_SUCH_FILE);
	assert_int_equal(sftp_call_name(m.client, SFTP_REALPATH, ".", &name),
	    0);
	assert_string_equal(name, temp_dir);
	free(name);
	assert_int_equal(sftp_call_statvfs(m.client, ".", &v), 0);
	assert_true(sftp_is_ready(m.client));
	assert_int_equal(sftp_read_max(m.client), 261120);
	assert_int_equal(sftp_write_max(m.client), 261120);
	assert_true(sftp_has(m.client, SFTP_EXT_COPY_DATA));
	assert_int_equal(sftp_call_path(m.client, SFTP_MKDIR, "sub"), 0);
	assert_int_equal(sftp_call_path(m.client, SFTP_RMDIR, "sub"), 0);
	assert_int_equal(sftp_call_path(m.client, SFTP_RMDIR, "sub"),
	    SFTP_NO_SUCH_FILE);
	assert_int_equal(sftp_pending(m.client), 0);
	memory_end(&m);
}

static void
test_glob(void **state)
{
	static const struct {
		const char *pattern;
		const char *matches[4];
	} rows[] = {
		{ "*.c", { "a.c", "b.c" } },
		{ "?.c", { "a.c", "b.c" } },
		{ "[b-z].*", { "b.c" } },
		{ "*", { "a.c", "b.c", "g1", "g2" } },
		{ ".h*", { ".hidden" } },
		{ "g?/x", { "g1/x" } },
		{ "g?/*", { "g1/x", "g2/y*" } },
		{ "g2/y\\*", { "g2/y*" } },
		{ "*/none", { NULL } },
		{ "none/*", { NULL } },
		{ "a.c/*", { NULL } },
	};
	struct memory m;

	(void)state;
	assert_int_equal(mkdir("g", 0755) | chdir("g"), 0);
	assert_int_equal(mkdir("g1", 0755) | mkdir("g2", 0755), 0);
	fill_file("a.c", 0, 0);
	fill_file("b.c", 0, 0);
	fill_file(".hidden", 0, 0);
	fill_file("g1/x", 0, 0);
	fill_file("g2/y*", 0, 0);
	memory_begin(&m, 1, false, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strlist found = { NULL, 0 };
		size_t n = 0;

		assert_int_equal(
		    remote_glob(m.client, rows[i].pattern, &found), 0);
		while (n < 4 && rows[i].matches[n] != NULL)
			n++;
		assert_int_equal(found.n, n);
		for (n = 0; n < found.n; n++)
			assert_string_equal(found.v[n], rows[i].matches[n]);
		strlist_clear(&found);
	}
	memory_end(&m);
	assert_int_equal(chdir("..") | system("rm -r g"), 0);
}

/* What answers brought: how many there are still to come, a handle, records. */
struct walked {
	unsigned left;
	struct sftp_handle handle;
	uint32_t status;
	struct buf records;
};

static void
note_handle(void *arg, const struct sftp_reply *reply)
{
	struct walked *w = arg;

	assert_int_equal(reply->err, 0);
	w->left--;
	if (reply->type == SFTP_HANDLE)
		sftp_keep_handle(&w->handle, reply);
	else
		w->status = reply->status;
}

static void
note_records(void *arg, const struct sftp_reply *reply)
{
	struct walked *w = arg;

	assert_int_equal(reply->err, 0);
	w->left--;
	if (reply->type == SFTP_EXTENDED_REPLY)
		buf_put(&w->records, reply->body.p, reply->body.len);
}

static const struct sftp_confine only_look = {
	.rights = SFTP_MAY_LIST,
	.bytes = UINT64_MAX,
	.files = UINT64_MAX,
	.deletes = UINT64_MAX,
};

/* A session that is confined, and walks, in its first flight: each request is
 * made before the server has said anything. */
static void
test_walk_in_first_flight(void **state)
{
	const struct sftp_walk top = { .path = "/", .want = WALK_MODE };
	struct sftp_handle guess;
	struct walked w = { .left = 4 };
	struct memory m;

	(void)state;
	assert_int_equal(mkdir("below", 0755) | mkdir("below/d", 0755), 0);
	memory_begin(&m, 3, false, 0);
	assert_int_equal(sftp_confined(m.client), SFTP_CONFINED_NOT);
	sftp_confine(m.client, "below", &only_look, note_handle, &w);
	assert_int_equal(sftp_confined(m.client), SFTP_CONFINED_ASKED);
	assert_true(sftp_guess_walk(m.client, &guess));
	sftp_walk(m.client, &top, note_handle, &w);
	sftp_walk_read(m.client, &guess, note_records, &w);
	sftp_walk_read(m.client, &guess, note_records, &w);
	assert_false(sftp_has_version(m.client));
	assert_false(sftp_guess_walk(m.client, &guess));
	while (w.left > 0)
		assert_int_equal(sftp_step(m.client, false, -1), 0);
	assert_true(sftp_has(m.client, SFTP_EXT_WALK));
	assert_true(sftp_has(m.client, SFTP_EXT_CONFINE));
	assert_int_equal(w.handle.len, guess.len);
	assert_memory_equal(w.handle.bytes, guess.bytes, guess.len);
	assert_int_equal(sftp_confined(m.client), SFTP_CONFINED_YES);
	/* "", with d in it; d */
	assert_int_equal(buf_len(&w.records), 3 + 6 + 4);
	buf_clear(&w.records);
	memory_end(&m);
	assert_int_equal(system("rm -r below"), 0);
}

static void
test_confine_refused(void **state)
{
	struct walked w = { .left = 1 };
	struct memory m;

	(void)state;
	memory_begin(&m, 4, false, 0);
	sftp_confine(m.client, "none", &only_look, note_handle, &w);
	while (w.left > 0)
		assert_int_equal(sftp_step(m.client, false, -1), 0);
	assert_int_equal(w.status, SFTP_NO_SUCH_FILE);
	assert_int_equal(sftp_confined(m.client), SFTP_CONFINED_NOT);
	memory_end(&m);
}

/* ---- tests with a server that lies -------------------------------------- */

/* Feeds hex as if the server had sent it. */
static int
feed(struct sftp *s, const char *hex)
{
	uint8_t raw[512];
	size_t len = hex_decode(hex, raw, sizeof raw);

	return sftp_feed(s, raw, len);
}

static const char version[] = "00000005" "02" "00000003";

struct counts {
	int done, err, pieces;
	uint32_t status;
};

static void
count_done(void *arg, const struct sftp_reply *reply)
{
	struct counts *c = arg;

	c->done++;
	c->err = reply->err;
	c->status = reply->status;
}

static void
count_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct counts *c = arg;

	(void)offset;
	(void)p;
	(void)len;
	c->pieces++;
}

static void
test_lies(void **state)
{
	/* The request is a READ of 16 bytes with the id 00010000. */
	static const struct {
		const char *hex;
		int result;
	} rows[] = {
		{ "00000011" "65" "00010000" "00000001" "00000000"
		  "00000000", 0 },
		{ "0000000a" "67" "00010000" "00000001" "aa", 0 },
		/* an id of nobody, or of before */
		{ "00000011" "65" "00000000" "00000001" "00000000"
		  "00000000", ERR_PROTOCOL },
		{ "0000000a" "67" "00010001" "00000001" "aa", ERR_PROTOCOL },
		/* more data than was asked for, none, other lengths */
		{ "0000001a" "67" "00010000" "00000011", ERR_PROTOCOL },
		{ "00000009" "67" "00010000" "00000000", ERR_PROTOCOL },
		{ "0000000c" "67" "00010000" "00000001", ERR_PROTOCOL },
		{ "00000006" "67" "00010000", ERR_PROTOCOL },
		/* another kind of answer */
		{ "0000000d" "66" "00010000" "00000004" "00000000",
		    ERR_PROTOCOL },
		{ "0000000d" "69" "00010000" "00000000" "00000000",
		    ERR_PROTOCOL },
		/* success, but no data */
		{ "00000011" "65" "00010000" "00000000" "00000000"
		  "00000000", ERR_PROTOCOL },
		/* lengths */
		{ "00000000" "00", ERR_PROTOCOL },
		{ "00040001" "65", ERR_PROTOCOL },
		{ "ffffffff" "67", ERR_PROTOCOL },
		/* twice */
		{ "0000000a" "67" "00010000" "00000001" "aa"
		  "0000000a" "67" "00010000" "00000001" "aa", ERR_PROTOCOL },
		/* not ended: nothing yet */
		{ "0000000a" "67" "00010000", 0 },
	};
	const struct sftp_handle h = { .len = 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct counts c = { 0 };
		struct sftp *s;

		assert_int_equal(sftp_new(&s), 0);
		assert_int_equal(feed(s, version), 0);
		sftp_read(s, &h, 0, 16, count_data, count_done, &c);
		if (feed(s, rows[i].hex) != rows[i].result)
			fail_msg("row %zu gave %s", i,
			    err_text(sftp_error(s)));
		if (rows[i].result != 0)
			assert_int_equal(c.done, 1);
		sftp_free(s);
		assert_int_equal(c.done, 1);
	}
}

/* What was said about a WRITE. */
static void
source_done(void *arg, const struct sftp_reply *reply)
{
	*(struct sftp_reply *)arg = *reply;
}

/* All output but INIT, taken in pieces of at most max bytes. */
static void
take_all(struct sftp *s, size_t max, struct buf *out)
{
	size_t n;

	while (sftp_output_len(s) > 0) {
		n = sftp_take(s, buf_reserve(out, max), max);
		assert_in_range(n, 1, max);
		buf_commit(out, n);
	}
	buf_consume(out, 9);
}

/* Requests of all lengths; fd: the data of most is still in a file. */
static void
ask_writes(struct sftp *s, const uint8_t *data, int fd)
{
	const struct sftp_handle h = { .len = 4, .bytes = "hand" };

	for (unsigned i = 0; i < 40; i++) {
		uint32_t len = i * 977 + 1;

		if (i % 7 == 0)
			sftp_path_request(s, SFTP_STAT, "between", NULL, NULL);
		if (fd >= 0 && i % 3 != 0) {
			sftp_write_file(s, &h, i, len, fd, NULL, NULL);
			continue;
		}
		memcpy(sftp_write_begin(s, &h, i, len), data + i, len);
		sftp_write_finish(s, len, NULL, NULL);
	}
}

static void
test_write_file(void **state)
{
	static const size_t pieces[] = { 1, 13, 4096, 100000, 1 << 24 };
	static uint8_t data[50000];
	struct buf want = { 0 }, got = { 0 };
	struct sftp *s;
	int fd;

	(void)state;
	fill_file("src", sizeof data, 1);
	fd = open("src", O_RDONLY);
	assert_int_equal(read(fd, data, sizeof data), sizeof data);
	assert_int_equal(sftp_new(&s), 0);
	ask_writes(s, data, -1);
	take_all(s, 1 << 24, &want);
	sftp_free(s);
	/* The same bytes, however they are taken. */
	for (size_t i = 0; i <= ARRAY_LEN(pieces); i++) {
		assert_int_equal(sftp_new(&s), 0);
		ask_writes(s, data, fd);
		assert_int_equal(sftp_output_len(s), buf_len(&want) + 9);
		if (i == ARRAY_LEN(pieces))
			assert_int_equal(buf_len(sftp_output(s)),
			    buf_len(&want) + 9);
		take_all(s, i < ARRAY_LEN(pieces) ? pieces[i] : 1 << 24,
		    &got);
		assert_int_equal(buf_len(&got), buf_len(&want));
		assert_memory_equal(buf_data(&got), buf_data(&want),
		    buf_len(&want));
		sftp_free(s);
		buf_reset(&got);
	}
	buf_clear(&want);
	buf_clear(&got);
	close(fd);
	assert_int_equal(unlink("src"), 0);
}

/* A source that has less, or cannot be read: zeros, and it is told. */
static void
test_write_short(void **state)
{
	static const char ok[] = "00000011" "65" "00010000" "00000000"
				 "00000000" "00000000";
	const struct sftp_handle h = { .len = 1 };
	struct sftp_reply reply;
	struct buf got = { 0 };
	struct sftp *s;
	int fd;

	(void)state;
	fill_file("src", 100, 1);
	for (int i = 0; i < 4; i++) {
		fd = open(i == 1 ? "." : "src", O_RDONLY);
		assert_int_equal(sftp_new(&s), 0);
		assert_int_equal(feed(s, version), 0);
		sftp_write_file(s, &h, i == 2 ? 0 : 70, 100, fd, source_done,
		    &reply);
		if (i == 3) {
			/* answered before it is sent */
			assert_int_equal(feed(s, ok), ERR_PROTOCOL);
			assert_int_equal(reply.err, ERR_PROTOCOL);
			assert_int_equal(sftp_output_len(s), 0);
		} else {
			take_all(s, 64, &got);
			assert_int_equal(buf_len(&got), 26 + 100);
			assert_int_equal(feed(s, ok), 0);
			assert_int_equal(reply.source_len,
			    i == 0 ? 30 : i == 1 ? 0 : 100);
			assert_int_equal(reply.source_errno,
			    i == 1 ? EISDIR : 0);
			for (size_t at = 26 + reply.source_len; at < 126; at++)
				assert_int_equal(buf_data(&got)[at], 0);
		}
		sftp_free(s);
		buf_reset(&got);
		close(fd);
	}
	buf_clear(&got);
	assert_int_equal(unlink("src"), 0);
}

static void
test_bad_version(void **state)
{
	static const struct {
		const char *hex;
		int result;
	} rows[] = {
		{ "00000005" "02" "00000002", ERR_UNSUPPORTED },
		{ "00000005" "65" "00000003", ERR_PROTOCOL },
		{ "00000007" "02" "00000003" "0000", ERR_PROTOCOL },
		{ "48656c6c6f2c206920616d206e6f20736674702d736572766572",
		    ERR_PROTOCOL },
	};
	struct counts c;
	struct sftp *s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		c = (struct counts){ 0 };
		assert_int_equal(sftp_new(&s), 0);
		sftp_path_request(s, SFTP_STAT, "x", count_done, &c);
		assert_int_equal(feed(s, rows[i].hex), rows[i].result);
		assert_int_equal(c.done, 1);
		assert_int_equal(c.err, rows[i].result);
		/* The end is told to later requests as well. */
		sftp_path_request(s, SFTP_STAT, "x", count_done, &c);
		assert_int_equal(c.done, 2);
		assert_null(sftp_write_begin(s, &(struct sftp_handle){
			.len = 1 }, 0, 5));
		sftp_free(s);
	}
}

/* ---- waking the carrier ------------------------------------------------- */

static void
count_wake(void *arg)
{
	unsigned *wakes = arg;

	++*wakes;
}

/* Nothing is ever sent by this one. */
static const struct xfer_carrier_ops count_ops = { .wake = count_wake };

static void
ask_again(void *arg, const struct sftp_reply *reply)
{
	struct sftp *s = arg;

	(void)reply;
	sftp_path_request(s, SFTP_STAT, "again", NULL, NULL);
}

static void
count_each_request(struct sftp *s, const unsigned *wakes)
{
	const struct sftp_handle h = { .len = 4 };
	const struct sftp_attrs attrs = { .flags = 0 };
	const uint32_t id = 1000;
	const struct timespec times[2] = { { 1, 2 }, { 3, 4 } };
	unsigned want = *wakes;

#define WAKES_ONCE(request)                                                   \
	do {                                                                  \
		request;                                                      \
		assert_int_equal(*wakes, ++want);                             \
	} while (0)
	WAKES_ONCE(sftp_open(s, "f", SFTP_O_READ, &attrs, NULL, NULL));
	WAKES_ONCE(sftp_read(s, &h, 0, 10, NULL, NULL, NULL));
	WAKES_ONCE(sftp_write_file(s, &h, 0, 10, -1, NULL, NULL));
	WAKES_ONCE(sftp_close(s, &h, NULL, NULL));
	WAKES_ONCE(sftp_path_request(s, SFTP_STAT, "f", NULL, NULL));
	WAKES_ONCE(sftp_attrs_request(s, SFTP_MKDIR, "f", &attrs, NULL, NULL));
	WAKES_ONCE(sftp_two_paths(s, SFTP_RENAME, "f", "g", NULL, NULL));
	WAKES_ONCE(sftp_handle_request(s, SFTP_FSTAT, &h, NULL, NULL));
	WAKES_ONCE(sftp_fsetstat(s, &h, &attrs, NULL, NULL));
	WAKES_ONCE(sftp_ext_path(s, SFTP_EXT_STATVFS, "f", NULL, NULL, NULL));
	WAKES_ONCE(sftp_ext_handle(s, SFTP_EXT_FSYNC, &h, NULL, NULL));
	WAKES_ONCE(sftp_lsetstat(s, "f", &attrs, NULL, NULL));
	WAKES_ONCE(sftp_copy_data(s, &h, 0, 1, &h, 2, NULL, NULL));
	WAKES_ONCE(sftp_check_file(s, &h, 0, 1, 256, NULL, NULL));
	WAKES_ONCE(sftp_stat_ns(s, "f", true, NULL, NULL));
	WAKES_ONCE(sftp_put_file(s, "f", true, &attrs, (const uint8_t *)"x", 1,
	    NULL, NULL));
	WAKES_ONCE(sftp_put_file_ns(s, &(struct sftp_put){ .path = "f",
		.attrs = &attrs }, (const uint8_t *)"x", 1, NULL, NULL));
	WAKES_ONCE(sftp_get_file(s, "f", 1, NULL, NULL));
	WAKES_ONCE(sftp_confine(s, "d", &only_look, NULL, NULL));
	WAKES_ONCE(sftp_walk(s, &(struct sftp_walk){ .path = "d" }, NULL,
	    NULL));
	WAKES_ONCE(sftp_walk_read(s, &h, NULL, NULL));
	WAKES_ONCE(sftp_users_groups(s, &id, 1, &id, 1, NULL, NULL));
	WAKES_ONCE(sftp_ids_by_name(s, NULL, 0, NULL, 0, NULL, NULL));
	WAKES_ONCE(sftp_own_ids(s, NULL, NULL));
	WAKES_ONCE(sftp_times_ns(s, &h, times, NULL, NULL));
	WAKES_ONCE(sftp_sparse_map(s, &h, 0, NULL, NULL));
#undef WAKES_ONCE
}

/* Each request wakes the carrier once, wherever it is made: in front of the
 * first turn, between turns, and in a callback. What queues nothing does not
 * wake. */
static void
test_wakes(void **state)
{
	const struct sftp_handle h = { .len = 4 };
	const struct xfer_carrier carrier = { &count_ops, &(unsigned){ 0 } };
	const unsigned *wakes = carrier.arg;
	uint8_t status[] = { 0, 0, 0, 9, SFTP_STATUS, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct sftp *s;

	(void)state;
	assert_int_equal(sftp_new(&s), 0);
	sftp_path_request(s, SFTP_REMOVE, "before there is a carrier",
	    ask_again, s);
	memcpy(status + 5, buf_data(sftp_output(s)) + 9 + 5, 4);
	sftp_attach(s, carrier);
	assert_int_equal(*wakes, 1);
	count_each_request(s, wakes);

	/* A WRITE wakes when it is finished, and only if it has data. */
	buf_reset(sftp_output(s));
	*(unsigned *)carrier.arg = 0;
	assert_non_null(sftp_write_begin(s, &h, 0, 10));
	assert_int_equal(*wakes, 0);
	sftp_write_finish(s, 0, NULL, NULL);
	assert_int_equal(*wakes, 0);
	assert_non_null(sftp_write_begin(s, &h, 0, 10));
	sftp_write_finish(s, 10, NULL, NULL);
	assert_int_equal(*wakes, 1);

	assert_int_equal(sftp_feed(s, (const uint8_t *)"\0\0\0\5\2\0\0\0\3",
			     9), 0);
	assert_int_equal(*wakes, 1);
	assert_int_equal(sftp_feed(s, status, sizeof status), 0);
	assert_int_equal(*wakes, 2);
	/* A session that is over has no output, whatever is asked of it. */
	(void)!sftp_feed_end(s, ERR_CLOSED);
	sftp_path_request(s, SFTP_STAT, "too late", NULL, NULL);
	assert_int_equal(*wakes, 2);
	sftp_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_walk_in_first_flight),
		cmocka_unit_test(test_confine_refused),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_write_file),
		cmocka_unit_test(test_write_short),
		cmocka_unit_test(test_bad_version),
		cmocka_unit_test(test_wakes),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
