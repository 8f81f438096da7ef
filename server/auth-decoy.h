/* SPDX-License-Identifier: ISC */
/*
 * Decoy hashes: a wrong password takes as long for a user who does not
 * exist, or has no password, as for one who has. What the accounts of this
 * machine are hashed with may differ, so each failed try costs one hash by
 * every method that is in use here, whoever it was for.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_AUTH_DECOY_H
#define HPN_SERVER_AUTH_DECOY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

enum {
	DECOY_METHODS_MAX = 4,	   /* that a failed try pays for */
	DECOY_ACCOUNTS_MAX = 4096, /* that are looked at */
};

/* Does a password field hold a hash, and not "*", "!" or "x"? */
bool decoy_is_hash(const char *field);
/* What crypt() takes to hash by the same method at the same cost, with a salt
 * that is nobody's. NULL: the field is no hash. Caller frees. */
char *decoy_setting(const char *field);

/* Settings of the methods in a file like /etc/shadow (NULL: none is there),
 * at least one. Appends. */
void decoy_collect(FILE *shadow, struct strlist *settings);
/* The same from /etc/shadow. */
void decoy_collect_system(struct strlist *settings);

/* Hashes the password with each of the settings but one: that of own, the
 * hash that was compared with before, or if own is of yet another method the
 * first one. own NULL: all. Returns how many hashes were made. */
size_t decoy_spend(const struct strlist *settings, const char *own,
    const char *password);

/* A password of this length that nobody has. Caller frees. */
char *decoy_password(size_t len);

#endif
