/* SPDX-License-Identifier: ISC */
/*
 * The command lines of every ssh that these programs spawn: to carry the
 * bytes of a copy (-S, legacy copies), to have a host copy by itself (-R),
 * and to go through jump hosts.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_COMMON_SSH_COMMAND_H
#define HPN_CLIENT_COMMON_SSH_COMMAND_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum ssh_command_purpose {
	/* Nothing else than its standard input and output is to move. */
	SSH_COMMAND_CARRY,
	/* The remote command does all; there is no standard input. */
	SSH_COMMAND_REMOTE_COPY,
};

struct ssh_command {
	const char *program;
	enum ssh_command_purpose purpose;
	bool batch; /* it may not ask the user */
	bool clear; /* data unencrypted once the user is authenticated */
	/* The user's options, in order; they count more than our own. NULL:
	 * none. */
	const struct strlist *options;
	int port;	  /* 0: by configuration */
	const char *user; /* NULL: by configuration */
	const char *host;
	const char *command; /* for the host; more words of it may follow */
	bool subsystem;	     /* command is the name of one */
};

/* An hpnssh that connects its standard input and output with target. */
struct ssh_command_jump {
	const char *program;
	const char *host, *user, *port; /* user, port: NULL: none given */
	const char *earlier; /* hosts that it goes through itself, or NULL */
	const char *config_path; /* NULL: none given */
	int verbosity;		 /* as many -v; negative: -q */
	bool batch;
	const char *target; /* "[host]:port" */
};

/* Both append, and return 0 or ERR_NOMEM. */
int ssh_command_line(struct strlist *argv,
    const struct ssh_command *c) must_check;
int ssh_command_jump_line(struct strlist *argv,
    const struct ssh_command_jump *j) must_check;
/* hpnssh: beside this program (in a build tree, or where it is installed),
 * else where it was to be installed, else anywhere in PATH. Caller frees. */
char *ssh_command_find(void);

#endif
