/* SPDX-License-Identifier: ISC */
/*
 * One connection from the server to somewhere, tied to descriptors of ours
 * (hpnssh -W): a channel direct-tcpip (RFC 4254 section 7.2), or the like of it
 * for a socket of the system.
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
	struct channels *channels; /* likewise */
	struct forwarded_target target; /* where the server connects to */
	bool quiet; /* who is told of a refusal is not who reads our log */
	void *arg;
	/* The server has connected. May be NULL. */
	void (*opened)(void *arg);
	/* The peer sent EOF, and all its data is written. */
	void (*eof)(void *arg);
	/* The forward ended, or (failed) was never connected; the user was told
	 * why. It is to be freed, but not in this call. */
	void (*ended)(void *arg, bool failed);
};

/* Opens the channel. Nothing is read or written until
 * stdio_forward_attach(). */
int stdio_forward_new(struct stdio_forward **out,
    const struct stdio_forward_params *params) must_check;
/* The descriptors (borrowed) to be tied to the channel when it is open. A first
 * piece of the source may go early. */
void stdio_forward_attach(struct stdio_forward *f, int source, int sink);
void stdio_forward_free(struct stdio_forward *f);

#endif
