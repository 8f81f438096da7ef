/* SPDX-License-Identifier: ISC */
#include "client/session/background.h"

#include <unistd.h>

#include "base/log.h"
#include "client/session/standard-streams.h"

void
background_settle(bool leaves_stdio)
{
	if (setsid() == -1)
		log_debug("setsid: %s", err_text(ERR_SYSTEM));
	if (leaves_stdio)
		stdio_leave();
}

void
background_enter(bool leaves_stdio)
{
	pid_t pid = fork();

	if (pid == -1)
		fatal("fork: %s", err_text(ERR_SYSTEM));
	if (pid > 0)
		_exit(0);
	background_settle(leaves_stdio);
}
