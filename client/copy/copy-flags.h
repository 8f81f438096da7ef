/* SPDX-License-Identifier: ISC */
/*
 * The options that hpnscp and hpnsftp have in common: what is handed on to
 * the connection, and where it goes to.
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

/* The part of the getopt string. */
#define COPY_FLAGS "46ACD:F:J:P:S:c:i:l:o:qv"

/* All strings but those of the list are borrowed from argv. */
struct copy_flags {
	struct strlist ssh;	 /* for hpnssh, as they were given, in order */
	const char *ssh_program; /* -S; NULL: connections of this process */
	const char *sftp_server; /* -D; NULL: a host */
	int port;		 /* -P; 0: by configuration */
	uint64_t rate_bytes;	 /* -l; per second; 0: no limit */
	bool quiet, verbose;	 /* -q, -v; these are handed on too */
};

/* The flag is taken: 1; 0: it is none of them; ERR_SYNTAX: *why says what is
 * wrong with value. */
int copy_flag_take(struct copy_flags *f, int flag, const char *value,
    const char **why) must_check;
/* The connection may not ask the user for anything. */
void copy_flags_set_batch(struct copy_flags *f);
void copy_flags_clear(struct copy_flags *f);

/* Values of -X and of options like it. What is more than a transfer can use
 * is taken as the most that it uses. 0, or ERR_SYNTAX. */
int copy_flag_requests(struct xfer_opts *o, const char *text) must_check;
int copy_flag_block(struct xfer_opts *o, const char *text) must_check;

#endif
