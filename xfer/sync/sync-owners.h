/* SPDX-License-Identifier: ISC */
/*
 * Owners by name: which ids the target has for the users and groups of a
 * source. The source's server tells the names of its ids, the target's the ids
 * of these names, many at a time; what was learned is kept. A target's server
 * that cannot do that has its files of accounts read (sync-accounts.h), unless
 * the numbers have the same names there. An id that has no name, or whose name
 * is nobody's at the target, stays the number that it is, and so do all where a
 * server does not answer. 0 is 0 everywhere.
 *
 * Nothing here waits: whoever needs an id asks again when the sessions had
 * their turns.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_OWNERS_H
#define HPN_XFER_SYNC_SYNC_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/owners.h"

struct sftp;
struct sync_owners;

enum {
	/* Users, and groups, of a run. With more of them it ends. */
	SYNC_OWNERS_MAX = 256 * 1024,
};

/* The sessions are borrowed, and may end later than this. NULL: no memory. */
struct sync_owners *sync_owners_new(struct sftp *source, struct sftp *target);
void sync_owners_free(struct sync_owners *o); /* NULL: nothing */

/* *to: the target's id. False: it is not known yet, and will be asked for. */
bool sync_owners_find(struct sync_owners *o, enum owners_kind kind,
    uint32_t id, uint32_t *to);
/* Sends what is to be asked. 0, or ERR_*: no id will be known any more. */
int sync_owners_ask(struct sync_owners *o) must_check;

#endif
