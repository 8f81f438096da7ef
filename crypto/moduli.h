/* SPDX-License-Identifier: ISC */
/*
 * Groups for Diffie-Hellman group exchange (RFC 4419), and the file that holds
 * them. A line has seven fields: time, type, tests, trials, size, generator,
 * modulus. Generator and modulus are hexadecimal. The size is one less than the
 * bits of the modulus.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_MODULI_H
#define HPN_CRYPTO_MODULI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
	MODULI_MAX_BITS = 16384,
	MODULI_MAX_LINE = MODULI_MAX_BITS / 4 + 128, /* bytes */
	MODULI_TYPE_SAFE = 2,		 /* p = 2q + 1 with q prime */
	MODULI_TYPE_SOPHIE_GERMAIN = 4,	 /* the line holds q */
	MODULI_TEST_COMPOSITE = 0x01,	 /* failed: do not use */
	MODULI_TEST_SIEVE = 0x02,	 /* no small divisors */
	MODULI_TEST_MILLER_RABIN = 0x04, /* passed `trials` rounds */
};

/* A line of the file. All zeros: empty. */
struct modulus {
	char time[16];	      /* YYYYMMDDHHMMSS, UTC, NUL-terminated */
	uint32_t type;	      /* MODULI_TYPE_* */
	uint32_t tests;	      /* bits of MODULI_TEST_* */
	uint32_t trials;      /* rounds of Miller-Rabin */
	uint32_t bits;	      /* bits of the prime */
	struct buf prime;     /* owned; big-endian */
	struct buf generator; /* owned; big-endian */
};

void moduli_clear(struct modulus *m);

/* Parses a line into m, in place of what m had; m is empty after an error.
 * ERR_NOT_FOUND: the line is a comment or empty. ERR_FORMAT: it is
 * malformed. */
int moduli_parse(const char *line, struct modulus *m) must_check;
/* Appends m as a line of the file, with a newline. */
int moduli_format(struct buf *out, const struct modulus *m) must_check;
/* Does the line say that its number is a safe prime that was tested? Nothing is
 * computed. */
bool moduli_is_usable(const struct modulus *m);

/*
 * Searches a new safe prime for which 2 generates the large subgroup. This
 * takes seconds (2048 bits) to many minutes (8192 bits). progress is called in
 * between, unless it is NULL; if it returns false, the search ends with
 * ERR_CANCELLED.
 */
int moduli_generate(uint32_t bits, struct modulus *m,
    bool (*progress)(void *arg), void *arg) must_check;
/* Called for each candidate; m is valid during the call only. A result other
 * than 0 ends moduli_candidates(), which returns it. */
typedef int (*moduli_candidate_fn)(void *arg, const struct modulus *m);
/*
 * Finds numbers q that may make safe primes of this many bits (513 or more),
 * and passes them to fn in rising order, as lines of type
 * MODULI_TYPE_SOPHIE_GERMAIN for moduli_screen(): some ten thousands. start is
 * the number to begin with and must have bits - 1 bits (else ERR_ARGUMENT);
 * NULL: a random one.
 */
int moduli_candidates(uint32_t bits, const struct buf *start,
    moduli_candidate_fn fn, void *arg) must_check;
/*
 * Tests a line of type MODULI_TYPE_SAFE or MODULI_TYPE_SOPHIE_GERMAIN. Sets
 * *passed if it makes a safe prime; m then is of type MODULI_TYPE_SAFE, with
 * the generator 2, and usable.
 */
int moduli_screen(struct modulus *m, bool *passed) must_check;

#endif
