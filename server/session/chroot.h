/* SPDX-License-Identifier: ISC */
/*
 * ChrootDirectory: a new root directory for a user's sessions.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_CHROOT_H
#define HPN_SERVER_SESSION_CHROOT_H

#include "server/user.h"

/* pattern: tokens %h %U %u. Fatal unless the directory and all above it
 * belong to the superuser and nobody else may write there. */
void chroot_enter(const char *pattern, const struct user *u);

#endif
