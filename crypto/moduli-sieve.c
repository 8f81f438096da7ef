/* SPDX-License-Identifier: ISC */
/*
 * DESIGN
 * Searches candidates for safe primes: numbers q such that neither q nor 2q + 1
 * has a small divisor; p is 2q + 1. A window of odd numbers from a random one
 * on is sieved at once, with one bit for each number. Each small prime s
 * strikes out the q that it divides, and the q for which it divides p.
 * moduli_screen() then finds out which of the remaining q make a safe prime,
 * which takes long.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "crypto/moduli-internal.h"

enum {
	WINDOW = 1 << 24,     /* odd numbers in the window */
	SMALL_PRIMES = 1 << 20, /* divisors up to this are tried */
};

/* A field of n bits, all clear. A set bit means that its number is struck out.
 * The caller frees it. */
static uint8_t *
bits_new(size_t n)
{
	return calloc(n / 8, 1);
}

static bool
is_struck(const uint8_t *bits, size_t i)
{
	return (bits[i / 8] >> (i % 8) & 1) != 0;
}

static void
strike(uint8_t *bits, size_t from, size_t step, size_t n)
{
	for (size_t i = from; i < n; i += step)
		bits[i / 8] |= (uint8_t)(1 << (i % 8));
}

/* A field of bits in which bit i is clear if i is a prime (from 2 on). NULL:
 * memory is out. The caller frees it. */
static uint8_t *
small_primes(void)
{
	uint8_t *bits = bits_new(SMALL_PRIMES);

	for (size_t i = 2; bits != NULL && i * i < SMALL_PRIMES; i++)
		if (!is_struck(bits, i))
			strike(bits, i * i, i, SMALL_PRIMES);
	return bits;
}

/*
 * Strikes out the q of the window for which s divides q or 2q + 1. These have
 * the remainder 0 or (s - 1) / 2 modulo s. Bit i stands for first + 2i, so i is
 * half of the distance, modulo s, from the remainder of first to the wanted
 * one.
 */
static void
strike_prime(uint8_t *window, const BIGNUM *first, size_t s)
{
	size_t here = (size_t)BN_mod_word(first, s);
	const size_t targets[] = { 0, (s - 1) / 2 };

	for (size_t t = 0; t < ARRAY_LEN(targets); t++) {
		size_t way = (targets[t] + s - here) % s;

		strike(window, way % 2 == 0 ? way / 2 : (way + s) / 2, s,
		    WINDOW);
	}
}

/* Sets first to the first number of the window: odd, with bits - 1 bits. */
static int
choose_first(uint32_t bits, const struct buf *start, BIGNUM *first)
{
	if (start == NULL)
		return BN_rand(first, (int)bits - 1, BN_RAND_TOP_ONE,
			   BN_RAND_BOTTOM_ODD) == 1 ? 0 : ERR_CRYPTO;
	if (BN_bin2bn(buf_data(start), (int)buf_len(start), first) == NULL)
		return ERR_NOMEM;
	if ((uint32_t)BN_num_bits(first) != bits - 1)
		return ERR_ARGUMENT;
	if (!BN_is_odd(first) && BN_add_word(first, 1) != 1)
		return ERR_CRYPTO;
	return 0;
}

static int
give(const BIGNUM *first, const uint8_t *window, moduli_candidate_fn fn,
    void *arg)
{
	BIGNUM *q = BN_dup(first);
	struct modulus m = { .type = MODULI_TYPE_SOPHIE_GERMAIN,
		.tests = MODULI_TEST_SIEVE };
	int r = q != NULL ? 0 : ERR_NOMEM;
	int bits = BN_num_bits(first);

	buf_put_u8(&m.generator, 0);
	if (r == 0)
		r = moduli_stamp(&m);
	for (size_t i = 0; r == 0 && i < WINDOW; i++) {
		if (is_struck(window, i))
			continue;
		if (BN_copy(q, first) == NULL || BN_add_word(q, 2 * i) != 1) {
			r = ERR_CRYPTO;
			break;
		}
		if (BN_num_bits(q) != bits)
			break;
		m.bits = (uint32_t)bits;
		buf_reset(&m.prime);
		r = moduli_put_number(&m.prime, q);
		if (r == 0)
			r = fn(arg, &m);
	}
	moduli_clear(&m);
	BN_free(q);
	return r;
}

int
moduli_candidates(uint32_t bits, const struct buf *start,
    moduli_candidate_fn fn, void *arg)
{
	uint8_t *primes, *window;
	BIGNUM *first = BN_new();
	int r = ERR_ARGUMENT;

	if (bits <= MODULI_MIN_BITS || bits > MODULI_MAX_BITS) {
		BN_free(first);
		return r;
	}
	primes = small_primes();
	window = bits_new(WINDOW);
	r = first != NULL && primes != NULL && window != NULL ?
	    choose_first(bits, start, first) :
	    ERR_NOMEM;
	for (size_t s = 3; r == 0 && s < SMALL_PRIMES; s += 2)
		if (!is_struck(primes, s))
			strike_prime(window, first, s);
	if (r == 0)
		r = give(first, window, fn, arg);
	free(window);
	free(primes);
	BN_free(first);
	return r;
}
