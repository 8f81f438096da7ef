/* SPDX-License-Identifier: ISC */
/*
 * The event loop: what is called each turn, signals; and SFTP sessions over
 * descriptors in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "xfer/sftp/carrier.h"
#include "xfer/sftp/sftp-engine.h"

/* --- the turn's list --- */

struct hook {
	struct loop *l;
	unsigned calls;
	bool busy;
	struct hook *adds, *removes;
};

static bool
on_turn(void *arg)
{
	struct hook *h = arg;

	h->calls++;
	if (h->adds != NULL)
		assert_int_equal(loop_on_turn(h->l, on_turn, h->adds), 0);
	h->adds = NULL;
	if (h->removes != NULL)
		loop_off_turn(h->l, on_turn, h->removes);
	h->removes = NULL;
	return h->busy;
}

/* Each is called once a turn, also one that another adds, and none that was
 * removed, even by itself; one that is busy is enough not to wait. */
static void
test_turns(void **state)
{
	struct loop *l = loop_new();
	struct hook a = { .l = l }, b = { .l = l, .busy = true };
	struct hook c = { .l = l };

	(void)state;
	assert_non_null(l);
	assert_int_equal(loop_on_turn(l, on_turn, &a), 0);
	assert_int_equal(loop_on_turn(l, on_turn, &b), 0);
	a.adds = &c;
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(a.calls, 1);
	assert_int_equal(b.calls, 1);
	assert_int_equal(c.calls, 1);
	b.removes = &b;
	c.removes = &a;
	assert_int_equal(loop_turn(l, -1), 0);
	assert_int_equal(a.calls + b.calls + c.calls, 6);
	b.busy = false;
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.calls + b.calls, 4);
	assert_int_equal(c.calls, 3);
	/* Removed by one in front of it: not called in that turn any more. */
	assert_int_equal(loop_on_turn(l, on_turn, &a), 0);
	c.removes = &a;
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(a.calls, 2);
	loop_free(l);
}

/* --- signals --- */

static void
on_end_signal(void *arg, int signo)
{
	*(int *)arg = signo;
}

/* How a process ends that takes its handler away, after it was sent SIGTERM:
 * told means that the loop had a turn in between. */
static int
end_of_child(bool told)
{
	pid_t pid = fork();
	int status, got = 0;
	struct loop *l;

	if (pid == 0) {
		l = loop_new();
		if (l == NULL ||
		    loop_on_signal(l, SIGTERM, on_end_signal, &got) != 0 ||
		    raise(SIGTERM) != 0 ||
		    (told && (loop_turn(l, 0) != 0 || got != SIGTERM)))
			_exit(1);
		loop_free(l);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* A signal between the last turn and the end is not lost. */
static void
test_late_signal(void **state)
{
	int status = end_of_child(false);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	status = end_of_child(true);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- pipes --- */

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

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     ends), 0);
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
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_late_signal),
		cmocka_unit_test(test_two_pipes),
		cmocka_unit_test(test_full_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
