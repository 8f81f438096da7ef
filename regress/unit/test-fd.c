/* SPDX-License-Identifier: ISC */
/* Descriptors: reads and writes that go on, and passing to another process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"

static volatile sig_atomic_t write_to;

/* Ends a wait: the read that is begun again finds a byte. */
static void
on_alarm(int signo)
{
	(void)signo;
	(void)!write(write_to, "z", 1);
}

static void
test_interrupted_read(void **state)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction before;
	char c = 0;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	write_to = fd[1];
	assert_int_equal(sigaction(SIGALRM, &sa, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(fd_read(fd[0], &c, 1), 1);
	assert_int_equal(c, 'z');
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	close(fd[0]);
	close(fd[1]);
}

static void
test_at_offsets(void **state)
{
	char back[8];
	FILE *f = tmpfile();
	int fd;

	(void)state;
	assert_non_null(f);
	fd = fileno(f);
	assert_int_equal(fd_pwrite_all(fd, "abcdef", 6, 2), 0);
	assert_int_equal(fd_pread(fd, back, 3, 3), 3);
	assert_memory_equal(back, "bcd", 3);
	/* Fewer at the end of the file, none behind it. */
	assert_int_equal(fd_pread_all(fd, back, 8, 4), 4);
	assert_memory_equal(back, "cdef", 4);
	assert_int_equal(fd_pread_all(fd, back, 8, 100), 0);
	assert_int_equal(fd_pread_all(-1, back, 8, 0), -1);
	assert_int_equal(fd_pwrite_all(-1, "a", 1, 0), -1);
	assert_int_equal(errno, EBADF);
	fclose(f);
}

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

/* A message of a known length is waited for; its descriptor comes with the
 * first bytes. One that breaks off leaves nothing open. */
static void
test_message(void **state)
{
	int sock[2], got, before, status;
	char text[8] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	before = count_open();
	pid = fork();
	if (pid == 0) {
		if (fd_send_with(sock[0], "mes", 3, sock[0]) != 0 ||
		    usleep(20000) != 0 || fd_write_all(sock[0], "sage", 4) != 0)
			_exit(1);
		_exit(fd_send_with(sock[0], "half", 4, sock[0]) != 0);
	}
	assert_int_equal(fd_receive_with(sock[1], text, 7, &got), 7);
	assert_string_equal(text, "message");
	assert_true(got >= 0);
	close(got);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(shutdown(sock[0], SHUT_WR), 0);
	assert_int_equal(fd_receive_with(sock[1], text, 7, &got), -1);
	assert_int_equal(got, -1);
	assert_int_equal(count_open(), before);
	assert_int_equal(fd_receive_with(sock[1], text, 7, &got), 0);
	close(sock[0]);
	close(sock[1]);
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

/* As many as there may be, and as before in programs that are started. */
static void
test_limit(void **state)
{
	struct rlimit first, l;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &first), 0);
	assert_true(first.rlim_max > 100);
	l = first;
	l.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
	fd_restore_limit(); /* nothing was raised */
	fd_raise_limit();
	fd_raise_limit(); /* what was before is still known */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	assert_int_equal(l.rlim_cur, first.rlim_max);
	if ((pid = fork()) == 0) {
		fd_restore_limit();
		_exit(getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur == 100 &&
		    l.rlim_max == first.rlim_max ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	assert_int_equal(l.rlim_cur, first.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &first), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupted_read),
		cmocka_unit_test(test_at_offsets),
		cmocka_unit_test(test_passed),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_wrong_number),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
