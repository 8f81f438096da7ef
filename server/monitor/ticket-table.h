/* SPDX-License-Identifier: ISC */
/*
 * The tickets that were given to a login and are not used yet (for the method
 * ticket@hpnssh.org: docs/PROTOCOL.md). A ticket is good once: naming it takes
 * it out of the table, even if the proof is wrong (but see `instead`). The
 * table holds no secret that was sent to a client, but the key that was derived
 * from it for this session, user and host key. Pure: the time is a parameter.
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
	TICKET_SERIAL_LEN = 8,	/* bytes of the number that finds a ticket in
				 * its table */
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
	/* The ticket for a connection in place of this one; kind 0: none. It
	 * stays good until it is spent, because the client may lose the new
	 * connection, too, before the next ticket has arrived there. */
	struct ticket instead;
};

/* The facts that go into the key of a ticket. */
struct ticket_binding {
	struct span session_id, hostkey;
	const char *user;
};

enum ticket_verdict {
	TICKET_GOOD,
	TICKET_UNKNOWN, /* the ticket was used, or never existed */
	TICKET_EXPIRED,
	TICKET_WRONG, /* the proof was not made with the ticket's secret */
};

/* Makes a ticket that is good until end_ms. serial and secret are for the
 * client; the caller wipes them. There is one ticket of the kind
 * TICKET_INSTEAD: a new one replaces it. ERR_LIMIT: the table is full. */
int ticket_table_mint(struct ticket_table *t, const struct ticket_binding *b,
    char kind, uint64_t end_ms, uint8_t serial[TICKET_SERIAL_LEN],
    uint8_t secret[TICKET_SECRET_LEN]) must_check;
/* Takes a ticket out of the table, and checks the proof over data. */
enum ticket_verdict ticket_table_redeem(struct ticket_table *t,
    struct span serial, char kind, struct span data, struct span proof,
    uint64_t now_ms);
/* Takes out the ticket for a connection in place of this one. */
void ticket_table_spend(struct ticket_table *t);
bool ticket_table_has_instead(const struct ticket_table *t, uint64_t now_ms);
/* Takes out the tickets that have expired, so that they do not count. */
void ticket_table_expire(struct ticket_table *t, uint64_t now_ms);
/* Takes out the tickets for connections beside this one, because this one is
 * lost. */
void ticket_table_lose(struct ticket_table *t);
void ticket_table_clear(struct ticket_table *t);

#endif
