/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd-auth: the unprivileged process of a connection that is not
 * authenticated yet. hpnsshd-session starts it with the descriptors that
 * server/monitor-wire.h lists. It cannot run by itself.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"

#include "base/fd.h"
#include "base/help.h"
#include "compat/bsd.h"
#include "compat/proc.h"
#include "crypto/library.h"
#include "server/auth/preauth.h"
#include "server/monitor-wire.h"

#ifdef WITH_SANITIZER
/* Turns off the search for leaks: it needs a second process, which the sandbox
 * does not allow. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}
#endif

extern char **environ;

static const struct help_row no_options[] = { { NULL, NULL } };
static const struct help help = {
	.manual = "hpnsshd",
	.usage = "hpnsshd-auth --help | -V",
	.rows = no_options,
	.foot = "hpnsshd-session starts it for each connection, to talk to\n"
		"a client until somebody is logged in.\n"
		"By hand it is of no use.\n",
};

int
main(int argc, char **argv)
{
	bool waits = argc == 1 && strcmp(argv[0], MONITOR_NAME_WAITS) == 0;
	int type;
	socklen_t len = sizeof type;

	help_answer(&help, argc, argv, NULL);
	if (argc > 1 || getsockopt(MONITOR_FD_MONITOR, SOL_SOCKET, SO_TYPE,
		&type, &len) == -1) {
		fputs("hpnsshd-auth is started by hpnsshd-session\n", stderr);
		return 1;
	}
	fd_sanitise_stdio();
	crypto_library_start();
	proc_title_begin(argc, argv, "hpnsshd-auth");
	if (!waits)
		proc_title("[net]");
	return preauth_run(MONITOR_FD_SOCKET, MONITOR_FD_MONITOR, waits);
}
