/* SPDX-License-Identifier: ISC */
/*
 * Commands on this host: LocalCommand, which runs after the login, and those
 * that the user types with ~C.
 *
 * Threads: loop thread only; the call blocks until the command has ended.
 */
#ifndef HPN_CLIENT_SESSION_LOCAL_COMMAND_H
#define HPN_CLIENT_SESSION_LOCAL_COMMAND_H

#include "base/err.h"
#include "conf/client-conf.h"

/* Runs LocalCommand, if there is one and PermitLocalCommand allows it. If the
 * command fails, that is only logged. An error means that its tokens could not
 * be expanded. */
int local_command_run(const struct client_conf *conf) must_check;
/* Runs a command that the user has typed, who sees whether it fails. */
void local_command_typed(const char *command);

#endif
