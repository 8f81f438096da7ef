/* SPDX-License-Identifier: ISC */
/*
 * A program that a keyword of the configuration names, and whose output is
 * read: KnownHostsCommand, CertificateCommand. The program runs as the user,
 * with the user's environment, without a shell and without input; what it
 * writes to its standard error is shown. Its time and its output have a limit.
 *
 * Threads: loop thread only; while the program runs, nothing else does.
 */
#ifndef HPN_CLIENT_COMMON_USER_PROGRAM_H
#define HPN_CLIENT_COMMON_USER_PROGRAM_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/client-conf.h"
#include "keys/key.h"

/* All is borrowed. */
struct user_program {
	const char *keyword; /* for messages */
	const char *command; /* words and tokens as written */
	enum client_tokens tokens;
	const char *reason; /* %I */
	const char *name;   /* %H; or NULL */
	const struct key *key; /* %t %f %K; NULL: there is none */
	int limit_ms;
	size_t output_max; /* bytes */
};

/* Runs the program and appends its output to out. Errors were logged.
 * ERR_DENIED: the program's exit status was not 0; ERR_TIMEOUT, ERR_LIMIT: it
 * took too long, or wrote too much; others: its command line cannot be used. */
int user_program_run(const struct client_conf *conf,
    const struct user_program *p, struct buf *out) must_check;

#endif
