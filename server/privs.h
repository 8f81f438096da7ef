/* SPDX-License-Identifier: ISC */
/*
 * Giving up the superuser's identity, for a while or for ever. In a process
 * that has not the superuser's identity, these functions only check that the
 * account asked for is the process's own.
 *
 * Threads: loop thread only. No other thread may exist, because an identity is
 * that of the whole process.
 */
#ifndef HPN_SERVER_PRIVS_H
#define HPN_SERVER_PRIVS_H

#include "base/err.h"
#include "server/user.h"

/* The process acts for the user until privs_leave(), for example to read the
 * user's files. ERR_DENIED: the process cannot act for this user. privs_leave()
 * ends the process when it fails. */
int privs_enter(const struct user *u) must_check;
void privs_leave(void);

/* Sets the supplementary groups that the system has for the user. This reads
 * files and loads modules, so it must not be called after chroot() to a
 * directory that the user may write to. */
void privs_set_groups(const struct user *u);
/* The process takes the user's gid and uid for ever, and verifies it. Makes
 * only system calls. Fatal on failure. */
void privs_become(const struct user *u);
/* The process takes these ids for ever, with gid as the only group. Fatal on
 * failure. */
void privs_become_ids(uid_t uid, gid_t gid);

#endif
