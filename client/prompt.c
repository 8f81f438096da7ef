/* SPDX-License-Identifier: ISC */
#include "client/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <readpassphrase.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

static bool
have_tty(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool have = fd != -1;

	fd_close(&fd);
	return have;
}

static bool
use_askpass(void)
{
	const char *require = getenv("SSH_ASKPASS_REQUIRE");

	if (require != NULL && strcasecmp(require, "force") == 0)
		return true;
	if (require != NULL && strcasecmp(require, "never") == 0)
		return false;
	if (!askpass_has_display())
		return false;
	return (require != NULL && strcasecmp(require, "prefer") == 0) ||
	    !have_tty();
}

static _Noreturn void
run_askpass(const char *program, const char *text, int out)
{
	if (dup2(out, STDOUT_FILENO) != -1) {
		signal(SIGPIPE, SIG_DFL);
		fd_restore_limit();
		execlp(program, program, text, (char *)NULL);
	}
	_exit(127);
}

/* Fills answer with the first line that the program prints. */
static bool
read_answer(int fd, char *answer)
{
	size_t len = 0;
	ssize_t n;

	while (len < PROMPT_ANSWER_MAX - 1) {
		n = fd_read(fd, answer + len, PROMPT_ANSWER_MAX - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	answer[len] = '\0';
	answer[strcspn(answer, "\r\n")] = '\0';
	return len > 0;
}

static char *
ask_program(const char *text)
{
	const char *program = askpass_program();
	char *answer;
	int p[2], status;
	bool got;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) == -1) {
		log_error("askpass: pipe: %s", err_text(ERR_SYSTEM));
		return NULL;
	}
	if ((pid = fork()) == -1) {
		log_error("askpass: fork: %s", err_text(ERR_SYSTEM));
		fd_close(&p[0]);
		fd_close(&p[1]);
		return NULL;
	}
	if (pid == 0)
		run_askpass(program, text, p[1]);
	fd_close(&p[1]);
	answer = xcalloc(1, PROMPT_ANSWER_MAX);
	got = read_answer(p[0], answer);
	fd_close(&p[0]);
	if (child_reap(pid, &status) != 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
			log_error("askpass: cannot run %s", program);
		got = false;
	}
	if (got)
		return answer;
	prompt_free(answer);
	return NULL;
}

char *
prompt_ask(const char *text, enum prompt_echo echo)
{
	int flags = RPP_REQUIRE_TTY |
	    (echo == PROMPT_VISIBLE ? RPP_ECHO_ON : RPP_ECHO_OFF);
	char *answer;

	if (use_askpass())
		return ask_program(text);
	answer = xcalloc(1, PROMPT_ANSWER_MAX);
	if (readpassphrase(text, answer, PROMPT_ANSWER_MAX, flags) != NULL)
		return answer;
	if (errno == ENOTTY || errno == ENXIO)
		log_debug("no terminal to ask on");
	prompt_free(answer);
	return NULL;
}

pid_t
prompt_show(const char *text)
{
	int null;
	pid_t pid;

	if (!use_askpass())
		return 0;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1)
		return 0;
	pid = fork();
	if (pid == 0) {
		setenv("SSH_ASKPASS_PROMPT", "none", 1);
		run_askpass(askpass_program(), text, null);
	}
	fd_close(&null);
	return pid == -1 ? 0 : pid;
}

void
prompt_hide(pid_t window)
{
	int status;

	if (window == 0)
		return;
	(void)kill(window, SIGKILL);
	(void)!child_reap(window, &status);
}

void
prompt_free(char *answer)
{
	if (answer != NULL)
		freezero(answer, PROMPT_ANSWER_MAX);
}
