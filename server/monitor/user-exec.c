/* SPDX-License-Identifier: ISC */
#include "server/monitor/user-exec.h"

#include <errno.h>
#include <string.h>

#include "base/label.h"
#include "base/log.h"
#include "base/mem.h"

extern char **environ;

/* The environment for the program, copied before modules of PAM ran in this
 * process. */
static char **environment;

static void
keep_environment(void)
{
	size_t n = 0;

	while (environ[n] != NULL)
		n++;
	environment = xcalloc(n + 1, sizeof *environment);
	while (n-- > 0)
		environment[n] = xstrdup(environ[n]);
}

void
user_exec_prepare(struct program *program)
{
	if (environment == NULL)
		keep_environment();
	if (program_hold(program) != 0)
		fatal("%s: %s", program->path, strerror(errno));
}

int
user_exec_take_label(char **label)
{
	*label = label_of_programs();
	return *label != NULL && label_set_of_programs("") != 0 ? ERR_SYSTEM :
								  0;
}

int
user_exec(pid_t *pid, const struct program *program, int socket_fd,
    int monitor_fd)
{
	static char name[] = "hpnsshd-user";
	static char *const argv[] = { name, NULL };
	const struct program_start s = { .program = program, .argv = argv,
		.env = environment, .n = 2, .fds = { socket_fd, monitor_fd } };
	int r = program_start(&s, pid);

	errno = r;
	return r == 0 ? 0 : ERR_SYSTEM;
}
