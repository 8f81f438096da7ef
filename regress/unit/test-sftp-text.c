/* SPDX-License-Identifier: ISC */
/*
 * The text of a small file of a server: of ours, piece by piece; and of servers
 * that send too much, the wrong bytes, refuse, or are gone.
 */
#include "regress/unit/memory-carrier.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/wire.h"
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
	struct sftp *s;
	struct sftp_text t;
	bool done;
};

static void
feed_message(struct liar *l, struct buf *body)
{
	struct buf b = { 0 };

	buf_put_u32(&b, (uint32_t)buf_len(body));
	buf_put(&b, buf_data(body), buf_len(body));
	sftp_output_sent(l->s, buf_len(sftp_output(l->s)));
	(void)!sftp_feed(l->s, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	buf_clear(body);
}

/* The answer to the request that was made last: type, id, and a string. */
static void
say(struct liar *l, uint8_t type, uint32_t id, const void *p, size_t len)
{
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	buf_put_u32(&b, id);
	if (type == SFTP_STATUS) {
		buf_put_u32(&b, (uint32_t)len);
		buf_put_cstring(&b, "");
		buf_put_cstring(&b, "");
	} else {
		buf_put_u32(&b, (uint32_t)len);
		buf_put(&b, p, len);
	}
	feed_message(l, &b);
}

/* The id of the last request that went out. */
static uint32_t
last_id(struct liar *l)
{
	const struct buf *out = sftp_output(l->s);
	const uint8_t *p = buf_data(out);
	size_t left = buf_len(out), len = 0;

	for (; left > 0; p += len, left -= len)
		len = 4 + ((size_t)p[0] << 24 | (size_t)p[1] << 16 |
			(size_t)p[2] << 8 | p[3]);
	p -= len;
	return (uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 |
	    (uint32_t)p[7] << 8 | p[8];
}

static void
begin(struct liar *l, bool at_once)
{
	struct buf version = { 0 };

	*l = (struct liar){ .done = false };
	assert_int_equal(sftp_new(&l->s), 0);
	buf_put_u8(&version, SFTP_VERSION_REPLY);
	buf_put_u32(&version, SFTP_VERSION);
	feed_message(l, &version);
	assert_int_equal(sftp_error(l->s), 0);
	l->t = (struct sftp_text){ .s = l->s, .max = 1000,
		.at_once = at_once, .done = on_end, .arg = &l->done };
	ends = 0;
	sftp_text_read(&l->t, "/etc/passwd");
}

static void
end(struct liar *l)
{
	sftp_free(l->s);
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
	say(&l, SFTP_STATUS, last_id(&l), NULL, SFTP_OK);
	assert_true(l.done);
	assert_int_equal(buf_len(&l.t.text), 0);
	end(&l);
	begin(&l, false);
	say(&l, SFTP_DATA, last_id(&l), "text", 4);
	assert_int_equal(buf_len(&l.t.text), 0);
	end(&l);
	/* The file opens and cannot be read. */
	begin(&l, false);
	say(&l, SFTP_HANDLE, last_id(&l), "h", 1);
	say(&l, SFTP_STATUS, last_id(&l), NULL, SFTP_PERMISSION_DENIED);
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
	say(&l, SFTP_HANDLE, last_id(&l), "h", 1);
	for (; !l.done && asked < 100; asked++)
		say(&l, SFTP_DATA, last_id(&l), piece, sizeof piece);
	/* Two pieces are more than max; the NUL is behind them. */
	assert_int_equal(asked, 2);
	assert_int_equal(buf_len(&l.t.text), 2 * sizeof piece + 1);
	end(&l);
	/* Empty data is an end, or it would be asked for again for ever. */
	begin(&l, false);
	say(&l, SFTP_HANDLE, last_id(&l), "h", 1);
	say(&l, SFTP_DATA, last_id(&l), "", 0);
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
			say(&l, SFTP_HANDLE, last_id(&l), "h", 1);
		if (steps > 1)
			say(&l, SFTP_DATA, last_id(&l), "ab", 2);
		assert_false(l.done);
		(void)!sftp_feed_end(l.s, ERR_CLOSED);
		assert_true(l.done);
		if (steps > 1)
			assert_string_equal(buf_data(&l.t.text), "ab");
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
	say(&l, SFTP_HANDLE, last_id(&l), "h", 1);
	say(&l, SFTP_DATA, last_id(&l), "Groups:\t0\n", 10);
	assert_true(l.done);
	assert_string_equal(buf_data(&l.t.text), "Groups:\t0\n");
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
