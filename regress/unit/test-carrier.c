/* SPDX-License-Identifier: ISC */
/* SFTP sessions over pairs of descriptors, in one event loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "compat/sock.h"
#include "xfer/sftp/carrier.h"
#include "xfer/sftp/sftp-engine.h"

struct answer {
	bool done;
	int err;
	uint32_t status;
};

static void
answered(void *arg, const struct sftp_reply *reply)
{
	struct answer *a = arg;

	a->done = true;
	a->err = reply->err;
	a->status = reply->status;
}

struct peer {
	struct xfer_pipe pipe;
	struct sftp *sftp;
	int far; /* the server's end */
};

static void
peer_open(struct peer *p, struct loop *l)
{
	int ends[2];

	assert_int_equal(sock_pair(SOCK_STREAM, ends), 0);
	assert_int_equal(xfer_pipe_open(&p->pipe, l, ends[0], ends[0]), 0);
	assert_int_equal(sftp_new(&p->sftp), 0);
	xfer_pipe_attach(&p->pipe, p->sftp);
	p->far = ends[1];
	assert_int_equal(write(p->far, "\0\0\0\5\2\0\0\0\3", 9), 9);
}

static void
peer_close(struct peer *p)
{
	sftp_free(p->sftp);
	assert_int_equal(xfer_pipe_close(&p->pipe), 0);
	close(p->far);
}

/* Reads len bytes that the client sent; the last 4 of its id follow type. */
static void
answer_ok(struct peer *p, size_t skip)
{
	uint8_t in[256], out[17] = { 0, 0, 0, 13, SFTP_STATUS };
	ssize_t n = read(p->far, in, sizeof in);

	assert_true(n > (ssize_t)(skip + 9));
	memcpy(out + 5, in + skip + 5, 4);
	memset(out + 9, 0, 8);
	assert_int_equal(write(p->far, out, 13 + 4), 17);
}

/* A turn of one moves the bytes of both; requests made before the first turn
 * go right behind INIT. The end of one is told to it alone. */
static void
test_two_pipes(void **state)
{
	enum { INIT_BYTES = 9 };
	struct loop *l = loop_new();
	struct answer a = { false, 0, 99 }, b = a;
	struct peer p, q;

	(void)state;
	peer_open(&p, l);
	peer_open(&q, l);
	sftp_path_request(p.sftp, SFTP_REMOVE, "x", answered, &a);
	sftp_path_request(q.sftp, SFTP_REMOVE, "y", answered, &b);
	assert_int_equal(sftp_step(p.sftp, true, 1000), 0);
	answer_ok(&p, INIT_BYTES);
	answer_ok(&q, INIT_BYTES);
	assert_int_equal(sftp_run_until(p.sftp, &a.done), 0);
	assert_int_equal(sftp_run_until(p.sftp, &b.done), 0);
	assert_int_equal(a.err | b.err, 0);
	assert_int_equal(a.status | b.status, SFTP_OK);

	a.done = b.done = false;
	sftp_path_request(q.sftp, SFTP_REMOVE, "y", answered, &b);
	shutdown(q.far, SHUT_WR);
	while (!b.done)
		assert_int_equal(sftp_step(p.sftp, false, 1000), 0);
	assert_int_equal(b.err, ERR_CLOSED);
	assert_int_equal(sftp_error(q.sftp), ERR_CLOSED);
	assert_int_equal(sftp_step(q.sftp, false, -1), ERR_CLOSED);
	assert_int_equal(sftp_error(p.sftp), 0);
	peer_close(&p);
	peer_close(&q);
	loop_free(l);
}

/* More than the kernel takes: a step with more to come waits for room, and
 * nothing is lost or out of order. */
static void
test_full_pipe(void **state)
{
	enum { REQUESTS = 20000 };
	struct loop *l = loop_new();
	static uint8_t got[REQUESTS * 64];
	struct answer a = { false, 0, 0 };
	size_t len = 0, want;
	struct peer p;
	ssize_t n;

	(void)state;
	peer_open(&p, l);
	for (unsigned i = 0; i < REQUESTS; i++)
		sftp_path_request(p.sftp, SFTP_REMOVE, "a name of some length",
		    i == 0 ? answered : NULL, &a);
	want = buf_len(sftp_output(p.sftp));
	assert_true(want <= sizeof got);
	for (unsigned turns = 0; len < want && turns < want; turns++) {
		assert_int_equal(sftp_step(p.sftp, true, 0), 0);
		if (turns == 0)
			assert_true(buf_len(sftp_output(p.sftp)) > 0);
		n = recv(p.far, got + len, sizeof got - len, MSG_DONTWAIT);
		len += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(len, want);
	/* The last request is the last in it. */
	assert_memory_equal(got + len - 6, "length", 6);
	peer_close(&p);
	assert_true(a.done);
	assert_int_equal(a.err, ERR_CANCELLED);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_pipes),
		cmocka_unit_test(test_full_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
