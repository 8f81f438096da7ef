/* SPDX-License-Identifier: ISC */
#include "server/monitor/authorized-command.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/proc.h"
#include "server/monitor/authorized-files.h"
#include "server/privs.h"

enum { ENV_MAX = 6 };

static const char path[] =
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/* ---- the child --------------------------------------------------------- */

static void
make_environment(const struct user *u, char *env[ENV_MAX])
{
	const char *lang = getenv("LANG");
	size_t n = 0;

	env[n++] = xstrdup(path);
	xasprintf(&env[n++], "USER=%s", u->name);
	xasprintf(&env[n++], "LOGNAME=%s", u->name);
	xasprintf(&env[n++], "HOME=%s", u->home);
	if (lang != NULL)
		xasprintf(&env[n++], "LANG=%s", lang);
	env[n] = NULL;
}

/* Executes the command in the child process, without the monitor's descriptors
 * and signal handlers. */
static _Noreturn void
become_command(const struct authcommand *c, const char *program, int out)
{
	char *env[ENV_MAX];
	int null;

	/* The hook of fatal() is meant for the parent only. */
	fatal_set_hook(NULL);
	proc_reset_signals();
	if (setsid() == -1 || chdir("/") == -1 ||
	    (null = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(out, STDOUT_FILENO) == -1 || dup2(null, STDERR_FILENO) == -1)
		_exit(127);
	make_environment(c->user, env);
	privs_set_groups(c->user);
	proc_close_from(STDERR_FILENO + 1);
	privs_become(c->user);
	fd_restore_limit();
	execve(program, c->argv, env);
	_exit(127);
}

/* ---- its output -------------------------------------------------------- */

/* Reads the output to its end. ERR_LIMIT: it is too long. */
static int
read_output(int fd, uint64_t deadline_ms, struct buf *out)
{
	int r = child_read_all(fd, deadline_ms, AUTHCOMMAND_OUTPUT_MAX, out);

	if (r == 0 &&
	    str_count_lines(buf_data(out), buf_len(out)) >
		AUTHCOMMAND_LINES_MAX)
		r = ERR_LIMIT;
	return r;
}

/* ---- its end ----------------------------------------------------------- */

/* Kills the command and its children. The child may not have become the leader
 * of its process group yet, so it is killed alone, too. */
static void
kill_all(pid_t pid)
{
	int status;

	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
	(void)!child_reap(pid, &status);
}

/* The words of the command as one text, for the log. Caller frees. */
static char *
line_of(const struct authcommand *c)
{
	struct buf b = { 0 };
	char *line;

	for (size_t i = 0; c->argv[i] != NULL; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", c->argv[i]);
	line = buf_dup_string(&b);
	buf_clear(&b);
	return line != NULL ? line : xstrdup(c->argv[0]);
}

static int
check_status(const struct authcommand *c, int status)
{
	char *line;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	line = line_of(c);
	if (WIFEXITED(status))
		log_error("%s %s failed, status %d", c->keyword, line,
		    WEXITSTATUS(status));
	else
		log_error("%s %s exited on signal %d", c->keyword, line,
		    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	free(line);
	return ERR_DENIED;
}

static int
attend(const struct authcommand *c, pid_t pid, int fd, struct buf *out)
{
	uint64_t deadline_ms = c->deadline_ms != 0 ? c->deadline_ms :
						     clock_ms() +
		AUTHCOMMAND_TIME_MAX_MS;
	int status = 0, r = read_output(fd, deadline_ms, out);

	if (r == 0)
		r = child_reap_until(pid, deadline_ms, &status);
	if (r == 0)
		return check_status(c, status);
	log_error("%s %s was killed: %s", c->keyword, c->argv[0],
	    r == ERR_LIMIT ? "it writes too much" : err_text(r));
	kill_all(pid);
	return r;
}

static int
start(const struct authcommand *c, struct buf *out)
{
	char *program, *why;
	int ends[2], r;
	pid_t pid;

	if (!authfiles_only_root_writes(c->argv[0], &program, &why)) {
		log_error("Unsafe %s \"%s\": %s", c->keyword, c->argv[0], why);
		free(why);
		return ERR_DENIED;
	}
	r = child_pipe(ends);
	if (r == 0 && (pid = fork()) == -1) {
		fd_close(&ends[0]);
		fd_close(&ends[1]);
		r = ERR_SYSTEM;
	}
	if (r != 0) {
		log_error("%s \"%s\": %s", c->keyword, c->argv[0],
		    err_text(r));
		free(program);
		return r;
	}
	if (pid == 0)
		become_command(c, program, ends[1]);
	free(program);
	fd_close(&ends[1]);
	r = attend(c, pid, ends[0], out);
	fd_close(&ends[0]);
	return r;
}

int
authcommand_run(const struct authcommand *c, struct buf *out)
{
	int r = start(c, out);

	if (r != 0)
		buf_reset(out);
	return r;
}
