/* SPDX-License-Identifier: ISC */
/*
 * A program of the administrator's that says who may log in
 * (AuthorizedKeysCommand, AuthorizedPrincipalsCommand): run with the rights of
 * its own user, and only if nobody but the superuser could have written it.
 * It reads nothing, nobody sees what it complains of, and neither its time nor
 * its output is without bounds.
 *
 * Threads: none but the only one.
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
	/* Without LoginGraceTime. */
	AUTHCOMMAND_TIME_MAX_MS = 120 * 1000,
};

struct authcommand {
	const char *keyword;	 /* for the log */
	char *const *argv;	 /* argv[0] is a path */
	const struct user *user; /* who runs it */
	uint64_t deadline_ms;	 /* monotonic; 0: see above */
};

/* Appends what it has written. Any error was logged, and then nothing of the
 * output counts: it is not safe, it has failed, it was killed with all of its
 * process group because it took too long or wrote too much. */
int authcommand_run(const struct authcommand *c, struct buf *out) must_check;

#endif
