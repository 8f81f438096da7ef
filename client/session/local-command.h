/* SPDX-License-Identifier: ISC */
/*
 * LocalCommand: what the user runs here when hpnssh is logged in.
 *
 * Threads: loop thread only; the call blocks until the command has ended.
 */
#ifndef HPN_CLIENT_SESSION_LOCAL_COMMAND_H
#define HPN_CLIENT_SESSION_LOCAL_COMMAND_H

#include "base/err.h"
#include "conf/client-conf.h"

/* If there is one, and it is permitted. That it fails is logged, and no error
 * of ours. */
int local_command_run(const struct client_conf *conf) must_check;
/* A command that the user has typed, who sees how it goes. */
void local_command_typed(const char *command);

#endif
