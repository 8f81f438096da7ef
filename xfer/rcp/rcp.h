/* SPDX-License-Identifier: ISC */
/*
 * The legacy copy protocol over a pair of descriptors: the source sends
 * files and trees, the sink makes them; both know -Z of HPN-SSH. I/O blocks,
 * and moves large pieces.
 *
 * A failure of one file is printed, sent to the peer and counted, and the
 * other files go on. A function returns an error when the session is over:
 * ERR_CLOSED (the peer is gone), ERR_CANCELLED (the peer sent a fatal error),
 * ERR_PROTOCOL (printed already), ERR_NOMEM, ERR_SYSTEM.
 *
 * Threads: one at a time for a session.
 */
#ifndef HPN_XFER_RCP_RCP_H
#define HPN_XFER_RCP_RCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "xfer/progress.h"

struct rcp;

struct rcp_opts {
	bool recursive, preserve;
	bool resume;  /* -Z: continue incomplete files */
	bool need_dir; /* the sink's target must be a directory */
	uint64_t rate_bytes; /* limit in bytes a second; 0: no limit */
	struct progress *progress; /* borrowed; may be NULL */
	/* Prints a message for the user, escaped, without newline. NULL: this
	 * side has no user, messages only go to the peer. */
	void (*print)(void *arg, const char *line);
	void *print_arg;
};

/* The descriptors are borrowed, and must be in blocking mode. */
int rcp_new(struct rcp **out, int fd_in, int fd_out,
    const struct rcp_opts *opts) must_check;
void rcp_free(struct rcp *c);
/* How many failures there were so far, on both sides. */
unsigned long rcp_failures(const struct rcp *c);
/* True once the peer has sent a byte. */
bool rcp_got_input(const struct rcp *c);

/* Acts as source: sends the n paths; symbolic links are followed. */
int rcp_send(struct rcp *c, char *const paths[], int n) must_check;
/* Acts as sink: makes files at or in target. wanted: the requested names
 * (rcp_wanted_add()); NULL: the source may send any name. */
int rcp_receive(struct rcp *c, const char *target,
    const struct strlist *wanted) must_check;
/* Copies from a source to a sink that are both peers of this program, without
 * -Z. */
int rcp_copy_between(struct rcp *from, struct rcp *to,
    const struct strlist *wanted) must_check;

#endif
