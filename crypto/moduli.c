/* SPDX-License-Identifier: ISC */
#include "crypto/moduli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/bn.h>

#include "base/mem.h"

enum {
	FIELDS = 7,
	TIME_LEN = 14,
	MIN_BITS = 512,	 /* anything less is a typing error */
	TRIALS = 64,	 /* rounds that OpenSSL does at least at these sizes */
	/* p = 23 mod 24: then q = (p - 1) / 2 is odd and no multiple of 3,
	 * and 2 is a square, so it generates the subgroup of order q. */
	RESIDUE_MODULUS = 24,
	RESIDUE = 23,
};

void
moduli_clear(struct modulus *m)
{
	buf_clear(&m->prime);
	buf_clear(&m->generator);
	*m = (struct modulus){ 0 };
}

/* ---- lines ---- */

static int
get_number(const char *s, uint32_t max, uint32_t *out)
{
	const char *error = NULL;

	*out = (uint32_t)strtonum(s, 0, max, &error);
	return error == NULL ? 0 : ERR_FORMAT;
}

static int
put_bytes(struct buf *out, const BIGNUM *v)
{
	size_t len = (size_t)BN_num_bytes(v);
	uint8_t *to = buf_reserve(out, len);

	if (to == NULL)
		return buf_err(out);
	BN_bn2bin(v, to);
	buf_commit(out, len);
	return 0;
}

/* A hexadecimal number as bytes; *bits may be NULL. */
static int
get_hex(const char *s, struct buf *out, uint32_t *bits)
{
	BIGNUM *v = NULL;
	int r;

	if (s[0] == '\0' || s[strspn(s, "0123456789abcdefABCDEF")] != '\0')
		return ERR_FORMAT;
	if (BN_hex2bn(&v, s) == 0)
		return ERR_NOMEM;
	if (bits != NULL)
		*bits = (uint32_t)BN_num_bits(v);
	r = put_bytes(out, v);
	BN_free(v);
	return r;
}

static int
parse_fields(char *field[FIELDS], struct modulus *m)
{
	uint32_t size, bits = 0;
	int r;

	if (strlen(field[0]) != TIME_LEN ||
	    strspn(field[0], "0123456789") != TIME_LEN)
		return ERR_FORMAT;
	memcpy(m->time, field[0], TIME_LEN + 1);
	if (get_number(field[1], 5, &m->type) != 0 ||
	    get_number(field[2], 31, &m->tests) != 0 ||
	    get_number(field[3], INT32_MAX, &m->trials) != 0 ||
	    get_number(field[4], MODULI_MAX_BITS, &size) != 0)
		return ERR_FORMAT;
	r = get_hex(field[5], &m->generator, NULL);
	if (r == 0)
		r = get_hex(field[6], &m->prime, &bits);
	if (r == 0 && (bits != size + 1 || bits < MIN_BITS))
		r = ERR_FORMAT;
	m->bits = bits;
	return r;
}

int
moduli_parse(const char *line, struct modulus *m)
{
	char copy[MODULI_MAX_LINE], *field[FIELDS], *rest = copy, *word;
	size_t n = 0;
	int r;

	moduli_clear(m);
	line += strspn(line, " \t");
	if (*line == '#' || *line == '\n' || *line == '\0')
		return ERR_NOT_FOUND;
	if (strlcpy(copy, line, sizeof copy) >= sizeof copy)
		return ERR_LIMIT;
	copy[strcspn(copy, "\r\n")] = '\0';
	while ((word = strsep(&rest, " \t")) != NULL) {
		if (*word == '\0')
			continue;
		if (n == FIELDS)
			return ERR_FORMAT;
		field[n++] = word;
	}
	r = n == FIELDS ? parse_fields(field, m) : ERR_FORMAT;
	if (r != 0)
		moduli_clear(m);
	return r;
}

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
	/* The customary form of a generator has no leading zero. */
	if (buf_len(&m->generator) == 1)
		buf_printf(out, "%X", buf_data(&m->generator)[0]);
	else
		put_hex(out, &m->generator);
	buf_put_u8(out, ' ');
	put_hex(out, &m->prime);
	buf_put_u8(out, '\n');
	return buf_err(out);
}

bool
moduli_is_usable(const struct modulus *m)
{
	return m->type == MODULI_TYPE_SAFE && m->trials > 0 &&
	    (m->tests & MODULI_TEST_COMPOSITE) == 0 &&
	    (m->tests & MODULI_TEST_MILLER_RABIN) != 0;
}

/* ---- primes ---- */

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

static int
stamp(struct modulus *m)
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
	if (bits < MIN_BITS || bits > MODULI_MAX_BITS)
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
	r = put_bytes(&m->prime, p);
	if (r == 0)
		r = stamp(m);
out:
	if (r != 0)
		moduli_clear(m);
	BN_GENCB_free(cb);
	BN_free(rem);
	BN_free(add);
	BN_free(p);
	return r;
}

/* p and q = (p - 1) / 2 from whichever of them the line holds. */
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
	/* Most candidates fail at q, so that comes first. */
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
	r = put_bytes(&m->prime, p);
	if (r != 0)
		goto out;
	/* Modulo a safe prime, 2 generates at least half of all. */
	buf_put_u8(&m->generator, 2);
	m->bits = (uint32_t)BN_num_bits(p);
	m->type = MODULI_TYPE_SAFE;
	m->tests |= MODULI_TEST_MILLER_RABIN;
	m->trials = MAX(m->trials, (uint32_t)TRIALS);
	*passed = true;
	r = stamp(m);
out:
	BN_CTX_free(ctx);
	BN_free(q);
	BN_free(p);
	return r;
}
