/* SPDX-License-Identifier: ISC */
/*
 * Decoy hashes: a wrong password takes as long for a user who does not
 * exist, or has no password, as for one who has. What the accounts of this
 * machine are hashed with may differ, so each failed try costs the same
 * number of hashes by the methods that were chosen (server/decoys.h), whoever
 * it was for; time hides the rest.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_DECOY_HASH_H
#define HPN_SERVER_MONITOR_DECOY_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "server/decoys.h"

/* How often the hash in this field was computed, at most max, in what took so
 * much CPU time: pam_unix does it once or twice, other modules not at all. 0
 * if the field (may be NULL) holds none. Where costs are unknown it makes one
 * hash, whatever the field holds. */
unsigned decoys_done(const struct decoys *d, const char *field,
    uint64_t spent_us, unsigned max);
/* Hashes the password so many times by each method, less those that were done
 * by that of the field. Returns how many hashes were made. */
unsigned decoys_spend(const struct decoys *d, const char *field,
    unsigned done, unsigned times, const char *password);

/* How many times longer than CPU time things take on a machine with so many
 * processes that want to run, in percent: 100 at least, 800 at most. Pure. */
unsigned decoy_stretch(double load, long cpus);
/* Before this time no try of a secret is refused, so that nobody's hash shows;
 * times: how often a module computes it. Pure. */
uint64_t decoys_floor_us(const struct decoys *d, unsigned times,
    unsigned stretch);

/* CPU time of this process and of those it has waited for. */
uint64_t decoy_cpu_us(void);

/* A password of this length that nobody has. Caller frees. */
char *decoy_password(size_t len);

#endif
