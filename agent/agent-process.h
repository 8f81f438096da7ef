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

/* How to run. Strings are borrowed. */
struct agent_run {
	struct agent_params params;
	const char *path; /* of the socket; NULL: below the user's home */
	enum agent_shell shell;
	bool stays, debug; /* in the foreground; and logs what it does */
	bool temporary;	   /* the socket is in a directory of its own */
	bool keeps_stale;  /* does not look for sockets left behind */
	char **command;	   /* to live as long as this runs; NULL: none */
};

/* The exit status of the process: the command's, or the agent's. */
int agent_process_run(const struct agent_run *run) must_check;
/* Ends the agent that SSH_AGENT_PID names. */
int agent_process_kill(enum agent_shell shell) must_check;

#endif
