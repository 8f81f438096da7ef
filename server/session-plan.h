/* SPDX-License-Identifier: ISC */
/*
 * What a session runs. It depends only on what the client asks for, and on what
 * the administrator and the user's key prescribe.
 *
 * Threads: any; pure.
 */
#ifndef HPN_SERVER_SESSION_PLAN_H
#define HPN_SERVER_SESSION_PLAN_H

#include <stdbool.h>

/* All strings in this header are borrowed, also those in struct
 * session_plan. */

enum session_kind {
	SESSION_SHELL,
	SESSION_EXEC,
	SESSION_SUBSYSTEM,
};

/* What the client has requested in a session channel. */
struct session_request {
	enum session_kind kind;
	/* With SESSION_EXEC the client's command; with SESSION_SUBSYSTEM the
	 * command that sshd_config has for it; with SESSION_SHELL NULL. */
	const char *command;
};

struct session_rules {
	const char *config_command; /* ForceCommand, or NULL */
	const char *key_command;    /* command= of the key, or NULL */
	bool user_rc;		    /* PermitUserRC and the key allow it */
	bool granted; /* a grant let the client in, for SFTP only */
};

enum session_runs {
	SESSION_RUNS_LOGIN_SHELL,
	SESSION_RUNS_COMMAND, /* given to the user's shell */
	SESSION_RUNS_SFTP,    /* our own SFTP server; command has its
			       * arguments */
	SESSION_RUNS_REFUSAL, /* the client gets a text that says that only SFTP
			       * is allowed */
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
	const char *original; /* the client's command, which a forced one
			       * replaces; or NULL */
	bool user_rc; /* ~/.ssh/rc, if there is one, runs before; if false, only
		       * the system's sshrc */
	bool signals; /* the client may send signals */
};

struct session_plan session_plan(const struct session_request *request,
    const struct session_rules *rules);

/* Whether such a login can run nothing but our own SFTP server, whatever the
 * client requests. */
bool session_is_sftp_only(const char *config_command,
    const char *key_command);

#endif
