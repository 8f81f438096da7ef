/* SPDX-License-Identifier: ISC */
/*
 * Choosing a group for the server in a group exchange (RFC 4419): one of the
 * moduli file or, if none fits, a fixed group.
 */
#include "crypto/kem-group.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "crypto/kem-internal.h"
#include "crypto/moduli.h"
#include "crypto/rand.h"

enum { MODULI_MAX_FILE = 0x800000 }; /* bytes */

/* In ascending order. */
static const struct {
	uint32_t bits;
	BIGNUM *(*prime)(BIGNUM *bn);
} fixed_groups[] = {
	{ DH_OLD_BITS, BN_get_rfc2409_prime_1024 }, /* for group1 only */
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

/* The sizes that the client asked for, in bits. */
struct group_request {
	uint32_t min, want, max;
};

/*
 * True if a group of `bits` is a better choice than one of `best` (0: none
 * yet). A group that is at least as large as wanted is better than one that is
 * not; of two such groups, the one whose size is nearer to that.
 */
static bool
is_better(const struct group_request *w, uint32_t bits, uint32_t best)
{
	if (bits < w->min || bits > w->max)
		return false;
	if (best == 0)
		return true;
	if (bits >= w->want)
		return best < w->want || bits < best;
	return best < w->want && bits > best;
}

/* Chooses at random one of the lines with the best size. best->bits stays 0
 * if no line fits. The newlines in text are overwritten. */
static void
choose_from_text(char *text, const struct group_request *w,
    struct modulus *best)
{
	struct modulus m = { 0 };
	uint32_t equals = 0;
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
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
	moduli_clear(&m);
}

static int
choose_fixed(const struct group_request *w, struct buf *prime,
    struct buf *generator)
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
kem_choose_group_fd(int fd, uint32_t min, uint32_t want, uint32_t max,
    struct buf *prime, struct buf *generator)
{
	struct group_request w = { .min = MAX(min, (uint32_t)DH_MIN_BITS),
		.max = MIN(max, (uint32_t)DH_MAX_BITS) };
	struct modulus best = { 0 };
	struct buf file;
	char *text;
	int r;

	if (w.min > w.max)
		return ERR_NOT_FOUND;
	w.want = MIN(MAX(want, w.min), w.max);
	buf_init(&file);
	/* A file that cannot be read is treated like one that is missing. */
	if (fd >= 0 && fd_read_file(fd, &file, MODULI_MAX_FILE) == 0 &&
	    (text = buf_dup_string(&file)) != NULL) {
		choose_from_text(text, &w, &best);
		free(text);
	}
	buf_clear(&file);
	if (best.bits == 0)
		return choose_fixed(&w, prime, generator);
	buf_put_buf(prime, &best.prime);
	buf_put_buf(generator, &best.generator);
	moduli_clear(&best);
	r = buf_err(prime);
	return r != 0 ? r : buf_err(generator);
}

int
kem_choose_group(const char *path, uint32_t min, uint32_t want, uint32_t max,
    struct buf *prime, struct buf *generator)
{
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int r = kem_choose_group_fd(fd, min, want, max, prime, generator);

	fd_close(&fd);
	return r;
}
