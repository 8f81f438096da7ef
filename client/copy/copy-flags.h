/* SPDX-License-Identifier: ISC */
/*
 * The options that hpnscp and hpnsftp have in common: those that are handed on
 * to the connection, and those that tell where it goes.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_COPY_FLAGS_H
#define HPN_CLIENT_COPY_COPY_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "xfer/transfer/transfer.h"

/* The common options, for the getopt(3) string of both programs. */
#define COPY_FLAGS "46ACD:F:J:P:S:c:i:l:o:qv"

/* What the common options said. The strings are borrowed from argv, but ssh
 * owns its copies. */
struct copy_flags {
	/* Options for hpnssh, as they were given, in order. */
	struct strlist ssh;
	const char *ssh_program; /* -S; NULL: this process connects itself */
	const char *sftp_server; /* -D; NULL: the server is on a host */
	int port;		 /* -P; 0: by configuration */
	uint64_t rate_bytes;	 /* -l; per second; 0: no limit */
	bool quiet, verbose;	 /* -q, -v; they are in ssh, too */
};

/* Handles an option of COPY_FLAGS: 1, or ERR_SYNTAX and *why says what is wrong
 * with value. 0: flag is none of COPY_FLAGS. */
int copy_flag_take(struct copy_flags *f, int flag, const char *value,
    const char **why) must_check;
/* Adds the option for hpnssh that forbids to ask the user anything. */
void copy_flags_set_batch(struct copy_flags *f);
void copy_flags_clear(struct copy_flags *f);

/* Read the value of -X nrequests= and buffer=, or of -R and -B of hpnsftp. A
 * value larger than a transfer can use is lowered to that. 0, or ERR_SYNTAX. */
int copy_flag_requests(struct xfer_opts *o, const char *text) must_check;
int copy_flag_block(struct xfer_opts *o, const char *text) must_check;

#endif
