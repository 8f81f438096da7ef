/* SPDX-License-Identifier: ISC */
/*
 * The legacy copy protocol over a pair of descriptors: the source sends
 * files and trees, the sink makes them; -Z of HPN-SSH in both. I/O waits,
 * in large pieces.
 *
 * What goes wrong with one file is said, told to the peer and counted, and
 * the rest goes on. A function gives an error when the session is over:
 * ERR_CLOSED (the peer is gone), ERR_CANCELLED (the peer said that it ends),
 * ERR_PROTOCOL (said already), ERR_NOMEM, ERR_SYSTEM.
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
	bool resume;  /* -Z */
	bool need_dir; /* the sink's target has to be a directory */
	uint64_t rate_bytes; /* limit, a second; 0: none */
	struct progress *progress; /* borrowed; may be NULL */
	/* A line for people, escaped, without newline; NULL: this is the end
	 * that only tells its peer. */
	void (*say)(void *arg, const char *line);
	void *say_arg;
};

/* The descriptors are borrowed, and block. */
int rcp_new(struct rcp **out, int fd_in, int fd_out,
    const struct rcp_opts *opts) must_check;
void rcp_free(struct rcp *c);
/* Things that went wrong so far, at either end. */
unsigned long rcp_failures(const struct rcp *c);
/* True once the peer has sent a byte. */
bool rcp_heard(const struct rcp *c);

/* The source's role: paths[n], symbolic links followed. */
int rcp_send(struct rcp *c, char *const paths[], int n) must_check;
/* The sink's role. wanted: names that were asked for (rcp_wanted_add());
 * NULL: any. */
int rcp_receive(struct rcp *c, const char *target,
    const struct strlist *wanted) must_check;
/* Between two peers: `from` is a source, `to` is a sink. No -Z. */
int rcp_relay(struct rcp *from, struct rcp *to,
    const struct strlist *wanted) must_check;

#endif
