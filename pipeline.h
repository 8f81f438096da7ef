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

/* A packet in memory, as in cipher.h. Until the job is done nobody moves or
 * touches its bytes. */
struct pipeline_job {
	struct cipher_pos pos;
	uint8_t *pkt;
	uint32_t len;	/* the length field */
	int err;	/* result: 0, ERR_MAC, ... */
	size_t size;	/* for the caller's use: bytes on the wire */
	unsigned where; /* for the caller's use */
};

struct pipeline;

/* Threads are started by pipeline_set_threads(). pipeline_free() waits for the
 * jobs that threads work on, drops all others and wipes the keys. */
struct pipeline *pipeline_new(void (*wake)(void *arg), void *arg); /* or NULL */
void pipeline_free(struct pipeline *pl);
/* Starts so many threads, or fewer if the system gives fewer, and returns how
 * many run. 0 stops all; pending jobs are left to the loop. */
size_t pipeline_set_threads(struct pipeline *pl, size_t threads);
size_t pipeline_threads(const struct pipeline *pl);

/* Sets the keys of a direction, while it has no pending jobs. Arguments are as
 * in cipher_new(), and are copied. */
void pipeline_set_keys(struct pipeline *pl, enum pipeline_dir dir,
    const struct cipher_alg *alg, const struct mac_alg *mac,
    const uint8_t *key, const uint8_t *iv, const uint8_t *mac_key);

/* pipeline_next(): a job to fill in; NULL if too many are pending.
 * pipeline_post(): threads may do that job now. pipeline_kick() wakes the
 * threads; one call is enough for several jobs. */
struct pipeline_job *pipeline_next(struct pipeline *pl,
    enum pipeline_dir dir);
void pipeline_post(struct pipeline *pl, enum pipeline_dir dir);
void pipeline_kick(struct pipeline *pl);

/* pipeline_done(): the oldest job, if it is done; else NULL. Its slot is given
 * back with pipeline_release(). */
const struct pipeline_job *pipeline_done(struct pipeline *pl,
    enum pipeline_dir dir);
void pipeline_release(struct pipeline *pl, enum pipeline_dir dir);
size_t pipeline_pending(const struct pipeline *pl, enum pipeline_dir dir);

/* The loop does one job that no thread has taken; false: there is none. */
bool pipeline_help(struct pipeline *pl, enum pipeline_dir dir);
/* Waits for the oldest job and returns it; NULL if none is pending. */
const struct pipeline_job *pipeline_wait(struct pipeline *pl,
    enum pipeline_dir dir);
/* True: wake() will be called when the oldest job is done. False: that job is
 * done already, or none is pending. */
bool pipeline_arm_wake(struct pipeline *pl, enum pipeline_dir dir);

/* How many threads are worth having on the processors that this process may
 * use; 0 if there is only one processor. */
size_t pipeline_threads_auto(void);

#endif
