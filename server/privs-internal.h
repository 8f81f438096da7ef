/* SPDX-License-Identifier: ISC */
/* What privs.c and privs-user.c share. */
#ifndef HPN_SERVER_PRIVS_INTERNAL_H
#define HPN_SERVER_PRIVS_INTERNAL_H

#include "server/privs.h"

/* Ends the process unless uid and gid are its only identity and it cannot get
 * the superuser's back: not by a saved id, and not by a capability that
 * outlived the change. */
void privs_verify_gone(uid_t uid, gid_t gid);

#endif
