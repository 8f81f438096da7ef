/* SPDX-License-Identifier: ISC */
/* Which descriptors are ready: each story with epoll(7), where there is one,
 * and with poll(2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ready.h"
#include "compat/sock.h"
#include "regress/unit/refuse-call.h"

enum { BOTH = READY_READ | READY_WRITE, ROOM = 8, LONG_MS = 60000 };

struct story {
	struct ready_set *set;
	int pair[2]; /* nothing is in it, and there is room */
	struct ready got[ROOM];
};

static void
begin(struct story *s, bool portable)
{
	assert_int_equal(ready_new(&s->set, portable), 0);
	assert_int_equal(sock_pair(SOCK_STREAM, s->pair), 0);
}

static void
end(struct story *s)
{
	ready_free(s->set);
	close(s->pair[0]);
	close(s->pair[1]);
}

static void
want(struct story *s, int fd, int events)
{
	assert_int_equal(ready_want(s->set, fd, events, false), 0);
}

/* What is told of this descriptor, when nothing else is ready. */
static int
look(struct story *s, int fd)
{
	int n = ready_wait(s->set, s->got, ROOM, 0);

	assert_in_range(n, 0, 1);
	if (n == 0)
		return 0;
	assert_int_equal(s->got[0].fd, fd);
	return s->got[0].events;
}

static void
test_wanted_only(struct story *s)
{
	int fd = s->pair[0];

	assert_int_equal(look(s, fd), 0);
	want(s, fd, READY_READ);
	assert_int_equal(look(s, fd), 0);
	want(s, fd, BOTH);
	assert_int_equal(look(s, fd), READY_WRITE);
	assert_int_equal(write(s->pair[1], "x", 1), 1);
	assert_int_equal(look(s, fd), BOTH);
	want(s, fd, READY_READ);
	assert_int_equal(look(s, fd), READY_READ);
	/* Not even that the other end is gone. */
	want(s, fd, 0);
	close(s->pair[1]);
	assert_int_equal(look(s, fd), 0);
	want(s, fd, READY_WRITE);
	assert_int_equal(look(s, fd), READY_WRITE);
	want(s, fd, BOTH);
	assert_int_equal(look(s, fd), BOTH);
	assert_int_equal(ready_want(s->set, -1, BOTH, true), 0);
	s->pair[1] = dup(fd);
}

static void
test_waits(struct story *s)
{
	uint64_t begin_ms = clock_ms();

	want(s, s->pair[0], READY_READ);
	assert_int_equal(ready_wait(s->set, s->got, ROOM, 30), 0);
	assert_in_range(clock_ms() - begin_ms, 29, LONG_MS);
	assert_int_equal(write(s->pair[1], "x", 1), 1);
	begin_ms = clock_ms();
	assert_int_equal(ready_wait(s->set, s->got, ROOM, LONG_MS), 1);
	assert_true(clock_ms() - begin_ms < LONG_MS);
}

/* Beside them those that can be waited for are told as well. */
static void
test_files_are_always_ready(struct story *s)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	FILE *f = tmpfile();

	assert_non_null(f);
	want(s, fileno(f), READY_READ);
	assert_int_equal(look(s, fileno(f)), READY_READ);
	assert_int_equal(ready_wait(s->set, s->got, ROOM, LONG_MS), 1);
	want(s, null, READY_WRITE);
	want(s, s->pair[0], READY_WRITE);
	assert_int_equal(ready_wait(s->set, s->got, ROOM, LONG_MS), 3);
	want(s, null, 0);
	want(s, fileno(f), 0);
	assert_int_equal(look(s, s->pair[0]), READY_WRITE);
	/* The number is a socket's afterwards. */
	ready_forget(s->set, null);
	close(null);
	assert_int_equal(dup2(s->pair[0], null), null);
	assert_int_equal(ready_want(s->set, null, READY_READ, true), 0);
	want(s, s->pair[0], 0);
	assert_int_equal(look(s, null), 0);
	assert_int_equal(write(s->pair[1], "x", 1), 1);
	assert_int_equal(look(s, null), READY_READ);
	ready_forget(s->set, null);
	close(null);
	fclose(f);
}

/* The next file with the number is waited for, whether the last one was
 * forgotten before it was closed or not. */
