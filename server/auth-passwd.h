/* SPDX-License-Identifier: ISC */
/*
 * Passwords against the shadow file. Needs the superuser's rights.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_AUTH_PASSWD_H
#define HPN_SERVER_AUTH_PASSWD_H

#include <stdbool.h>

#include "server/user.h"

/* Costs the same for accounts that do not exist or have no password. */
bool passwd_check(const struct user *u, const char *password,
    bool permit_empty);
/* The account is locked by a mark in front of its password. */
bool passwd_is_locked(const struct user *u);
/* The account or its password has expired; *why is static. */
bool passwd_is_expired(const struct user *u, const char **why);

#endif
