/* SPDX-License-Identifier: ISC */
#include "agent/agent-process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "agent/listen-socket.h"
#include "base/fd.h"
#include "base/hide.h"
#include "base/log.h"
#include "base/str.h"
#include "compat/bsd.h"
#include "compat/proc.h"
#include "compat/sock.h"

enum {
	FAILED = 1,
	ENDED = 2, /* exit status after a signal, or when the command ended */
	FATAL = 255,
	PARENT_MS = 10 * 1000, /* interval of looking for the command */
};

#define SOCKET_VARIABLE "SSH_AUTH_SOCK"
#define PID_VARIABLE	"SSH_AGENT_PID"

/* ---- what the shell is told ---------------------------------------------- */

static bool
is_c_shell(enum agent_shell shell)
{
	const char *name = getenv("SHELL");
	size_t len = name != NULL ? strlen(name) : 0;

	if (shell != AGENT_SHELL_GUESS)
		return shell == AGENT_SHELL_C;
	return len >= 3 && strcmp(name + len - 3, "csh") == 0;
}

/* Prints a path for the shell that will evaluate the output: in single quotes
 * if it has characters that are special to a shell. */
static void
print_word(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+,:@%=";

	if (s[strspn(s, plain)] == '\0') {
		fputs(s, stdout);
		return;
	}
	putchar('\'');
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	}
	putchar('\'');
}

static void
print_variable(bool c_shell, const char *name, const char *value)
{
	printf(c_shell ? "setenv %s " : "%s=", name);
	print_word(value);
	printf(c_shell ? ";\n" : "; export %s;\n", name);
}

static void
print_agent(const struct agent_run *run, const char *path, pid_t pid)
{
	bool c_shell = is_c_shell(run->shell);
	char number[32];

	snprintf(number, sizeof number, "%ld", (long)pid);
	print_variable(c_shell, SOCKET_VARIABLE, path);
	if (!run->stays)
		print_variable(c_shell, PID_VARIABLE, number);
	printf("echo Agent pid %s;\n", number);
	(void)fflush(stdout);
}

int
agent_process_kill(enum agent_shell shell)
{
	const char *text = getenv(PID_VARIABLE);
	const char *unset = is_c_shell(shell) ? "unsetenv" : "unset";
	const char *why = NULL;
	long long pid;

	if (text == NULL) {
		fprintf(stderr, "%s not set, cannot kill agent\n",
		    PID_VARIABLE);
		return FAILED;
	}
	pid = strtonum(text, 2, INT_MAX, &why);
	if (why != NULL) {
		fprintf(stderr, "%s=\"%s\", which is not a good PID: %s\n",
		    PID_VARIABLE, text, why);
		return FAILED;
	}
	if (kill((pid_t)pid, SIGTERM) == -1) {
		fprintf(stderr, "kill: %s\n", strerror(errno));
		return FAILED;
	}
	printf("%s %s;\n%s %s;\necho Agent pid %lld killed;\n", unset,
	    SOCKET_VARIABLE, unset, PID_VARIABLE, pid);
	return 0;
}

/* ---- the loop ------------------------------------------------------------ */

struct service {
	struct loop *loop;
	struct agentd *agentd;
	pid_t parent; /* the command; when it ends, the agent ends; 0: none */
	bool handed;  /* socket from systemd, which ends us with SIGTERM */
	int status;
};

static void
on_end(void *arg, int signo)
{
	struct service *s = arg;

	s->status = s->handed && signo == SIGTERM ? 0 : ENDED;
	loop_stop(s->loop);
}

static void
on_remove(void *arg, int signo)
{
	struct service *s = arg;

	(void)signo;
	log_debug("a signal removes all keys");
	agentd_remove_keys(s->agentd);
}

static void
look_for_parent(void *arg)
{
	struct service *s = arg;

	if (getppid() != s->parent ||
	    loop_after(s->loop, PARENT_MS, look_for_parent, s) == NULL)
		on_end(s, 0);
}

/* Signals are blocked from before the socket is made until their handlers are
 * set: a signal in between would end the process and leave the socket behind.
 * This is the mask from before. */
static sigset_t usual_signals;

static void
hold_signals(void)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &held, &usual_signals);
}

static void
release_signals(void)
{
	(void)sigprocmask(SIG_SETMASK, &usual_signals, NULL);
}

