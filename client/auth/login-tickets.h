/* SPDX-License-Identifier: ISC */
/*
 * Tickets that a login was given for further connections (ticket@hpnssh.org,
 * docs/PROTOCOL.md). They are in this process's memory only, as keys that are
 * good for one session, user and host key, and are wiped when they are used or
 * over.
 *
 * Threads: any, but one at a time.
 */
#ifndef HPN_CLIENT_AUTH_LOGIN_TICKETS_H
#define HPN_CLIENT_AUTH_LOGIN_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

struct key;

#define LOGIN_TICKETS_REQUEST "tickets@hpnssh.org"
#define LOGIN_TICKET_METHOD "ticket@hpnssh.org"

enum {
	LOGIN_TICKETS_MAX = 32, /* that are kept */
	LOGIN_TICKET_NAME_LEN = 24,
	LOGIN_TICKET_KEY_LEN = 32,
	LOGIN_TICKET_BESIDE = 'p', /* kinds */
	LOGIN_TICKET_INSTEAD = 'r',
	LOGIN_TICKET_GRANT = 'g',
};

struct login_ticket {
	uint8_t name[LOGIN_TICKET_NAME_LEN], key[LOGIN_TICKET_KEY_LEN];
	uint8_t kind;
	uint64_t end_ms;
	/* Of a grant, which another login has given to this process; borrowed.
	 * The key that it is bound to; and the blob of the host's key, the only
	 * one that is taken. */
	const struct key *signer;
	struct span hostkey;
};

/* Zeroed: none. */
struct login_tickets {
	struct login_ticket v[LOGIN_TICKETS_MAX]; /* for connections beside the
						   * one that got them */
	size_t n;
	/* The one for a connection in its place, when it is lost, or a grant.
	 * It stays good
	 * until the new connection has got another one. kind 0: none. */
	struct login_ticket back;
	bool lost; /* the connection that got them is lost */
};

/* What the tickets of a login are bound to. */
struct login_ticket_binding {
	struct span session_id, hostkey;
	const char *user;
};

/* Appends the fields of the request for so many, beside this connection and in
 * place of it. */
void login_tickets_put_request(struct buf *b, uint32_t beside,
    uint32_t instead);
/* Keeps those of a reply that are of a kind that is known, as far as there is
 * room. ERR_FORMAT and errors of struct rd: it is malformed, and none of it is
 * kept. */
int login_tickets_take_reply(struct login_tickets *t,
    const struct login_ticket_binding *b, struct rd r,
    uint64_t now_ms) must_check;
/* How many are good at that time, for connections beside the one that got
 * them. */
size_t login_tickets_count(struct login_tickets *t, uint64_t now_ms);
/* That connection is lost. */
void login_tickets_lose(struct login_tickets *t);
/* Is there one for a connection in its place, if it is lost? */
bool login_tickets_may_return(const struct login_tickets *t, uint64_t now_ms);
/* Takes one out for a connection that begins now, or copies the one in place of
 * a lost connection; false: there is none. The caller wipes it. */
bool login_tickets_take(struct login_tickets *t, uint64_t now_ms,
    struct login_ticket *out);
void login_tickets_clear(struct login_tickets *t);

/* Appends to a request up to its method what a ticket adds, with the proof for
 * this session. */
int login_ticket_put(struct buf *request, const struct login_ticket *t,
    struct span session_id) must_check;

#endif
