/* SPDX-License-Identifier: ISC */
/* What privs.c and privs-user.c share. */
#ifndef HPN_SERVER_PRIVS_INTERNAL_H
#define HPN_SERVER_PRIVS_INTERNAL_H

#include "server/privs.h"

/* Nothing of the old identity may be left, or be had back: not by what a
 * saved id, or a capability that outlived the change, would allow. Fatal. */
void privs_verify_gone(uid_t uid, gid_t gid);

#endif
