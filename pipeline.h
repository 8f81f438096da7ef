/* SPDX-License-Identifier: ISC */
/*
 * Worker threads that encrypt and decrypt packets in place, in any order; the
 * packets are given back in the order in which they were posted. Packets do
 * not depend on each other, because nonce and counter follow from struct
 * cipher_pos.
 *
 * There is a ring of jobs for each direction. The keys of a direction change
 * only when nothing is pending in it. Every thread has cipher contexts of its
 * own, made when it first meets a key. Without threads everything works the
 * same: pipeline_help() and pipeline_wait() do the jobs.
 *
 * The threads end before every fork() and start again in the parent
 * (base/worker.h); a child has none.
 *
 * Threads: loop thread only; the wake function is called by the workers.
 */
#ifndef HPN_PIPELINE_H
#define HPN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cipher.h"

enum pipeline_dir { PIPELINE_ENCRYPT, PIPELINE_DECRYPT };

enum { PIPELINE_SLOTS = 256 }; /* jobs of a direction that may be pending */

/* A packet in memory, as in cipher.h; the memory stays where it is and is not
 * touched by others until the job is done. */
struct pipeline_job {
	struct cipher_pos pos;
	uint8_t *pkt;
	uint32_t len;	/* the length field */
	int err;	/* result: 0, ERR_MAC, ... */
	size_t size;	/* the caller's: bytes on the wire */
	unsigned where; /* the caller's */
};

struct pipeline;

/* Life. Threads start with the first pipeline_threads(). free() waits for the
 * jobs in hand, drops the others and wipes the keys. */
struct pipeline *pipeline_new(void (*wake)(void *arg), void *arg); /* or NULL */
void pipeline_free(struct pipeline *pl);
/* Starts so many threads, or fewer; 0 stops them, and what is pending is left
 * to the loop. Count of those that run. */
size_t pipeline_set_threads(struct pipeline *pl, size_t threads);
size_t pipeline_threads(const struct pipeline *pl);

/* The keys of a direction are set, while nothing is pending. Arguments as in
 * cipher_new(); all are copied. */
void pipeline_set_keys(struct pipeline *pl, enum pipeline_dir dir,
    const struct cipher_alg *alg, const struct mac_alg *mac,
    const uint8_t *key, const uint8_t *iv, const uint8_t *mac_key);

/* next: a job to fill in, NULL if there are too many; post: it may be done
 * now; kick: wakes the threads, once for several jobs. */
struct pipeline_job *pipeline_next(struct pipeline *pl,
    enum pipeline_dir dir);
void pipeline_post(struct pipeline *pl, enum pipeline_dir dir);
void pipeline_kick(struct pipeline *pl);

/* The oldest job if it is done, else NULL; then given back. */
const struct pipeline_job *pipeline_done(struct pipeline *pl,
    enum pipeline_dir dir);
void pipeline_release(struct pipeline *pl, enum pipeline_dir dir);
size_t pipeline_pending(const struct pipeline *pl, enum pipeline_dir dir);

/* The loop does one job that nobody has taken: false if there is none. */
bool pipeline_help(struct pipeline *pl, enum pipeline_dir dir);
/* The oldest job, when it is done; NULL if nothing is pending. */
const struct pipeline_job *pipeline_wait(struct pipeline *pl,
    enum pipeline_dir dir);
/* True: wake() will be called when the oldest job is done. False: it is done,
 * or nothing is pending. */
bool pipeline_arm_wake(struct pipeline *pl, enum pipeline_dir dir);

/* Threads that are worth having on the processors this process may use; 0 on
 * a single one. */
size_t pipeline_threads_auto(void);

#endif
