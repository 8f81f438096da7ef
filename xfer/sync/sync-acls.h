/* SPDX-License-Identifier: ISC */
/*
 * ACLs by name: maps the ids of users and groups in the ACLs of a set of
 * extended attributes (xfer/xattrs.h) to those of the target.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_ACLS_H
#define HPN_XFER_SYNC_SYNC_ACLS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/wire.h"

struct sync_owners;

/* True if the set has an ACL with ids. */
bool sync_acls_have_ids(struct span set);
/* Sets *out to the set with the target's ids. False: some ids are not known
 * yet; sync_owners_ask() will ask for them. */
bool sync_acls_map(struct sync_owners *o, struct span set, struct buf *out);

#endif
