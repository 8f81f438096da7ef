/* SPDX-License-Identifier: ISC */
/*
 * The text of a small file of a server: of ours, piece by piece; and of servers
 * that send too much, the wrong bytes, refuse, or are gone.
 */
#include "regress/unit/memory-carrier.h"
#include "regress/unit/sftp-script.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/sftp/sftp-text.h"

static unsigned ends; /* calls of done() */

static void
on_end(void *arg)
{
	*(bool *)arg = true;
	ends++;
}

/* ---- our server --------------------------------------------------------- */

/* Reads a file of len bytes, of which max are wanted. How many came. */
static size_t
read_back(size_t len, size_t max, bool at_once)
{
	bool done = false;
	struct memory m;
	struct sftp_text t = { .max = max, .at_once = at_once, .done = on_end,
		.arg = &done };
	uint8_t *want = malloc(len + 1);
	size_t got;
	int fd;

	assert_non_null(want);
	fill_bytes(want, len, 5);
	fd = open("text", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(fd_write_all(fd, want, len), 0);
	close(fd);
	memory_begin(&m, 1, true, 0);
	t.s = m.client;
	ends = 0;
	sftp_text_read(&t, "text");
	assert_int_equal(sftp_run_until(m.client, &done), 0);
	assert_int_equal(ends, 1);
	got = buf_len(&t.text);
	if (got > 0) {
		assert_int_equal(buf_data(&t.text)[--got], 0);
		assert_true(got <= len);
		assert_memory_equal(buf_data(&t.text), want, got);
	}
	buf_clear(&t.text);
	/* The file is closed once its answers are in. */
	while (sftp_pending(m.client) > 0)
		assert_int_equal(sftp_step(m.client, false, -1), 0);
	memory_end(&m);
	free(want);
	assert_int_equal(unlink("text"), 0);
	return got;
}

static void
test_lengths(void **state)
{
	static const size_t lengths[] = { 0, 1, 1000, 128 * 1024 - 1,
		128 * 1024, 128 * 1024 + 1, 300000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		assert_int_equal(read_back(lengths[i], 1 << 20, false),
		    lengths[i]);
		/* One request only: what fits into it. */
		assert_int_equal(read_back(lengths[i], 0, true),
		    MIN(lengths[i], (size_t)(128 * 1024)));
	}
	/* No piece is asked for behind max. */
	assert_int_equal(read_back(300000, 128 * 1024, false), 128 * 1024);
	assert_int_equal(read_back(300000, 1, false), 128 * 1024);
}

static void
test_not_there(void **state)
{
	bool done = false;
	struct memory m;
	struct sftp_text t = { .max = 1000, .done = on_end, .arg = &done };

	(void)state;
	memory_begin(&m, 1, true, 0);
	t.s = m.client;
	ends = 0;
	sftp_text_read(&t, "none");
	assert_int_equal(sftp_run_until(m.client, &done), 0);
	assert_int_equal(ends, 1);
	assert_int_equal(buf_len(&t.text), 0);
	buf_clear(&t.text);
	memory_end(&m);
}

/* ---- servers that lie --------------------------------------------------- */

struct liar {
	struct script c;
	struct sftp_text t;
	bool done;
};

/* Answers the request that was made last with a string. */
static void
say(struct liar *l, uint8_t type, const void *p, size_t len)
{
	struct script_request q;

	assert_true(script_next(&l->c, &q));
	script_string(&l->c, type, q.id, p, len);
}

static void
refuse(struct liar *l, uint32_t status)
{
	struct script_request q;

	assert_true(script_next(&l->c, &q));
	script_status(&l->c, q.id, status);
}

static void
begin(struct liar *l, bool at_once)
{
	*l = (struct liar){ .done = false };
	script_begin(&l->c, NULL);
	l->t = (struct sftp_text){ .s = l->c.s, .max = 1000,
		.at_once = at_once, .done = on_end, .arg = &l->done };
	ends = 0;
	sftp_text_read(&l->t, "/etc/passwd");
}

static void
end(struct liar *l)
{
	script_end(&l->c);
	/* Freeing the session answers what is left. */
	assert_true(l->done);
	assert_int_equal(ends, 1);
	buf_clear(&l->t.text);
}

static void
test_refusals(void **state)
{
	struct liar l;

	(void)state;
	/* No handle, but success; another answer than a handle. */
	begin(&l, false);
	refuse(&l, SFTP_OK);
	assert_true(l.done);
	assert_int_equal(buf_len(&l.t.text), 0);
	end(&l);
	begin(&l, false);
	say(&l, SFTP_DATA, "text", 4);
	assert_int_equal(buf_len(&l.t.text), 0);
	end(&l);
	/* The file opens and cannot be read. */
	begin(&l, false);
	say(&l, SFTP_HANDLE, "h", 1);
	refuse(&l, SFTP_PERMISSION_DENIED);
	assert_true(l.done);
	assert_int_equal(buf_len(&l.t.text), 0);
	end(&l);
}

static void
test_data_without_end(void **state)
{
	static uint8_t piece[700];
	struct liar l;
	unsigned asked = 0;

	(void)state;
	memset(piece, 'a', sizeof piece);
	begin(&l, false);
	say(&l, SFTP_HANDLE, "h", 1);
	for (; !l.done && asked < 100; asked++)
		say(&l, SFTP_DATA, piece, sizeof piece);
	/* Two pieces are more than max; the NUL is behind them. */
	assert_int_equal(asked, 2);
	assert_int_equal(buf_len(&l.t.text), 2 * sizeof piece + 1);
	end(&l);
	/* Empty data is an end, or it would be asked for again for ever. */
	begin(&l, false);
	say(&l, SFTP_HANDLE, "h", 1);
	say(&l, SFTP_DATA, "", 0);
	assert_true(l.done);
	assert_int_equal(buf_len(&l.t.text), 0);
	end(&l);
}

/* The session is lost before the file is open, amid it, and at its end. What
 * came before is kept. */
static void
test_lost(void **state)
{
	struct liar l;

	(void)state;
	for (int steps = 0; steps < 3; steps++) {
		begin(&l, false);
		if (steps > 0)
			say(&l, SFTP_HANDLE, "h", 1);
		if (steps > 1)
			say(&l, SFTP_DATA, "ab", 2);
		assert_false(l.done);
		(void)!sftp_feed_end(l.c.s, ERR_CLOSED);
		assert_true(l.done);
		if (steps > 1)
			assert_string_equal(
			    (const char *)buf_data(&l.t.text), "ab");
		else
			assert_int_equal(buf_len(&l.t.text), 0);
		end(&l);
	}
}

static void
test_at_once(void **state)
{
	struct liar l;

	(void)state;
	begin(&l, true);
	say(&l, SFTP_HANDLE, "h", 1);
	say(&l, SFTP_DATA, "Groups:\t0\n", 10);
	assert_true(l.done);
	assert_string_equal((const char *)buf_data(&l.t.text), "Groups:\t0\n");
	end(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_data_without_end),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_at_once),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
