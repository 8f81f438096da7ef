/* SPDX-License-Identifier: ISC */
/*
 * The tickets that a login got for further connections (ticket@hpnssh.org,
 * docs/PROTOCOL.md). They are held in memory only, as keys that work for one
 * session, user and host key, and are wiped when they were used or have
 * expired.
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
	/* For a grant, which another process's login has given to this one;
	 * borrowed. signer: the key that the grant is bound to; hostkey: the
	 * blob of the only host key that is accepted. */
	const struct key *signer;
	struct span hostkey;
};

/* Zeroed: none. */
struct login_tickets {
	struct login_ticket v[LOGIN_TICKETS_MAX]; /* for connections beside the
						   * one that got the tickets */
	size_t n;
	/* A ticket for a connection in the place of this one when it is lost,
	 * or a grant. It stays good until the new connection has got another
	 * one. kind 0: there is none. */
	struct login_ticket back;
	bool lost; /* the connection that got the tickets is lost */
};

/* The facts that go into the keys of a login's tickets. */
struct login_ticket_binding {
	struct span session_id, hostkey;
	const char *user;
};

/* Appends the fields of the request; beside, instead: numbers of tickets for
 * connections beside this one, and in its place. */
void login_tickets_put_request(struct buf *b, uint32_t beside,
    uint32_t instead);
/* Keeps the tickets of a reply whose kind is known, as far as there is room.
 * ERR_FORMAT and errors of struct rd: the reply is malformed, and none is
 * kept. */
int login_tickets_take_reply(struct login_tickets *t,
    const struct login_ticket_binding *b, struct rd r,
    uint64_t now_ms) must_check;
/* The number of tickets that are good at now_ms, for connections beside the
 * one that got them. */
size_t login_tickets_count(struct login_tickets *t, uint64_t now_ms);
/* Notes that the connection that got the tickets is lost. */
void login_tickets_lose(struct login_tickets *t);
/* True if there is a ticket for a connection in the place of a lost one. */
bool login_tickets_may_return(const struct login_tickets *t, uint64_t now_ms);
/* Takes a ticket out for a connection that begins now; once the connection is
 * lost, copies the ticket for its place instead. False: there is none. The
 * caller wipes *out. */
bool login_tickets_take(struct login_tickets *t, uint64_t now_ms,
    struct login_ticket *out);
void login_tickets_clear(struct login_tickets *t);

/* Appends the fields of the method to a request that ends with its name; the
 * proof is for this session. */
int login_ticket_put(struct buf *request, const struct login_ticket *t,
    struct span session_id) must_check;

#endif
