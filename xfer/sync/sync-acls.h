/* SPDX-License-Identifier: ISC */
/*
 * ACLs by name: the ids of users and groups in those of a set of extended
 * attributes (xfer/xattrs.h) become the target's.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_ACLS_H
#define HPN_XFER_SYNC_SYNC_ACLS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/wire.h"

struct sync_owners;

/* Has the set ACLs with ids? */
bool sync_acls_have_ids(struct span set);
/* Sets *out to the set with the target's ids. False: some of them are not known
 * yet, and are noted as to be asked for. */
bool sync_acls_map(struct sync_owners *o, struct span set, struct buf *out);

#endif
