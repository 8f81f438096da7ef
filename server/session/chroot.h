/* SPDX-License-Identifier: ISC */
/*
 * ChrootDirectory: enters the root directory for a user's sessions.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_CHROOT_H
#define HPN_SERVER_SESSION_CHROOT_H

#include "server/user.h"

/* Makes the directory of the pattern, which may contain the tokens %h %U %u,
 * the root directory. Fatal unless the directory and all directories above it
 * belong to the superuser and only the superuser may write to them. */
void chroot_enter(const char *pattern, const struct user *u);

#endif
