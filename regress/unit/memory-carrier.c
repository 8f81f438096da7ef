/* SPDX-License-Identifier: ISC */
#include "regress/unit/memory-carrier.h"

#include <sys/resource.h>

#include <limits.h>
#include <poll.h>
#include <string.h>

#include "base/mem.h"

int
memory_setup(void **state)
{
	struct rlimit rl;

	/* Both ends are in this process, and each may open half of them. */
	if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return 1;
	rl.rlim_cur = MIN(rl.rlim_max, (rlim_t)4096);
	if (setrlimit(RLIMIT_NOFILE, &rl) != 0)
		return 1;
	return temp_enter_memory(state);
}

static void
memory_wake(void *arg)
{
	struct memory *m = arg;

	m->woken = true;
}

/* Gives the server a random part of the client's output. A client that did not
 * wake this carrier must have none. */
static void
memory_send(struct memory *m)
{
	struct buf *out = sftp_output(m->client);
	size_t n = 1 + dice_below(&m->dice, 300000);
	ssize_t used;

	assert_true(m->woken || buf_len(out) == 0);
	m->woken = buf_len(out) > 0;
	if (sftp_serve_blocked(m->server))
		return;
	used = sftp_serve_input(m->server, buf_data(out),
	    MIN(n, buf_len(out)));
	assert_true(used >= 0);
	buf_consume(out, (size_t)used);
}

/* Moves the replies that there are to m->wire; if m->shuffle, in random order.
 * Shortens DATA to data_max. */
static void
collect(struct memory *m)
{
	struct buf *out = sftp_serve_output(m->server);
	struct rd r = rd_from_buf(out), replies[64];
	size_t n = 0, pick;

	while (n < ARRAY_LEN(replies) && r.len >= 4)
		replies[n++] = rd_sub(&r);
	assert_int_equal(rd_err(&r), 0);
	while (n > 0) {
		pick = m->shuffle && replies[0].p[0] != SFTP_VERSION_REPLY ?
		    dice_below(&m->dice, (uint32_t)n) : 0;
		if (m->data_max != 0 && replies[pick].p[0] == SFTP_DATA &&
		    replies[pick].len > 9 + m->data_max) {
			buf_put_u32(&m->wire, 9 + m->data_max);
			buf_put(&m->wire, replies[pick].p, 5);
			buf_put_u32(&m->wire, m->data_max);
			buf_put(&m->wire, replies[pick].p + 9, m->data_max);
		} else {
			buf_put_string(&m->wire, replies[pick].p,
			    replies[pick].len);
		}
		memmove(&replies[pick], &replies[pick + 1],
		    (--n - pick) * sizeof *replies);
	}
	buf_consume(out, buf_len(out) - r.len);
}

/* Moves a random part of the requests and of the replies. The empty input lets
 * the server go on with requests that it keeps while its output is full. */
static void
move_some(struct memory *m, int timeout_ms)
{
	size_t n = 1 + dice_below(&m->dice, 200000);
	int r;

	memory_send(m);
	if (buf_len(&m->wire) == 0 &&
	    !(m->late && sftp_serve_has_work(m->server)))
		collect(m);
	n = MIN(n, buf_len(&m->wire));
	r = sftp_feed(m->client, buf_data(&m->wire), n);
	buf_consume(&m->wire, n);
	assert_true(r == 0 || r == sftp_error(m->client));
	assert_true(sftp_serve_input(m->server, (const uint8_t *)"", 0) == 0);
	if (sftp_serve_has_work(m->server)) {
		struct pollfd pfd = { .fd = sftp_serve_fd(m->server),
			.events = POLLIN };

		(void)poll(&pfd, 1, MIN(timeout_ms & INT_MAX, 10));
		return;
	}
	if (timeout_ms < 0 && n == 0 && buf_len(&m->wire) == 0 &&
	    buf_len(sftp_serve_output(m->server)) == 0 &&
	    buf_len(sftp_output(m->client)) == 0)
		fail_msg("both sides wait for each other");
}

static int
memory_turn(void *arg, int timeout_ms)
{
	struct memory *m = arg;

	move_some(m, m->mate == NULL ? timeout_ms : 0);
	if (m->mate != NULL)
		move_some(m->mate, 0);
	return 0;
}

static const struct xfer_carrier_ops memory_ops = {
	.turn = memory_turn,
	.wake = memory_wake,
};

void
memory_begin_at(struct memory *m, unsigned seed, bool shuffle,
    const struct sftp_serve_opts *opts)
{
	struct sftp_serve_opts with = { .threads = 0 };

	if (opts != NULL)
		with = *opts;
	with.home = temp_dir;
	*m = (struct memory){ .dice = { seed }, .shuffle = shuffle };
	assert_int_equal(sftp_serve_new(&m->server, &with), 0);
	assert_int_equal(sftp_new(&m->client), 0);
	sftp_attach(m->client,
	    (struct xfer_carrier){ .ops = &memory_ops, .arg = m });
}

void
memory_begin(struct memory *m, unsigned seed, bool shuffle,
    uint32_t data_max)
{
	memory_begin_at(m, seed, shuffle, NULL);
	m->data_max = data_max;
}

void
memory_end(struct memory *m)
{
	sftp_free(m->client);
	sftp_serve_free(m->server);
	buf_clear(&m->wire);
}
