/* SPDX-License-Identifier: ISC */
#include "crypto/rand.h"

#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "base/forkid.h"
#include "base/log.h"
#include "base/mem.h"

/* What getentropy() gives at most. A packet needs 4 to 255 bytes of padding,
 * mostly fewer than 20: one system call is enough for many packets. */
enum { PAD_POOL_BYTES = 256 };

static struct {
	unsigned int fork_id; /* fork_id() when the pool was filled */
	size_t used;	      /* bytes already given out */
	uint8_t bytes[PAD_POOL_BYTES];
} pool = { .used = PAD_POOL_BYTES };

void
rand_bytes(void *p, size_t len)
{
	uint8_t *out = p;

	while (len > 0) {
		int n = (int)MIN(len, INT_MAX);

		/* RAND_priv_bytes() has a generator of its own for secrets,
		 * since keys are made from these bytes. */
		if (RAND_priv_bytes(out, n) != 1)
			fatal("no random numbers to be had");
		out += n;
		len -= (size_t)n;
	}
}

/* From the system: a process that needs no other random bytes, as the user's on
 * the server, then never sets up the generators of the library. The library
 * knows more ways to get some where a system lacks this call. */
static void
refill_pool(unsigned int id)
{
	if (getentropy(pool.bytes, sizeof pool.bytes) == -1 &&
	    RAND_bytes(pool.bytes, sizeof pool.bytes) != 1)
		fatal("no random numbers to be had");
	pool.fork_id = id;
	pool.used = 0;
}

void
rand_pad(void *p, size_t len)
{
	unsigned int id = fork_id();
	uint8_t *out = p;

	while (len > 0) {
		size_t n;

		if (pool.used == sizeof pool.bytes || pool.fork_id != id)
			refill_pool(id);
		n = MIN(len, sizeof pool.bytes - pool.used);
		memcpy(out, pool.bytes + pool.used, n);
		pool.used += n;
		out += n;
		len -= n;
	}
}

uint32_t
rand_uniform(uint32_t bound)
{
	uint32_t skip, v;

	if (bound < 2)
		return 0;
	/* The lowest 2^32 mod bound numbers are skipped, so that the count of
	 * those that remain is a multiple of bound. */
	skip = -bound % bound;
	do
		rand_bytes(&v, sizeof v);
	while (v < skip);
	return v % bound;
}
