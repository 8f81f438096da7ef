/* SPDX-License-Identifier: ISC */
/*
 * Ids of users and groups by name, for a server that has no request for them:
 * its files /etc/passwd and /etc/group are read over SFTP. Accounts that are in
 * no file, such as those of a directory service, are not found.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_ACCOUNTS_H
#define HPN_XFER_SYNC_SYNC_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/owners.h"

struct sftp;
struct sync_accounts;

/* Reads the two files, and calls done once, at the latest when the session
 * ends. A file that cannot be read counts as empty. NULL: no memory, and done
 * is not called. */
struct sync_accounts *sync_accounts_read(struct sftp *s,
    void (*done)(void *arg), void *arg);
/* Frees a; only after done was called. a may be NULL. */
void sync_accounts_free(struct sync_accounts *a);
/* Finds the number of a user or group by name. False: there is none. */
bool sync_accounts_find(const struct sync_accounts *a, enum owners_kind kind,
    const char *name, uint32_t *id);

#endif
