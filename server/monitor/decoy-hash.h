/* SPDX-License-Identifier: ISC */
/*
 * Decoy hashes: a wrong password takes as long for a user who does not exist,
 * or has no password, as for one who has a password. Accounts of this machine
 * may be hashed by different methods. So each failed try makes the same number
 * of hashes by each of the chosen methods (server/decoys.h), whoever it was
 * for. What differences remain are hidden by the time at which a refusal is
 * sent.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_DECOY_HASH_H
#define HPN_SERVER_MONITOR_DECOY_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "server/decoys.h"

/* Returns how often a module has computed the hash in the password field,
 * guessed from the CPU time that it took; at most max. (pam_unix does it once
 * or more, other modules not at all.) 0: field is NULL or holds no hash. If no
 * cost was measured yet, this function makes one hash to measure it, also for a
 * user without a hash. */
unsigned decoys_done(const struct decoys *d, const char *field,
    uint64_t spent_us, unsigned max);
/* Hashes the password `times` times by each method. done: how many of these
 * were already made by the method of the field. Returns how many hashes it
 * made. */
unsigned decoys_spend(const struct decoys *d, const char *field,
    unsigned done, unsigned times, const char *password);

/* How much longer than its CPU time a hash takes on a machine with so many
 * processes that want to run (load): in percent, from 100 to 800. Pure. */
unsigned decoy_stretch(double load, long cpus);
/* Microseconds after which a wrong secret may be refused at the earliest, so
 * that the time does not show whose hash is expensive. times: how often a
 * module computes the hash. stretch: of decoy_stretch(). Pure. */
uint64_t decoys_floor_us(const struct decoys *d, unsigned times,
    unsigned stretch);

/* CPU time, in microseconds, of this process and of the children that it has
 * waited for. */
uint64_t decoy_cpu_us(void);

/* Returns a password of len characters that nobody has. Caller frees. */
char *decoy_password(size_t len);

#endif
