/* SPDX-License-Identifier: ISC */
/*
 * Decoy hashes: a wrong password takes as long for a user who does not
 * exist, or has no password, as for one who has. What the accounts of this
 * machine are hashed with may differ, so each failed try costs the same
 * number of hashes by every method that is in use here, whoever it was for.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_AUTH_DECOY_H
#define HPN_SERVER_MONITOR_AUTH_DECOY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* The methods in use, in the order they were found; at least one. Zeroed: not
 * looked for yet. */
struct decoys {
	struct strlist settings;
	uint64_t cost_us[DECOY_METHODS_MAX]; /* CPU time of one hash */
};

/* From a file like /etc/shadow (NULL: there is none). Hashes once by each
 * method, to know its cost. */
void decoys_load(struct decoys *d, FILE *shadow);
/* The same from /etc/shadow. */
void decoys_load_system(struct decoys *d);
void decoys_clear(struct decoys *d);

/* How often the hash in this field was computed, at most max, in what took so
 * much CPU time: pam_unix does it once or twice, other modules not at all. 0
 * if the field (may be NULL) holds none. */
unsigned decoys_done(const struct decoys *d, const char *field,
    uint64_t spent_us, unsigned max);
/* Hashes the password so many times by each method, less those that were done
 * by that of the field. Returns how many hashes were made. */
unsigned decoys_spend(const struct decoys *d, const char *field,
    unsigned done, unsigned times, const char *password);

/* CPU time of this process and of those it has waited for. */
uint64_t decoy_cpu_us(void);

/* A password of this length that nobody has. Caller frees. */
char *decoy_password(size_t len);

#endif
