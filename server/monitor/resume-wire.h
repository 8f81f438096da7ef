/* SPDX-License-Identifier: ISC */
/*
 * Messages between the monitor of a new connection and that of the session with
 * which its client wants to go on (resume@hpnssh.org): question, answer, and
 * what follows. The question is one of version 2 of rendezvous-wire.h, so a
 * monitor of a release that does not know it refuses it in words. The state of
 * a connection is handed over, so the question also names the release, which
 * has to be the same at both ends.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_RESUME_WIRE_H
#define HPN_SERVER_MONITOR_RESUME_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "server/monitor/rendezvous-wire.h"

enum {
	RESUME_VERSION = 2,
	RESUME_BOUNDS_LEN = 32,
};

/* The byte that the asking monitor sends after a good answer. */
enum {
	RESUME_ATTACH = 1, /* take over: the connection comes over the socket
			    * that is sent along */
	RESUME_END,	   /* end the session: today's rules do not let the user
			    * in */
};

/* All is borrowed. */
struct resume_question {
	uint32_t generation;
	uint64_t received;	/* by the client */
	struct span data, proof; /* data: the request up to the proof, which
				  * signs it */
	uint32_t uid;
	/* These are about the new connection. */
	struct span session_id, user, address, hostkey;
	uint32_t port; /* the client's, beside address */
};

/* The answer. All behind the verdict only if that is RENDEZVOUS_GOOD.
 * Borrowed. */
struct resume_answer {
	struct rendezvous_answer login; /* the verdict, and what was shown in
					 * the session's login */
	uint64_t received;  /* by the session */
	struct span proof;  /* the server's */
	struct span bounds; /* login_bounds() of the session */
};

void resume_put_question(struct buf *b, const struct resume_question *q);
/* Parses a question. ERR_UNSUPPORTED: it is of another version or release. */
int resume_get_question(struct rd r, struct resume_question *q) must_check;
void resume_put_answer(struct buf *b, const struct resume_answer *a);
int resume_get_answer(struct rd r, struct resume_answer *a) must_check;

#endif
