/* SPDX-License-Identifier: ISC */
/*
 * Passwords against the shadow file. Needs the superuser's rights.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_AUTH_PASSWD_H
#define HPN_SERVER_AUTH_PASSWD_H

#include <stdbool.h>

#include "base/str.h"
#include "server/user.h"

/* Costs one hash if the user has one, else nothing. */
bool passwd_check(const struct user *u, const char *password,
    bool permit_empty);
/* After a failed check, by passwd_check() or by PAM: does the hashing that
 * makes it cost the same for every user; decoys as of decoy_collect(). */
void passwd_even_out(const struct strlist *decoys, const struct user *u,
    const char *password);
/* The account is locked by a mark in front of its password. */
bool passwd_is_locked(const struct user *u);
/* The account or its password has expired; *why is static. */
bool passwd_is_expired(const struct user *u, const char **why);

#endif
