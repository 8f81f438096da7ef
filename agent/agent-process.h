/* SPDX-License-Identifier: ISC */
/*
 * The agent as a process: where its socket is, what a shell is told of it, into
 * the background or beside a command, and its end.
 *
 * Threads: none of its own; it forks, and sets the umask.
 */
#ifndef HPN_AGENT_PROCESS_H
#define HPN_AGENT_PROCESS_H

#include <stdbool.h>

#include "agent/agentd.h"

enum agent_shell { AGENT_SHELL_GUESS, AGENT_SHELL_BOURNE, AGENT_SHELL_C };

/* How the agent is to run. Strings are borrowed. */
struct agent_run {
	struct agent_params params;
	const char *path; /* path of the socket; NULL: below the user's home */
	enum agent_shell shell;
	bool stays, debug; /* stay in the foreground; log to stderr */
	bool temporary;	   /* the socket is in a directory of its own */
	bool keeps_stale;  /* sockets left behind are not removed */
	/* command as long as which the agent lives; NULL: none */
	char **command;
};

/* Runs the agent. Returns the exit status of the process, which is that of the
 * command if there is one. */
int agent_process_run(const struct agent_run *run) must_check;
/* Ends the agent that SSH_AGENT_PID names. */
int agent_process_kill(enum agent_shell shell) must_check;

#endif
