/* SPDX-License-Identifier: ISC */
/*
 * The stories of test-ready.c by kqueue(2), with a double of it: both sources
 * are compiled into this test, since no other build here has them.
 */
#define READY_TESTS_KQUEUE
#include "regress/unit/kqueue-double.h"

#include "base/ready-kqueue.c"
#include "base/ready.c"

int stories_main(void);

#define main stories_main
#include "regress/unit/test-ready.c"
#undef main

/* Each descriptor is told once, whatever filters it has; also with others that
 * find no room. */
static void
test_two_filters(void **state)
{
	struct story s;
	int n;

	(void)state;
	begin(&s, false);
	want(&s, s.pair[0], BOTH);
	want(&s, s.pair[1], BOTH);
	assert_int_equal(write(s.pair[1], "x", 1), 1);
	assert_int_equal(write(s.pair[0], "x", 1), 1);
	n = ready_wait(s.set, s.got, ROOM, 0);
	assert_int_equal(n, 2);
	assert_int_equal(s.got[0].events, BOTH);
	assert_int_equal(s.got[1].events, BOTH);
	assert_int_not_equal(s.got[0].fd, s.got[1].fd);
	/* The end of the data is no reason to write. */
	want(&s, s.pair[1], 0);
	assert_int_equal(shutdown(s.pair[1], SHUT_WR), 0);
	want(&s, s.pair[0], READY_READ);
	assert_int_equal(look(&s, s.pair[0]), READY_READ);
	end(&s);
}

/* A device that has no filters: all is left to poll(2) from then on. */
static void
test_refused(void **state)
{
	struct story s;

	(void)state;
	begin(&s, false);
	want(&s, s.pair[0], READY_READ);
	assert_int_equal(look(&s, s.pair[0]), 0);
	assert_true(s.set->kernel_fd != -1);
	double_refuses = EINVAL;
	want(&s, s.pair[1], BOTH);
	assert_int_equal(look(&s, s.pair[1]), READY_WRITE);
	assert_int_equal(s.set->kernel_fd, -1);
	double_refuses = 0;
	want(&s, s.pair[1], 0);
	assert_int_equal(write(s.pair[1], "x", 1), 1);
	assert_int_equal(look(&s, s.pair[0]), READY_READ);
	end(&s);
}

/* In a child of fork(2) the queue's number may be that of another file. */
static void
test_number_of_the_queue(void **state)
{
	struct story s;
	int status, number;
	pid_t pid;

	(void)state;
	begin(&s, false);
	number = s.set->kernel_fd;
	if ((pid = fork()) == 0) {
		ready_free(s.set);
		_exit(fcntl(number, F_GETFD) == -1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(&s);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

int
main(void)
{
	bool no = false;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_all, &no),
		cmocka_unit_test(test_two_filters),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_number_of_the_queue),
	};

	(void)stories_main;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
