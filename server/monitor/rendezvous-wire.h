/* SPDX-License-Identifier: ISC */
/*
 * Messages between two monitors: the question of a new connection's monitor to
 * the one that has issued a ticket, and the answer. Both monitors are root's,
 * but may be of different releases: the first byte of each message is a
 * version, and a question of another version gets the answer
 * RENDEZVOUS_OTHER_VERSION.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_RENDEZVOUS_WIRE_H
#define HPN_SERVER_MONITOR_RENDEZVOUS_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "server/monitor/ticket-table.h"

enum {
	RENDEZVOUS_VERSION = 1,
	RENDEZVOUS_MESSAGE_MAX = 192 * 1024, /* bytes */
	RENDEZVOUS_PROOFS_MAX = 8, /* methods of a login */
};

/* The question: a ticket to redeem. All is borrowed. */
struct rendezvous_question {
	struct span serial, proof, data; /* data: the bytes that the proof
					  * signs */
	char kind;
	uint32_t uid;
	/* These are about the new connection. */
	struct span user, address, hostkey;
};

enum rendezvous_verdict {
	RENDEZVOUS_GOOD,
	RENDEZVOUS_UNKNOWN,
	RENDEZVOUS_EXPIRED,
	RENDEZVOUS_WRONG,     /* the proof is wrong, or the ticket is bound to
			       * something else */
	RENDEZVOUS_ADDRESS, /* not from this address */
	RENDEZVOUS_TOO_MANY,  /* there are too many connections by tickets of
			       * that login */
	RENDEZVOUS_OTHER_VERSION,
	RENDEZVOUS_VERDICTS,
};

/* A method that was shown in the login, with its key. */
struct rendezvous_proof {
	struct span method; /* name */
	struct span key;    /* blob; empty: there was none */
};

/* The answer. All fields but the verdict are set only if that is
 * RENDEZVOUS_GOOD. All is borrowed. */
struct rendezvous_answer {
	enum rendezvous_verdict verdict;
	uint64_t age_ms; /* milliseconds since the methods were shown */
	uint32_t pid;
	struct rendezvous_proof proofs[RENDEZVOUS_PROOFS_MAX];
	size_t n;
	struct span auth_info; /* lines for ExposeAuthInfo */
	/* Of a grant: its scope (grant.h) and u64 milliseconds that are left.
	 * Empty: the question was about a ticket. */
	struct span scope;
};

void rendezvous_put_question(struct buf *b,
    const struct rendezvous_question *q);
/* Parses a question. ERR_UNSUPPORTED: it is of another version. */
int rendezvous_get_question(struct rd r,
    struct rendezvous_question *q) must_check;
void rendezvous_put_answer(struct buf *b, const struct rendezvous_answer *a);
/* Parses an answer to a question about a grant, or about a ticket. ERR_FORMAT:
 * a good answer about a grant has no scope. A login by it would have all rights
 * of the user. */
int rendezvous_get_answer(struct rd r, bool about_grant,
    struct rendezvous_answer *a) must_check;
/* The text of a verdict for the log. Static. */
const char *rendezvous_verdict_text(enum rendezvous_verdict v);

#endif
