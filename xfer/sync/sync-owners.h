/* SPDX-License-Identifier: ISC */
/*
 * Owners by name: finds the target's ids for the users and groups of a source.
 * The source's server tells the names of ids, the target's server the ids of
 * these names, many at a time; answers are kept. At a target's server without
 * such a request the names of the same numbers are compared, and where they
 * differ its files of accounts are read (sync-accounts.h). An id without a
 * name, or whose name does not exist at the target, stays the same number; so
 * do all ids where a server does not answer. 0 stays 0.
 *
 * No function here waits: a caller that needs an id asks again when the
 * sessions had their turns.
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
	/* Limit of users, and of groups, of a run; a run with more of them
	 * ends. */
	SYNC_OWNERS_MAX = 256 * 1024,
};

/* The sessions are borrowed; the object may be freed before they end. NULL: no
 * memory. */
struct sync_owners *sync_owners_new(struct sftp *source, struct sftp *target);
void sync_owners_free(struct sync_owners *o); /* NULL: nothing */

/* Sets *to to the target's id. False: it is not known yet; the next
 * sync_owners_ask() asks for it. */
bool sync_owners_find(struct sync_owners *o, enum owners_kind kind,
    uint32_t id, uint32_t *to);
/* Sends the requests that were noted. 0, or ERR_*: no id will be known any
 * more. */
int sync_owners_ask(struct sync_owners *o) must_check;

#endif