static void
test_number_is_used_again(struct story *s)
{
	for (int forgotten = 0; forgotten < 2; forgotten++) {
		int fd = dup(s->pair[0]), other[2];

		assert_int_equal(ready_want(s->set, fd, READY_READ, true), 0);
		assert_int_equal(look(s, fd), 0);
		if (forgotten)
			ready_forget(s->set, fd);
		close(fd);
		assert_int_equal(sock_pipe(other, SOCK_WAITS), 0);
		if (other[0] != fd) {
			assert_int_equal(dup2(other[0], fd), fd);
			close(other[0]);
		}
		assert_int_equal(write(other[1], "x", 1), 1);
		assert_int_equal(ready_want(s->set, fd, READY_READ, true), 0);
		assert_int_equal(look(s, fd), READY_READ);
		ready_forget(s->set, fd);
		close(fd);
		close(other[1]);
	}
}

/* Closed first and forgotten then, while another has the file open: nothing is
 * told of it, and waiting waits. */
static void
test_closed_too_early(struct story *s)
{
	int fd = dup(s->pair[0]);
	uint64_t begin_ms;

	want(s, fd, READY_READ);
	assert_int_equal(look(s, fd), 0);
	close(fd);
	ready_forget(s->set, fd);
	assert_int_equal(write(s->pair[1], "x", 1), 1);
	assert_int_equal(look(s, fd), 0); /* found out, at the latest */
	begin_ms = clock_ms();
	assert_int_equal(ready_wait(s->set, s->got, ROOM, 30), 0);
	assert_in_range(clock_ms() - begin_ms, 29, LONG_MS);
}

/* A child that goes on with it disturbs the parent in nothing. */
static void
test_fork(struct story *s)
{
	int status, fd = s->pair[0];
	pid_t pid;

	want(s, fd, READY_READ);
	assert_int_equal(look(s, fd), 0);
	assert_int_equal(write(s->pair[1], "x", 1), 1);
	if ((pid = fork()) == 0) {
		int first, second;

		ready_forget(s->set, fd);
		first = ready_wait(s->set, s->got, ROOM, 0);
		if (ready_want(s->set, fd, READY_READ, true) != 0)
			_exit(2);
		second = ready_wait(s->set, s->got, ROOM, 0);
		ready_forget(s->set, fd);
		ready_free(s->set);
		_exit(first == 0 && second == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(look(s, fd), READY_READ);
}

/* What finds no room is told in one of the next calls. */
static void
test_little_room(struct story *s)
{
	enum { MANY = 3 * ROOM };
	int fds[MANY], told = 0, n;
	bool seen[MANY] = { false };

	for (int i = 0; i < MANY; i++) {
		fds[i] = dup(s->pair[0]);
		want(s, fds[i], READY_WRITE);
	}
	for (int calls = 0; calls < MANY && told < MANY; calls++) {
		n = ready_wait(s->set, s->got, ROOM, 0);
		assert_int_equal(n, ROOM);
		for (int i = 0; i < n; i++) {
			int which = 0;

			while (fds[which] != s->got[i].fd)
				which++;
			told += !seen[which];
			seen[which] = true;
		}
	}
	assert_int_equal(told, MANY);
	for (int i = 0; i < MANY; i++) {
		ready_forget(s->set, fds[i]);
		close(fds[i]);
	}
}

static void
test_all(void **state)
{
	static void (*const stories[])(struct story *) = {
		test_wanted_only, test_waits, test_files_are_always_ready,
		test_number_is_used_again, test_closed_too_early, test_fork,
		test_little_room,
	};
	bool *portable = *state;
	struct story s;

	for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
		begin(&s, *portable);
		stories[i](&s);
		end(&s);
	}
}

static int
without_epoll(void)
{
#ifdef SYS_epoll_create1
	bool no = false;
	void *portable = &no;

	if (!refuse_call(SYS_epoll_create1, ENOSYS))
		return 77;
	test_all(&portable);
	return 0;
#else
	return 77;
#endif
}

static void
test_no_epoll(void **state)
{
	(void)state;
	in_child(without_epoll);
}

int
main(void)
{
	bool no = false, yes = true;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_all, &no),
		cmocka_unit_test_prestate(test_all, &yes),
		cmocka_unit_test(test_no_epoll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
