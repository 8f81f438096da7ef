/* SPDX-License-Identifier: ISC */
/*
 * How the passwords of this machine's accounts are hashed: methods and costs,
 * without a salt or a hash of anybody. The listener finds it out, and each
 * connection's monitor hashes by it where a try would otherwise cost nothing
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

/* Where the system does not say what new passwords are hashed with. */
#define DECOY_STANDARD "$6$....$"

enum {
	DECOY_METHODS_MAX = 4, /* that a failed try pays for */
	DECOY_SETTING_MAX = 384, /* bytes; libcrypt has this limit */
};

/* Does a password field hold a hash, and not "*", "!" or "x"? */
bool decoy_is_hash(const char *field);
/* What crypt() takes to hash by the same method at the same cost, with a salt
 * that is nobody's. NULL: the field is no hash. Caller frees. */
char *decoy_setting(const char *field);

struct decoys {
	struct strlist settings; /* at least one; none: not known yet */
	/* CPU time of a hash of each; 0: unknown */
	uint64_t cost_us[DECOY_METHODS_MAX];
	/* Of the dearest hash of any account: no refusal comes earlier. */
	uint64_t dearest_us;
};

/* What accounts use. */
struct decoy_use {
	const char *setting;
	uint32_t accounts;
	uint64_t cost_us; /* 0: unknown */
	bool is_first;	  /* the first account that has a password uses it */
};

/* Every failed try pays for the method of the account in the middle, or for
 * that of the first account if it is cheaper, and for others as long as they
 * cost no more than half of that together. So one dear account, first or last,
 * does not make every stranger's try dear, and a try costs at most half more
 * hashing than with stock, which hashes as the first account does. Pure. */
void decoys_choose(struct decoys *d, const struct decoy_use *uses, size_t n);
void decoys_clear(struct decoys *d);

/* To processes of our own. */
void decoys_export(const struct decoys *d, struct buf *out);
int decoys_import(struct decoys *d, struct rd *in) must_check;

#endif
