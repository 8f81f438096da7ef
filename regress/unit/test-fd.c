/* SPDX-License-Identifier: ISC */
/* Descriptors that are passed to another process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

static int
count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void
test_passed(void **state)
{
	int sock[2], pipe_fds[2], got[2] = { -1, -1 };
	char c = 'x';

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(fd_send_fds(sock[0], pipe_fds, 2), 0);
	/* What is sent behind them stays where it is. */
	assert_int_equal(fd_write_all(sock[0], "next", 4), 0);
	assert_int_equal(fd_receive_fds(sock[1], got, 2), 0);
	assert_int_equal(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(got[1], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(got[1], "y", 1), 1);
	assert_int_equal(read(pipe_fds[0], &c, 1), 1);
	assert_int_equal(c, 'y');
	assert_int_equal(read(sock[1], &c, 1), 1);
	assert_int_equal(c, 'n');
	for (int i = 0; i < 2; i++) {
		close(sock[i]);
		close(pipe_fds[i]);
		close(got[i]);
	}
}

/* Others than were expected are not kept open. */
static void
test_wrong_number(void **state)
{
	int sock[2], many[4] = { 0, 1, 2, 0 }, got[4], before;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	before = count_open();
	for (size_t sent = 0; sent <= 4; sent++) {
		if (sent == 0)
			assert_int_equal(fd_write_all(sock[0], "", 1), 0);
		else
			assert_int_equal(fd_send_fds(sock[0], many, sent), 0);
		assert_int_equal(fd_receive_fds(sock[1], got,
				     sent == 2 ? 3 : 2),
		    ERR_PROTOCOL);
		assert_int_equal(count_open(), before);
	}
	close(sock[0]);
	assert_int_equal(fd_receive_fds(sock[1], got, 1), ERR_EOF);
	close(sock[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passed),
		cmocka_unit_test(test_wrong_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