static int
take_signals(struct service *s, bool stays)
{
	int r;

	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    (!stays && signal(SIGINT, SIG_IGN) == SIG_ERR))
		return ERR_SYSTEM;
	if (stays && (r = loop_on_signal(s->loop, SIGINT, on_end, s)) != 0)
		return r;
	if ((r = loop_on_signal(s->loop, SIGTERM, on_end, s)) != 0 ||
	    (r = loop_on_signal(s->loop, SIGHUP, on_end, s)) != 0)
		return r;
	return loop_on_signal(s->loop, SIGUSR1, on_remove, s);
}

static int
serve(const struct agent_run *run, int listener, pid_t parent, bool handed)
{
	struct service s = { .parent = parent, .handed = handed,
		.status = FAILED };
	int r = ERR_NOMEM;

	hide_process();
	fd_raise_limit();
	s.loop = loop_new();
	if (s.loop != NULL)
		r = agentd_new(&s.agentd, s.loop, &run->params);
	if (r == 0)
		r = take_signals(&s, run->stays);
	release_signals();
	if (r == 0)
		r = agentd_listen(s.agentd, listener);
	/* The first look is made in the loop, because loop_stop() works only
	 * there. */
	if (r == 0 && parent != 0 &&
	    loop_after(s.loop, 0, look_for_parent, &s) == NULL)
		r = ERR_NOMEM;
	if (r == 0)
		r = loop_run(s.loop);
	if (r != 0)
		log_error("%s", err_text(r));
	agentd_free(s.agentd);
	loop_free(s.loop);
	return s.status;
}

/* ---- processes ----------------------------------------------------------- */

static int
go_to_background(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd == -1 || setsid() == -1 || chdir("/") == -1)
		return ERR_SYSTEM;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (dup2(fd, i) == -1)
			return ERR_SYSTEM;
	fd_close(&fd);
	log_to_syslog(LOG_AUTH);
	return 0;
}

/* Closes all descriptors but *fd and the standard ones, and sets *fd to its new
 * number. The starter may have left a pipe open whose reader waits until nobody
 * has it open any more. */
static int
keep_only(int *fd)
{
	int kept = STDERR_FILENO + 1;

	if (*fd != kept && sock_copy_to(*fd, kept) == -1)
		return ERR_SYSTEM;
	*fd = kept;
	proc_close_from(kept + 1);
	return 0;
}

static _Noreturn void
run_child(const struct agent_run *run, struct listen_socket *socket,
    pid_t parent)
{
	int status = FAILED;

	if (keep_only(&socket->fd) == 0 && go_to_background() == 0)
		status = serve(run, socket->fd, parent, false);
	listen_socket_remove(socket);
	_exit(status);
}

static _Noreturn void
run_command(char **command, const char *path, pid_t agent)
{
	char number[32];

	snprintf(number, sizeof number, "%ld", (long)agent);
	if (setenv(SOCKET_VARIABLE, path, 1) == 0 &&
	    setenv(PID_VARIABLE, number, 1) == 0)
		execvp(command[0], command);
	fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
	exit(FAILED);
}

static int
run_apart(const struct agent_run *run, struct listen_socket *socket)
{
	pid_t parent = getpid(), agent;

	(void)fflush(stdout);
	agent = fork();
	if (agent == -1) {
		log_error("fork: %s", strerror(errno));
		listen_socket_remove(socket);
		return FAILED;
	}
	if (agent == 0)
		run_child(run, socket, run->command != NULL ? parent : 0);
	release_signals();
	if (run->command != NULL)
		run_command(run->command, socket->path, agent);
	print_agent(run, socket->path, agent);
	listen_socket_forget(socket);
	return 0;
}

static int
make_socket(const struct agent_run *run, struct listen_socket *socket)
{
	if (run->path != NULL)
		return listen_socket_named(socket, run->path);
	if (run->temporary)
		return listen_socket_temporary(socket);
	return listen_socket_usual(socket, !run->keeps_stale);
}

int
agent_process_run(const struct agent_run *run)
{
	struct listen_socket socket = { .fd = -1 };
	bool handed = false;
	int status;

	hold_signals();
	if (run->stays && run->path == NULL && run->command == NULL &&
	    listen_socket_handed(&socket, &handed) != 0)
		return FATAL;
	if (!handed && make_socket(run, &socket) != 0) {
		listen_socket_remove(&socket);
		return FAILED;
	}
	if (!run->stays)
		return run_apart(run, &socket);
	if (!handed)
		print_agent(run, socket.path, getpid());
	status = serve(run, socket.fd, 0, handed);
	listen_socket_remove(&socket);
	return status;
}
