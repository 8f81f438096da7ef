/* SPDX-License-Identifier: ISC */
/*
 * Runs a program of the administrator that says who may log in
 * (AuthorizedKeysCommand, AuthorizedPrincipalsCommand). It runs with the rights
 * of its own user, and only if nobody but the superuser could have written it.
 * Its standard input and standard error are /dev/null. Its time and its output
 * are limited.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_AUTHORIZED_COMMAND_H
#define HPN_SERVER_MONITOR_AUTHORIZED_COMMAND_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/user.h"

enum {
	AUTHCOMMAND_OUTPUT_MAX = 1024 * 1024, /* bytes */
	AUTHCOMMAND_LINES_MAX = 16 * 1024,
	/* The limit of time without LoginGraceTime. */
	AUTHCOMMAND_TIME_MAX_MS = 120 * 1000,
};

struct authcommand {
	const char *keyword;	 /* for log lines */
	char *const *argv;	 /* argv[0] is the path of the program */
	const struct user *user; /* the program gets this user's rights */
	uint64_t deadline_ms;	 /* monotonic; 0: AUTHCOMMAND_TIME_MAX_MS from
				  * now */
};

/* Runs the program and puts its output into out. After an error, which was
 * logged, out is empty: the program's file is not safe, or the program failed,
 * or it was killed with its process group because it took too long or wrote too
 * much. */
int authcommand_run(const struct authcommand *c, struct buf *out) must_check;

#endif
