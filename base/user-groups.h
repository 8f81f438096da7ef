/* SPDX-License-Identifier: ISC */
/*
 * Names of the groups that an account is in, for rules about groups. If the
 * system does not answer, that is an error rather than an empty list, because a
 * rule may be there to keep somebody out.
 *
 * Threads: one at a time.
 */
#ifndef HPN_BASE_USER_GROUPS_H
#define HPN_BASE_USER_GROUPS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* Appends the names of user's groups; gid: the account's own group. A group
 * that has no name is left out. ERR_SYSTEM: the groups are not known, or too
 * many. ERR_NOMEM. */
int user_groups(const char *user, gid_t gid, struct strlist *names) must_check;

#endif
