/* SPDX-License-Identifier: ISC */
/*
 * What a session runs: decided from what the client asks for and what the
 * administrator and the user's key say, and from nothing else.
 *
 * Threads: any; pure.
 */
#ifndef HPN_SERVER_SESSION_PLAN_H
#define HPN_SERVER_SESSION_PLAN_H

#include <stdbool.h>

/* All strings here are borrowed, also those of the plan. */

enum session_kind {
	SESSION_SHELL,
	SESSION_EXEC,
	SESSION_SUBSYSTEM,
};

/* A request of the client's. */
struct session_request {
	enum session_kind kind;
	/* EXEC: the client's command. SUBSYSTEM: what sshd_config runs for it.
	 * SHELL: NULL. */
	const char *command;
};

struct session_rules {
	const char *config_command; /* ForceCommand, or NULL */
	const char *key_command;    /* command= of the key, or NULL */
	bool user_rc;		    /* PermitUserRC and the key allow it */
};

enum session_runs {
	SESSION_RUNS_LOGIN_SHELL,
	SESSION_RUNS_COMMAND, /* given to the user's shell */
	SESSION_RUNS_SFTP,    /* our own server, with command's arguments */
	SESSION_RUNS_REFUSAL, /* a text: there is nothing but SFTP */
};

enum session_forced {
	SESSION_FORCED_NOT,
	SESSION_FORCED_BY_CONFIG,
	SESSION_FORCED_BY_KEY,
};

struct session_plan {
	enum session_runs runs;
	enum session_forced forced;
	const char *command;  /* NULL: login shell */
	const char *original; /* what a forced command replaces, or NULL */
	bool user_rc; /* ~/.ssh/rc goes first; else the system's sshrc */
	bool signals; /* the client may send signals */
};

struct session_plan session_plan(const struct session_request *request,
    const struct session_rules *rules);

/* Is there no request that makes such a login run anything but our own SFTP
 * server? */
bool session_is_sftp_only(const char *config_command,
    const char *key_command);

#endif
