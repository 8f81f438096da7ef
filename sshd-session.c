/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd-session: the privileged process of one connection. The listener
 * starts it with the descriptors that server/state.h lists. It cannot run by
 * itself.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/help.h"
#include "base/sealed.h"
#include "compat/bsd.h"
#include "compat/libc.h"
#include "compat/proc.h"
#include "crypto/library.h"
#include "server/monitor/monitor.h"
#include "server/state.h"

extern char **environ;

static const struct help_row no_options[] = { { NULL, NULL } };
static const struct help help = {
	.manual = "hpnsshd",
	.usage = "hpnsshd-session --help | -V",
	.rows = no_options,
	.foot = "hpnsshd starts it for each connection, as the process of it\n"
		"that keeps the superuser's rights.\n"
		"By hand it is of no use.\n",
};

int
main(int argc, char **argv)
{
	bool waits = argc == 1 && strcmp(argv[0], STATE_NAME_WAITS) == 0;

	help_answer(&help, argc, argv, NULL);
	if (argc > 1 || !sealed_is(STATE_FD_STATE)) {
		fputs("hpnsshd-session is started by hpnsshd\n", stderr);
		return 1;
	}
	fd_sanitise_stdio();
	libc_wipe_freed();
	crypto_library_start();
	proc_title_begin(argc, argv, "hpnsshd-session");
	if (!waits)
		proc_title("[accepted]");
	return monitor_run(waits);
}
