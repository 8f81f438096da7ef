/* SPDX-License-Identifier: ISC */
/*
 * The sandbox for kernels with Capsicum, in place of sandbox.c. From here on
 * the process can name no file, address or process. With its open descriptors
 * it can only read, write and wait, and set options of the connection.
 */
#include "server/auth/sandbox.h"

#include "config.h"

#if !defined(HAVE_SECCOMP) && defined(HAVE_SYS_CAPSICUM_H)

#include <sys/capsicum.h>
#include <sys/resource.h>

#include <errno.h>
#include <unistd.h>

#include "compat/proc.h"
#include "server/monitor-wire.h"

/* Sets the limits of resources. A limit of 0 processes has no effect on the
 * superuser, but this process has given up that identity by now. */
static int
limit_all(void)
{
	static const struct {
		int what;
		rlim_t value;
	} limits[] = { { RLIMIT_FSIZE, 0 }, { RLIMIT_NPROC, 0 },
		{ RLIMIT_CORE, 0 } };

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct rlimit rl = { limits[i].value, limits[i].value };

		if (setrlimit(limits[i].what, &rl) == -1)
			return ERR_SYSTEM;
	}
	return 0;
}

/* Limits what can be done with fd. A descriptor that is not open is no
 * error. */
static int
narrow(int fd, const cap_rights_t *rights)
{
	return cap_rights_limit(fd, rights) == -1 && errno != EBADF ?
	    ERR_SYSTEM : 0;
}

int
sandbox_enter(void)
{
	cap_rights_t standard, connection;
	int r;

	(void)proc_hide();
	cap_rights_init(&standard, CAP_READ, CAP_WRITE, CAP_FSTAT, CAP_EVENT);
	cap_rights_init(&connection, CAP_READ, CAP_WRITE, CAP_FSTAT, CAP_EVENT,
	    CAP_FCNTL, CAP_GETSOCKOPT, CAP_SETSOCKOPT, CAP_GETPEERNAME,
	    CAP_GETSOCKNAME, CAP_SHUTDOWN, CAP_IOCTL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if ((r = narrow(fd, &standard)) != 0)
			return r;
	if ((r = narrow(MONITOR_FD_SOCKET, &connection)) != 0 ||
	    (r = narrow(MONITOR_FD_MONITOR, &connection)) != 0 ||
	    (r = limit_all()) != 0)
		return r;
	return cap_enter() == -1 ? ERR_SYSTEM : 0;
}

#endif
