/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd-user: the user's process of a connection. hpnsshd-session executes it
 * after the login, as the superuser, with the descriptors that
 * server/user-state.h lists. It cannot run by itself. Because it changes to the
 * user's identity itself, the system lets no program of the user trace it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"

#include "base/fd.h"
#include "base/help.h"
#include "base/lookup.h"
#include "compat/proc.h"
#include "crypto/library.h"
#include "server/session/user-run.h"
#include "server/user-state.h"

static const struct help_row no_options[] = { { NULL, NULL } };
static const struct help help = {
	.manual = "hpnsshd",
	.usage = "hpnsshd-user --help | -V",
	.rows = no_options,
	.foot = "hpnsshd-session starts it after a login, as the process that\n"
		"works with the user's rights.\n"
		"By hand it is of no use.\n",
};

int
main(int argc, char **argv)
{
	int type, status;
	socklen_t len = sizeof type;

	/* Keeps the user's other programs from tracing this process. The change
	 * of identity would also do that, but there is none where an ordinary
	 * user has started the server. Child processes are not hidden. */
	(void)proc_hide();
	/* The kernel has named the process after the number of a descriptor, by
	 * which the program was executed. */
	proc_title_begin(argc, argv, "hpnsshd-user");
	help_answer(&help, argc, argv, NULL);
	if (argc == 2)
		lookup_main(argv[1]);
	if (argc > 1 || getsockopt(USER_FD_MONITOR, SOL_SOCKET, SO_TYPE,
		&type, &len) == -1) {
		fputs("hpnsshd-user is started by hpnsshd-session\n", stderr);
		return 1;
	}
	fd_sanitise_stdio();
	crypto_library_start_now();
	status = user_run(USER_FD_SOCKET, USER_FD_MONITOR);
#ifdef WITH_SANITIZER
	/* The search for leaks needs to trace this process. */
	(void)proc_unhide();
#endif
	return status;
}
