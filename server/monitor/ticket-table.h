/* SPDX-License-Identifier: ISC */
/*
 * The tickets that a login has been given and that are not used yet (for the
 * method ticket@hpnssh.org: docs/PROTOCOL.md). A ticket is good once: whoever
 * names it takes it out of the table, whatever comes of that (but see
 * `instead`). The table keeps
 * no secret that a client was sent, but the key that follows from it for this
 * session, user and host key. Pure: the time is a parameter.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_TICKET_TABLE_H
#define HPN_SERVER_MONITOR_TICKET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "conf/server-tickets.h"

enum {
	TICKET_HANDLE_LEN = 16, /* finds the monitor */
	TICKET_SERIAL_LEN = 8,	/* finds the ticket in its table */
	TICKET_NAME_LEN = TICKET_HANDLE_LEN + TICKET_SERIAL_LEN,
	TICKET_SECRET_LEN = 32,
	TICKET_PROOF_LEN = 32,
};

struct ticket {
	uint8_t serial[TICKET_SERIAL_LEN];
	uint8_t key[TICKET_PROOF_LEN];
	uint64_t end_ms;
	char kind;
};

/* Zeroed: empty. Clear with ticket_table_clear(), which wipes it. */
struct ticket_table {
	struct ticket v[SERVER_TICKETS_MAX];
	size_t n;
	/* The one for a connection in place of this one; kind 0: none. It is
	 * good until it is spent: the client may lose the new connection, too,
	 * before it gets the next ticket there. */
	struct ticket instead;
};

/* What a ticket is bound to. */
struct ticket_binding {
	struct span session_id, hostkey;
	const char *user;
};

enum ticket_verdict {
	TICKET_GOOD,
	TICKET_UNKNOWN, /* was used, or never was one */
	TICKET_EXPIRED,
	TICKET_WRONG, /* the proof is not by its secret */
};

/* Makes a ticket that is good until end_ms. serial and secret are for the
 * client; the caller wipes them. Of the kind TICKET_INSTEAD there is one: an
 * older one is gone. ERR_LIMIT: the table is full. */
int ticket_table_mint(struct ticket_table *t, const struct ticket_binding *b,
    char kind, uint64_t end_ms, uint8_t serial[TICKET_SERIAL_LEN],
    uint8_t secret[TICKET_SECRET_LEN]) must_check;
/* Takes a ticket out and compares the proof over data. */
enum ticket_verdict ticket_table_redeem(struct ticket_table *t,
    struct span serial, char kind, struct span data, struct span proof,
    uint64_t now_ms);
/* Takes out the ticket for a connection in place of this one. */
void ticket_table_spend(struct ticket_table *t);
bool ticket_table_has_instead(const struct ticket_table *t, uint64_t now_ms);
/* Takes out those that are over, so that they do not count. */
void ticket_table_expire(struct ticket_table *t, uint64_t now_ms);
/* Takes out those for connections beside this one, which is lost. */
void ticket_table_lose(struct ticket_table *t);
void ticket_table_clear(struct ticket_table *t);

#endif
