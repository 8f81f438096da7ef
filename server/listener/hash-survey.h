/* SPDX-License-Identifier: ISC */
/*
 * Finds out, once for all connections, by which methods the passwords of this
 * machine's accounts are hashed. A short-lived child of the listener reads
 * /etc/shadow and hashes once by each method to measure its cost. So no line of
 * that file is ever in a process that stays, and the listener does not wait.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_HASH_SURVEY_H
#define HPN_SERVER_LISTENER_HASH_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "server/decoys.h"

struct hash_survey;

/* Gets what the child has found; d is borrowed. NULL: it found out nothing. */
typedef void (*hash_survey_fn)(void *arg, const struct decoys *d);

/* Starts a child at once; found is called when it has ended. Without the
 * superuser's rights the file cannot be read, and there is no child. */
struct hash_survey *hash_survey_new(struct loop *loop, hash_survey_fn found,
    void *arg);
void hash_survey_free(struct hash_survey *s);
/* s may be NULL in these. True until the child that was started has ended: */
bool hash_survey_runs(const struct hash_survey *s);
/* For each connection that comes: starts a child again if the file has changed.
 * Looks at it every few seconds at most. */
void hash_survey_look(struct hash_survey *s, uint64_t now_ms);
/* Fills d for a process with one connection only: waits for the child, which
 * does not measure costs. */
void hash_survey_once(struct decoys *d);

#endif
