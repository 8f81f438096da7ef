/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd-auth: the unprivileged process of a connection that is not
 * authenticated yet. hpnsshd-session starts it with descriptors as in
 * server/monitor-wire.h; it is of no use otherwise.
 */
#include <stdio.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "server/monitor-wire.h"
#include "server/preauth.h"

int
main(int argc, char **argv)
{
	int type;
	socklen_t len = sizeof type;

	(void)argv;
	if (argc > 1 || getsockopt(MONITOR_FD_MONITOR, SOL_SOCKET, SO_TYPE,
		&type, &len) == -1) {
		fputs("hpnsshd-auth is started by hpnsshd-session\n", stderr);
		return 1;
	}
	fd_sanitise_stdio();
	return preauth_run(MONITOR_FD_SOCKET, MONITOR_FD_MONITOR);
}
