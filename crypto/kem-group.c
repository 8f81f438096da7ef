/* SPDX-License-Identifier: ISC */
/*
 * The server's choice of a group for RFC 4419: from the moduli file, or one
 * of the fixed ones.
 */
#include "crypto/kem-group.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>

#include "base/buf.h"
#include "base/mem.h"
#include "crypto/kem-impl.h"
#include "crypto/moduli.h"
#include "crypto/rand.h"

/* Ascending. */
static const struct {
	uint32_t bits;
	BIGNUM *(*prime)(BIGNUM *bn);
} fixed_groups[] = {
	{ 2048, BN_get_rfc3526_prime_2048 },
	{ 3072, BN_get_rfc3526_prime_3072 },
	{ 4096, BN_get_rfc3526_prime_4096 },
	{ 6144, BN_get_rfc3526_prime_6144 },
	{ 8192, BN_get_rfc3526_prime_8192 },
};

int
kem_fixed_prime(uint32_t bits, struct buf *prime)
{
	size_t i = 0, len = bits / 8;
	uint8_t *to;
	BIGNUM *p;
	int r = 0;

	while (i < ARRAY_LEN(fixed_groups) && fixed_groups[i].bits != bits)
		i++;
	if (i == ARRAY_LEN(fixed_groups))
		return ERR_NOT_FOUND;
	p = fixed_groups[i].prime(NULL);
	if (p == NULL)
		return ERR_NOMEM;
	to = buf_reserve(prime, len);
	if (to == NULL)
		r = buf_err(prime);
	else if (BN_bn2binpad(p, to, (int)len) != (int)len)
		r = ERR_CRYPTO;
	else
		buf_commit(prime, len);
	BN_free(p);
	return r;
}

/* What the client asked for, in bits. */
struct wish {
	uint32_t min, want, max;
};

/*
 * True if `bits` serves better than `best` (0: none yet): not weaker than
 * wanted comes first, then what is nearest to it.
 */
static bool
is_better(const struct wish *w, uint32_t bits, uint32_t best)
{
	if (bits < w->min || bits > w->max)
		return false;
	if (best == 0)
		return true;
	if (bits >= w->want)
		return best < w->want || bits < best;
	return best < w->want && bits > best;
}

/* Keeps one line of the best size, each with the same chance. best->bits is
 * 0 if there is none. */
static int
choose_from_file(FILE *f, const struct wish *w, struct modulus *best)
{
	struct modulus m = { 0 };
	char line[MODULI_MAX_LINE];
	uint32_t equals = 0;
	int r = 0;

	while (fgets(line, sizeof line, f) != NULL) {
		bool whole = strchr(line, '\n') != NULL || feof(f);

		if (!whole) {
			int c;

			while ((c = getc(f)) != EOF && c != '\n')
				continue;
			continue;
		}
		if (moduli_parse(line, &m) != 0 || !moduli_is_usable(&m))
			continue;
		if (is_better(w, m.bits, best->bits))
			equals = 1;
		else if (best->bits == 0 || m.bits != best->bits ||
		    rand_uniform(++equals) != 0)
			continue;
		moduli_clear(best);
		*best = m;
		m = (struct modulus){ 0 };
	}
	if (ferror(f))
		r = ERR_SYSTEM;
	moduli_clear(&m);
	return r;
}

static int
choose_fixed(const struct wish *w, struct buf *prime, struct buf *generator)
{
	uint32_t best = 0;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(fixed_groups); i++) {
		if (is_better(w, fixed_groups[i].bits, best))
			best = fixed_groups[i].bits;
	}
	if (best == 0)
		return ERR_NOT_FOUND;
	r = kem_fixed_prime(best, prime);
	if (r != 0)
		return r;
	buf_put_u8(generator, 2);
	return buf_err(generator);
}

int
kem_choose_group(const char *path, uint32_t min, uint32_t want, uint32_t max,
    struct buf *prime, struct buf *generator)
{
	struct wish w = { .min = MAX(min, (uint32_t)DH_MIN_BITS),
		.max = MIN(max, (uint32_t)DH_MAX_BITS) };
	struct modulus best = { 0 };
	FILE *f;
	int r = 0;

	if (w.min > w.max)
		return ERR_NOT_FOUND;
	w.want = MIN(MAX(want, w.min), w.max);
	f = path != NULL ? fopen(path, "re") : NULL;
	if (f != NULL) {
		r = choose_from_file(f, &w, &best);
		fclose(f);
	}
	if (r == 0 && best.bits != 0) {
		buf_put_buf(prime, &best.prime);
		buf_put_buf(generator, &best.generator);
		r = buf_err(prime);
		if (r == 0)
			r = buf_err(generator);
	} else {
		r = choose_fixed(&w, prime, generator);
	}
	moduli_clear(&best);
	return r;
}
