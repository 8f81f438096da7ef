/* SPDX-License-Identifier: ISC */
/*
 * The keys that the agent holds, in the order in which they came. A key and a
 * certificate for it are two entries; what comes once more takes the place of
 * what was there. Their number and what they need is bounded: a list of all of
 * them fits into one message.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_IDENTITIES_H
#define HPN_AGENT_IDENTITIES_H

#include "agent/destinations.h"
#include "agent/signer.h"
#include "agent/shield.h"
#include "base/loop.h"

enum {
	IDENTITIES_MAX = AGENT_KEYS_MAX,
	/* Bytes of the messages by which all identities were added, in sum. */
	IDENTITIES_COST_MAX = 16 * 1024 * 1024,
};

struct identity {
	uint64_t serial; /* a new number for each identity that is added */
	struct key *key; /* without its private half */
	struct buf blob;
	char *comment;
	struct buf secret; /* sealed private key; empty: a signer has it */
	/* functions of the signer; NULL: the identity has no signer */
	const struct signer_ops *ops;
	void *signer; /* owned; ends with ops->release() */
	char *application; /* application of a FIDO key; else NULL */
	char *provider;	   /* library that the key came from; else NULL */
	bool confirm;
	uint64_t expires_ms; /* clock_boot_ms(); 0: never */
	struct destinations destinations;
	size_t cost; /* bytes of the message by which it was added */
	struct identity *next;
};

struct identities;

int identities_new(struct identities **out, struct loop *loop) must_check;
void identities_free(struct identities *t);

/* Makes an identity of k's public half. All fields but key and blob are
 * zero. */
int identity_new(const struct key *k, struct identity **out) must_check;
void identity_free(struct identity *id);

/* Adds id, which the table owns from now on, also after an error. ERR_LIMIT:
 * there is no room for it. */
int identities_add(struct identities *t, struct identity *id) must_check;
/* The identity with this blob; NULL: there is none, or it has expired. */
struct identity *identities_find(struct identities *t, struct span blob);
struct identity *identities_first(struct identities *t); /* and id->next */
void identities_remove(struct identities *t, struct identity *id);
/* Removes all identities of a provider. Returns how many there were. */
size_t identities_remove_provider(struct identities *t, const char *provider);
void identities_remove_all(struct identities *t);

#endif
