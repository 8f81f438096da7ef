/* SPDX-License-Identifier: ISC */
/*
 * The grants that a login has given (grant.h). Each is bound to a key, by which
 * its owner proves to be the one, and is found by a serial number, as tickets
 * are. Pure: the time is a parameter.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_GRANT_TABLE_H
#define HPN_SERVER_MONITOR_GRANT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "server/grant.h"
#include "server/monitor/rendezvous-wire.h"

/* A client's request for a grant. */
struct grant_request {
	struct span key;	  /* public blob, borrowed */
	struct grant_scope scope; /* owned */
	uint32_t connections;	  /* by the grant, altogether */
	uint32_t begin_s;	  /* seconds within which the first connection
				   * must come */
	uint32_t life_s;	  /* and all end then */
	char *address;		  /* owned; empty: from any */
};

struct grant_limits {
	uint64_t bytes, files, deletes; /* UINT64_MAX: any */
};

struct grant {
	uint8_t serial[TICKET_SERIAL_LEN];
	struct buf key; /* public blob */
	struct grant_scope scope; /* with the numbers that are left */
	struct grant_limits part; /* of the connection that was let in last */
	char *address;
	uint32_t connections; /* connections that may still be made */
	uint64_t begin_ms;    /* end of the time for the first connection; 0: it
			       * has come */
	uint64_t end_ms;
};

/* Zeroed: empty. Clear with grant_table_clear(). */
struct grant_table {
	struct grant v[GRANTS_MAX];
	size_t n;
};

/* Reads the fields of a request behind its version. ERR_FORMAT, and errors of
 * struct rd. The caller clears q also after an error. */
int grant_request_get(struct rd *r, struct grant_request *q) must_check;
void grant_request_clear(struct grant_request *q);
/* True if the key and all numbers are allowed for a grant. */
bool grant_request_fits(const struct grant_request *q);

/* Makes a grant; the client gets the serial. ERR_LIMIT: the table is full. */
int grant_table_mint(struct grant_table *t, const struct grant_request *q,
    uint64_t now_ms, uint8_t serial[TICKET_SERIAL_LEN]) must_check;
/* Uses a grant for one connection, if proof is the key's signature over data. A
 * wrong proof ends the grant. *g is borrowed until the table changes. */
enum rendezvous_verdict grant_table_redeem(struct grant_table *t,
    struct span serial, struct span data, struct span proof,
    struct span address, uint64_t now_ms, const struct grant **g);
/* Ends a grant, if it is there. */
void grant_table_end(struct grant_table *t, struct span serial);
void grant_table_clear(struct grant_table *t);

#endif
