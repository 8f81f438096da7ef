/* SPDX-License-Identifier: ISC */
/*
 * Makes lines of a moduli file: finds new safe primes, and tests candidates. It
 * is not in moduli.c because programs that only read such files do not need it.
 */
#include "crypto/moduli-internal.h"

#include <time.h>

#include "base/mem.h"

enum {
	TRIALS = 64, /* OpenSSL does at least this many rounds for our sizes */
	/* Primes p = 23 mod 24 are searched for. Then q = (p - 1) / 2 is odd
	 * and no multiple of 3, and 2 is a square modulo p, so 2 generates the
	 * subgroup of order q. */
	RESIDUE_MODULUS = 24,
	RESIDUE = 23,
};

static void
put_hex(struct buf *out, const struct buf *number)
{
	const uint8_t *p = buf_data(number);

	for (size_t i = 0; i < buf_len(number); i++)
		buf_printf(out, "%02X", p[i]);
}

int
moduli_format(struct buf *out, const struct modulus *m)
{
	buf_printf(out, "%s %u %u %u %u ", m->time, m->type, m->tests,
	    m->trials, m->bits - 1);
	/* A generator of one byte is written without a leading zero, as other
	 * programs do. */
	if (buf_len(&m->generator) == 1)
		buf_printf(out, "%X", buf_data(&m->generator)[0]);
	else
		put_hex(out, &m->generator);
	buf_put_u8(out, ' ');
	put_hex(out, &m->prime);
	buf_put_u8(out, '\n');
	return buf_err(out);
}

struct watcher {
	bool (*progress)(void *arg);
	void *arg;
	bool stopped;
};

static int
on_candidate(int event, int n, BN_GENCB *cb)
{
	struct watcher *w = BN_GENCB_get_arg(cb);

	(void)event;
	(void)n;
	if (w->progress != NULL && !w->progress(w->arg))
		w->stopped = true;
	return !w->stopped;
}

int
moduli_stamp(struct modulus *m)
{
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL ||
	    strftime(m->time, sizeof m->time, "%Y%m%d%H%M%S", &tm) == 0)
		return ERR_SYSTEM;
	return 0;
}

int
moduli_generate(uint32_t bits, struct modulus *m,
    bool (*progress)(void *arg), void *arg)
{
	struct watcher w = { .progress = progress, .arg = arg };
	BIGNUM *p = BN_new(), *add = BN_new(), *rem = BN_new();
	BN_GENCB *cb = BN_GENCB_new();
	int r = ERR_NOMEM;

	moduli_clear(m);
	if (p == NULL || add == NULL || rem == NULL || cb == NULL ||
	    BN_set_word(add, RESIDUE_MODULUS) != 1 ||
	    BN_set_word(rem, RESIDUE) != 1)
		goto out;
	r = ERR_ARGUMENT;
	if (bits < MODULI_MIN_BITS || bits > MODULI_MAX_BITS)
		goto out;
	BN_GENCB_set(cb, on_candidate, &w);
	r = ERR_CRYPTO;
	if (BN_generate_prime_ex(p, (int)bits, 1, add, rem, cb) != 1) {
		if (w.stopped)
			r = ERR_CANCELLED;
		goto out;
	}
	m->type = MODULI_TYPE_SAFE;
	m->tests = MODULI_TEST_SIEVE | MODULI_TEST_MILLER_RABIN;
	m->trials = TRIALS;
	m->bits = (uint32_t)BN_num_bits(p);
	buf_put_u8(&m->generator, 2);
	r = moduli_put_number(&m->prime, p);
	if (r == 0)
		r = moduli_stamp(m);
out:
	if (r != 0)
		moduli_clear(m);
	BN_GENCB_free(cb);
	BN_free(rem);
	BN_free(add);
	BN_free(p);
	return r;
}

/* Sets p, and q = (p - 1) / 2, from the one of them that the line holds. */
static int
both_primes(const struct modulus *m, BIGNUM *p, BIGNUM *q)
{
	const uint8_t *bytes = buf_data(&m->prime);
	int len = (int)buf_len(&m->prime);
	bool ok;

	if (m->type == MODULI_TYPE_SAFE)
		ok = BN_bin2bn(bytes, len, p) != NULL &&
		    BN_rshift1(q, p) == 1;
	else if (m->type == MODULI_TYPE_SOPHIE_GERMAIN)
		ok = BN_bin2bn(bytes, len, q) != NULL &&
		    BN_lshift1(p, q) == 1 && BN_add_word(p, 1) == 1;
	else
		return ERR_ARGUMENT;
	return ok ? 0 : ERR_NOMEM;
}

int
moduli_screen(struct modulus *m, bool *passed)
{
	BIGNUM *p = BN_new(), *q = BN_new();
	BN_CTX *ctx = BN_CTX_new();
	int r = ERR_NOMEM, prime = 0;

	*passed = false;
	if (p == NULL || q == NULL || ctx == NULL)
		goto out;
	r = both_primes(m, p, q);
	if (r != 0)
		goto out;
	/* q is tested first, because most candidates already fail there. */
	r = ERR_CRYPTO;
	prime = BN_is_odd(p) ? BN_check_prime(q, ctx, NULL) : 0;
	if (prime == 1)
		prime = BN_check_prime(p, ctx, NULL);
	if (prime < 0)
		goto out;
	r = 0;
	if (prime == 0)
		goto out;
	buf_reset(&m->prime);
	buf_reset(&m->generator);
	r = moduli_put_number(&m->prime, p);
	if (r != 0)
		goto out;
	/* Modulo a safe prime, 2 generates at least half of the group. */
	buf_put_u8(&m->generator, 2);
	m->bits = (uint32_t)BN_num_bits(p);
	m->type = MODULI_TYPE_SAFE;
	m->tests |= MODULI_TEST_MILLER_RABIN;
	/* Rounds that somebody did before are added. */
	m->trials = MIN(m->trials, (uint32_t)(INT32_MAX - TRIALS)) + TRIALS;
	*passed = true;
	r = moduli_stamp(m);
out:
	BN_CTX_free(ctx);
	BN_free(q);
	BN_free(p);
	return r;
}
