/* SPDX-License-Identifier: ISC */
/*
 * The question that the monitor of a new connection asks of the one whose
 * session its client wants to go on with (resume@hpnssh.org), the answer, and
 * what follows. The question is of version 2 of what is said at a rendezvous
 * (rendezvous-wire.h), so a monitor of a release without it refuses it by
 * words; and since the state of a connection is handed over, it names the
 * release, which has to be the same at both ends.
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

/* What the one that asks sends after a good answer: a byte. */
enum {
	RESUME_ATTACH = 1, /* with a socket, over which the connection comes */
	RESUME_END,	   /* the rules of today do not let the user in */
};

/* All is borrowed. */
struct resume_question {
	uint32_t generation;
	uint64_t received;	/* by the client */
	struct span data, proof; /* data: the request up to the proof */
	uint32_t uid;
	/* Of the new connection. */
	struct span session_id, user, address, hostkey;
	struct span peer; /* "address port n" */
};

/* All behind the verdict only if that is RENDEZVOUS_GOOD. Borrowed. */
struct resume_answer {
	struct rendezvous_answer login; /* what was shown, and the verdict */
	uint64_t received;  /* by the session */
	struct span proof;  /* the server's */
	struct span bounds; /* login_before_bounds() of the session */
};

void resume_put_question(struct buf *b, const struct resume_question *q);
/* ERR_UNSUPPORTED: it is of another version or release. */
int resume_get_question(struct rd r, struct resume_question *q) must_check;
void resume_put_answer(struct buf *b, const struct resume_answer *a);
int resume_get_answer(struct rd r, struct resume_answer *a) must_check;

#endif
