/* SPDX-License-Identifier: ISC */
/* The event loop: what is called each turn, and signals. */
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

/* ---- the turn's list ---------------------------------------------------- */

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

/* ---- descriptors -------------------------------------------------------- */

struct watcher {
	struct loop *l;
	struct loop_fd *w;
	int got;		/* events, of the last call */
	unsigned calls;
	struct watcher *leaves; /* unwatched by it */
	struct watcher *comes;	/* watched by it */
	int fd;
};

static void
on_fd(void *arg, int fd, int events)
{
	struct watcher *me = arg;

	me->calls++;
	me->got = events;
	if (me->leaves != NULL) {
		loop_unwatch(me->l, me->leaves->w);
		me->leaves->w = NULL;
	}
	if (me->comes != NULL)
		me->comes->w = loop_watch(me->l, fd, LOOP_WRITE, on_fd,
		    me->comes);
	me->leaves = me->comes = NULL;
}

static void
watch(struct watcher *me, struct loop *l, int fd, int events)
{
	*me = (struct watcher){ .l = l, .fd = fd };
	me->w = loop_watch(l, fd, events, on_fd, me);
	assert_non_null(me->w);
}

/* Two watches of one descriptor hear of what each wants; one that goes leaves
 * the other as it was. */
static void
test_same_descriptor(void **state)
{
	struct loop *l = loop_new();
	struct watcher in, out, late = { .l = l };
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	watch(&in, l, pair[0], LOOP_READ);
	watch(&out, l, pair[0], 0);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(in.calls + out.calls, 0);
	loop_fd_want(out.w, LOOP_WRITE);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(in.calls, 0);
	assert_int_equal(out.got, LOOP_WRITE);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(in.got, LOOP_READ);
	assert_int_equal(out.calls, 2);
	/* The first takes the second away before its turn, and a third comes:
	 * that one has to wait. */
	in.leaves = &out;
	in.comes = &late;
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(out.calls, 2);
	assert_int_equal(late.calls, 0);
	loop_unwatch(l, in.w);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(in.calls, 2);
	assert_int_equal(late.got, LOOP_WRITE);
	loop_unwatch(l, late.w);
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(late.calls, 1);
	loop_free(l);
	close(pair[0]);
	close(pair[1]);
}

/* ---- signals ------------------------------------------------------------ */

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_same_descriptor),
		cmocka_unit_test(test_late_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
