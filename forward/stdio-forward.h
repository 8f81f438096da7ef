/* SPDX-License-Identifier: ISC */
/*
 * One connection that the server makes to a host or path, tied to descriptors
 * of ours (hpnssh -W): a channel direct-tcpip (RFC 4254 section 7.2), or
 * direct-streamlocal@openssh.com for a path.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_FORWARD_STDIO_FORWARD_H
#define HPN_FORWARD_STDIO_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "channels.h"
#include "forward/forwarded.h"

struct stdio_forward;

struct stdio_forward_params {
	struct loop *loop;	   /* borrowed */
	struct channels *channels; /* borrowed */
	struct forwarded_target target; /* where the server connects to */
	/* Log a refusal for debugging only, because it is reported elsewhere:
	 * to a mux client. */
	bool quiet;
	void *arg;
	/* The server has connected to the target. May be NULL. */
	void (*opened)(void *arg);
	/* The peer sent EOF, and all its data is written. */
	void (*eof)(void *arg);
	/* The forward has ended. failed: the channel was refused, and the
	 * reason was logged. The forward is to be freed, but not within this
	 * call. */
	void (*ended)(void *arg, bool failed);
};

/* Opens the channel to the target. Nothing is read or written before
 * stdio_forward_attach() is called. */
int stdio_forward_new(struct stdio_forward **out,
    const struct stdio_forward_params *params) must_check;
/* Gives the descriptors that are tied to the channel when it is open; they are
 * borrowed. A first piece of source may be sent earlier (early-data.h). */
void stdio_forward_attach(struct stdio_forward *f, int source, int sink);
void stdio_forward_free(struct stdio_forward *f);

#endif
