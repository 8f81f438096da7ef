/* SPDX-License-Identifier: ISC */
/*
 * By which methods and at which costs the passwords of this machine's accounts
 * are hashed; no salt or hash of anybody is kept. The listener finds it out
 * (server/listener/hash-survey.h). The monitor of each connection then makes
 * such hashes for tries that would otherwise cost nothing
 * (server/monitor/decoy-hash.h).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_DECOYS_H
#define HPN_SERVER_DECOYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"

/* The setting for crypt() where the system does not say how it hashes new
 * passwords: SHA-512. */
#define DECOY_STANDARD "$6$....$"

enum {
	DECOY_METHODS_MAX = 4, /* that one failed try hashes with */
	DECOY_SETTING_MAX = 384, /* bytes; libcrypt has this limit */
};

/* Whether the password field of an account holds a hash, and not "*", "!" or
 * "x". */
bool decoy_is_hash(const char *field);
/* Returns a setting for crypt() that hashes by the same method and at the same
 * cost as the field, but with a salt of dots. NULL: the field holds no hash.
 * Caller frees. */
char *decoy_setting(const char *field);

struct decoys {
	struct strlist settings; /* for crypt(); empty: not known yet */
	/* CPU time of one hash with each of the settings; 0: unknown */
	uint64_t cost_us[DECOY_METHODS_MAX];
	/* CPU time of the most expensive hash of any account. A refusal is sent
	 * no earlier than after this time. */
	uint64_t dearest_us;
};

/* A setting of a hash, and the number of accounts that have their hash by
 * it. */
struct decoy_use {
	const char *setting;
	uint32_t accounts;
	uint64_t cost_us; /* 0: unknown */
	bool is_first;	  /* the first account that has a password uses it */
};

/* Chooses the settings that every failed try hashes with. The first is that of
 * the account in the middle by cost, or that of the first account if it is
 * cheaper. Further ones are added as long as together they cost no more than
 * half of the first. So one expensive account does not make every stranger's
 * try expensive, and a try hashes at most half more than with OpenSSH, which
 * hashes as the first account does. Without uses the system's method for new
 * passwords is chosen. Pure. */
void decoys_choose(struct decoys *d, const struct decoy_use *uses, size_t n);
void decoys_clear(struct decoys *d);

/* The wire form, for other processes of this server. ERR_LIMIT: too many
 * settings. */
void decoys_export(const struct decoys *d, struct buf *out);
int decoys_import(struct decoys *d, struct rd *in) must_check;

#endif
