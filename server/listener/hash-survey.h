/* SPDX-License-Identifier: ISC */
/*
 * How this machine's accounts are hashed, found out once for all connections.
 * A short-lived child of the listener reads /etc/shadow and hashes once by each
 * method to know its cost, so no line of that file is ever in a process that
 * stays, and nobody waits for it.
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

/* What a child has found; borrowed. */
typedef void (*hash_survey_fn)(void *arg, const struct decoys *d);

/* Begins at once. Accounts that are not the superuser's to read are nobody's:
 * found is not called then. */
struct hash_survey *hash_survey_new(struct loop *loop, hash_survey_fn found,
    void *arg);
void hash_survey_free(struct hash_survey *s);
/* A connection has come: looks, every few seconds at most, whether the file has
 * changed. */
void hash_survey_look(struct hash_survey *s, uint64_t now_ms);
/* The same for one connection, without knowing costs; waits for the child. */
void hash_survey_once(struct decoys *d);

#endif
