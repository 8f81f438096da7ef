/* SPDX-License-Identifier: ISC */
/* A program that is held open is executed whatever has become of its name, with
 * the descriptors that it is to have and no others. */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"
#include "regress/unit/help.h"
#include "server/programs.h"

extern char **environ;

static int out[2]; /* what the program writes */

/* A shell with this command line: the program gets the writing end of the pipe
 * as its second descriptor, and no first one. */
static struct program_start
shell(const struct program *p, char *command)
{
	static char name[] = "sh", flag[] = "-c";
	static char *argv[4];

	argv[0] = name;
	argv[1] = flag;
	argv[2] = command;
	return (struct program_start){ .program = p, .argv = argv,
		.env = environ, .fds = { -1, out[1] }, .n = 2 };
}

/* Starts it, and waits for its end: what it has written, and its status. */
static int
run(const struct program_start *s, char *said, size_t size)
{
	int status, r;
	ssize_t n;
	pid_t pid;

	r = program_start(s, &pid);
	assert_int_equal(r, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(out[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	return status;
}

static int
enter(void **state)
{
	int r = temp_enter(state);

	if (r == 0 && (r = sock_pipe(out, SOCK_AT_ONCE)) == 0)
		r = fcntl(out[1], F_SETFL, 0);
	return r;
}

static void
put(const char *name, const char *from, const char *text)
{
	struct buf b = { 0 };
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0755);

	assert_true(fd >= 0);
	if (from != NULL)
		assert_int_equal(file_read(from, &b, 64 << 20), 0);
	else
		buf_put(&b, text, strlen(text));
	assert_int_equal(fd_write_all(fd, buf_data(&b), buf_len(&b)), 0);
	close(fd);
	buf_clear(&b);
}

static void
test_descriptors(void **state)
{
	static char line[] = "for fd in 3 4 5 6 7 8 9; do "
	    "if (: >&$fd) 2>/dev/null; then echo $fd >&4; fi; done";
	struct program p = { .path = xstrdup("/bin/sh") };
	struct program_start s = shell(&p, line);
	char said[64];

	(void)state;
	for (int held = 0; held <= 1; held++) {
		if (held)
			assert_int_equal(program_hold(&p), 0);
		assert_int_equal(run(&s, said, sizeof said), 0);
		assert_string_equal(said, "4\n");
	}
	program_clear(&p);
	assert_null(p.path);
}

/* What is ignored here is not ignored there, and nothing is blocked. */
static void
test_signals(void **state)
{
	static char line[] = "kill -INT $$; echo lives >&4";
	struct program p = { .path = xstrdup("/bin/sh") };
	struct program_start s = shell(&p, line);
	sigset_t set;
	char said[64];
	int status;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGINT, SIG_IGN);
	status = run(&s, said, sizeof said);
	signal(SIGINT, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_string_equal(said, "");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	program_clear(&p);
}

static void
test_session(void **state)
{
	static char line[] = "read x <&3";
	struct program p = { .path = xstrdup("/bin/sh") };
	struct program_start s = shell(&p, line);
	int in[2];
	pid_t pid;

	(void)state;
	assert_int_equal(sock_pipe(in, SOCK_WAITS), 0);
	s.fds[0] = in[0];
	for (int leads = 0; leads <= 1; leads++) {
		s.leads = leads;
		assert_int_equal(program_start(&s, &pid), 0);
		assert_int_equal(getsid(pid), leads ? pid : getsid(0));
		assert_int_equal(write(in[1], "x\n", 2), 2);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	close(in[0]);
	close(in[1]);
	program_clear(&p);
}

static void
test_replaced(void **state)
{
	static char line[] = "exit 7";
	struct program p = { .path = xstrdup("./program") };
	struct program_start s = shell(&p, line);
	char said[64];

	(void)state;
	put("program", "/bin/sh", NULL);
	assert_false(program_is_replaced(&p)); /* it is not held */
	assert_int_equal(program_hold(&p), 0);
	assert_int_equal(program_hold(&p), 0);
	assert_false(program_is_replaced(&p));
	put("other", NULL, "#!/bin/sh\nexit 9\n");
	assert_int_equal(rename("other", "program"), 0);
	assert_true(program_is_replaced(&p));
	assert_int_equal(WEXITSTATUS(run(&s, said, sizeof said)), 7);
	assert_int_equal(unlink("program"), 0);
	assert_true(program_is_replaced(&p));
	assert_int_equal(WEXITSTATUS(run(&s, said, sizeof said)), 7);
	program_let_go(&p);
	assert_int_equal(program_hold(&p), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	program_clear(&p);
}

/* A script is not executed by a descriptor that it does not inherit. Its path
 * is, where that is allowed, with fewer descriptors. */
static void
test_by_path(void **state)
{
	struct program p = { .path = xstrdup("./script") };
	struct program_start s = shell(&p, NULL);
	char said[64];
	pid_t pid;

	(void)state;
	put("script", NULL, "#!/bin/sh\n"
	    "if (: >&4) 2>/dev/null; then echo more >&3; fi; echo ran >&3\n");
	assert_int_equal(program_hold(&p), 0);
	s.fds[0] = out[1];
	assert_int_not_equal(program_start(&s, &pid), 0);
	s.n_by_path = 1;
	assert_int_equal(run(&s, said, sizeof said), 0);
	assert_string_equal(said, "ran\n");
	s.n_by_path = 2;
	assert_int_equal(run(&s, said, sizeof said), 0);
	assert_string_equal(said, "more\nran\n");
	assert_int_equal(unlink("script"), 0);
	program_clear(&p);
}

static void
test_errors(void **state)
{
	struct program p = { .path = xstrdup("./not-there") };
	struct program_start s = shell(&p, NULL);
	pid_t pid;

	(void)state;
	assert_int_equal(program_start(&s, &pid), ENOENT);
	put("no-program", NULL, "text");
	assert_int_equal(chmod("no-program", 0644), 0);
	free(p.path);
	p.path = xstrdup("./no-program");
	assert_int_equal(program_hold(&p), ERR_SYSTEM);
	assert_int_equal(errno, EACCES);
	assert_int_equal(unlink("no-program"), 0);
	/* One that this process was not started with. */
	program_take(&p, 200);
	assert_int_equal(p.fd, 0);
	program_clear(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_by_path),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, enter, temp_leave);
}
