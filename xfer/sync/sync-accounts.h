/* SPDX-License-Identifier: ISC */
/*
 * Ids of users and groups by name at a server that looks up none: as its files
 * /etc/passwd and /etc/group have them, read over SFTP. Accounts that are not
 * in files are not found.
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

/* Reads the files; done is called once, at the end of the session at the
 * latest. A file that cannot be read has no accounts. NULL: no memory, and done
 * is not called. */
struct sync_accounts *sync_accounts_read(struct sftp *s,
    void (*done)(void *arg), void *arg);
/* sync_accounts_free() is called after done was; a NULL is ignored. */
void sync_accounts_free(struct sync_accounts *a);
/* Finds the number of a user or group by name. False: there is none. */
bool sync_accounts_find(const struct sync_accounts *a, enum owners_kind kind,
    const char *name, uint32_t *id);

#endif
