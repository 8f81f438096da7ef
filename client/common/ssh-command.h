/* SPDX-License-Identifier: ISC */
/*
 * The command lines of the ssh processes that these programs start: to carry
 * the bytes of a copy (-S, legacy copies), to let a host copy to another host
 * by itself (-R), and to go through jump hosts.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_COMMON_SSH_COMMAND_H
#define HPN_CLIENT_COMMON_SSH_COMMAND_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum ssh_command_purpose {
	/* Only carry bytes between standard input and output and the remote
	 * command: no forwards, no terminal, no LocalCommand. */
	SSH_COMMAND_CARRY,
	/* The remote command does all the work. Its standard input is empty. */
	SSH_COMMAND_REMOTE_COPY,
};

struct ssh_command {
	const char *program;
	enum ssh_command_purpose purpose;
	bool batch; /* ssh must not ask the user (BatchMode) */
	bool clear; /* use the cipher none once the user is authenticated */
	/* The user's options for ssh, which follow ours in this order. NULL:
	 * none. */
	const struct strlist *options;
	int port;	  /* 0: by configuration */
	const char *user; /* NULL: by configuration */
	const char *host;
	const char *command; /* for the host; the caller may append more words
			      * of it to argv */
	bool subsystem;	     /* command is the name of a subsystem */
};

/* An hpnssh that logs in on a jump host and connects its standard input and
 * output with target (-W). */
struct ssh_command_jump {
	const char *program;
	const char *host, *user, *port; /* user, port: NULL: none given */
	const char *earlier; /* the jump hosts in front of this one (-J); NULL:
			      * none */
	const char *config_path; /* NULL: none given */
	int verbosity;		 /* how many -v; negative: -q */
	bool batch;
	const char *target; /* "[host]:port" */
};

/* ssh_command_line() and the next function append the words of the command line
 * to argv. 0 or ERR_NOMEM. */
int ssh_command_line(struct strlist *argv,
    const struct ssh_command *c) must_check;
int ssh_command_jump_line(struct strlist *argv,
    const struct ssh_command_jump *j) must_check;
/* The path of hpnssh: in the directory of this program, else in the directory
 * where it was to be installed, else its name alone, for PATH. Caller frees. */
char *ssh_command_find(void);

#endif
