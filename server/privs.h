/* SPDX-License-Identifier: ISC */
/*
 * Giving up the superuser's identity, for a while or for ever. Without the
 * superuser's identity to begin with, these only check that the account
 * asked for is the own one.
 *
 * Threads: loop thread only (no other may exist: identities are a process's).
 */
#ifndef HPN_SERVER_PRIVS_H
#define HPN_SERVER_PRIVS_H

#include "base/err.h"
#include "server/user.h"

/* For a while, as for reading the user's files. ERR_DENIED if the process
 * can not act for the user. leave() ends the process when it fails. */
int privs_enter(const struct user *u) must_check;
void privs_leave(void);

/* The supplementary groups, as the system has them for the user. This reads
 * files and loads modules: never below a root directory of the user's. */
void privs_set_groups(const struct user *u);
/* The process becomes the user for ever: gid and uid; verified. System calls
 * only. Fatal on failure. */
void privs_become(const struct user *u);
/* The process gets these ids for ever, with only this one group. Fatal on
 * failure. */
void privs_become_ids(uid_t uid, gid_t gid);

#endif
