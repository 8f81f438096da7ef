/* SPDX-License-Identifier: ISC */
/*
 * Groups for Diffie-Hellman group exchange (RFC 4419), and their file: a line
 * has seven fields, time type tests trials size generator modulus; the last
 * two in hexadecimal, the size being that of the modulus less one bit.
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
	MODULI_TYPE_SOPHIE_GERMAIN = 4,	 /* q itself */
	MODULI_TEST_COMPOSITE = 0x01,	 /* failed: do not use */
	MODULI_TEST_SIEVE = 0x02,	 /* no small divisors */
	MODULI_TEST_MILLER_RABIN = 0x04, /* passed `trials` rounds */
};

/* Zeroed = empty. */
struct modulus {
	char time[16];	      /* YYYYMMDDHHMMSS, UTC, NUL-terminated */
	uint32_t type;	      /* MODULI_TYPE_* */
	uint32_t tests;	      /* bits of MODULI_TEST_* */
	uint32_t trials;      /* rounds of the test */
	uint32_t bits;	      /* of the prime */
	struct buf prime;     /* owned; big-endian */
	struct buf generator; /* owned; big-endian */
};

void moduli_clear(struct modulus *m);

/* m's content is replaced; it is empty after an error. ERR_NOT_FOUND for a
 * comment or an empty line, ERR_FORMAT for a bad one. */
int moduli_parse(const char *line, struct modulus *m) must_check;
/* Appends a line with its newline. */
int moduli_format(struct buf *out, const struct modulus *m) must_check;
/* True if the line claims a tested safe prime (nothing is computed). */
bool moduli_is_usable(const struct modulus *m);

/*
 * A new safe prime for which 2 generates the large subgroup. Takes seconds
 * (2048 bits) to many minutes (8192). progress may be NULL; if it returns
 * false the work stops with ERR_CANCELLED.
 */
int moduli_generate(uint32_t bits, struct modulus *m,
    bool (*progress)(void *arg), void *arg) must_check;
/* m is of the callee. Stops when it returns a value other than 0, which
 * moduli_candidates() returns. */
typedef int (*moduli_candidate_fn)(void *arg, const struct modulus *m);
/*
 * Lines of type MODULI_TYPE_SOPHIE_GERMAIN that may give safe primes of so many
 * bits, 513 or more, for moduli_screen(): some ten thousands, in rising order.
 * start NULL: from a random number on; else from this one, of bits - 1 bits
 * (ERR_ARGUMENT).
 */
int moduli_candidates(uint32_t bits, const struct buf *start,
    moduli_candidate_fn fn, void *arg) must_check;
/*
 * Tests a line of either type. *passed tells whether it gives a safe prime;
 * then m is a usable line of type MODULI_TYPE_SAFE with the generator 2.
 */
int moduli_screen(struct modulus *m, bool *passed) must_check;

#endif
