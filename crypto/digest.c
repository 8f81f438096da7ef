/* SPDX-License-Identifier: ISC */
#include "crypto/digest.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/wire.h"
#include "compat/bsd-mem.h"

struct digest {
	EVP_MD_CTX *ctx; /* owned */
};

static const struct {
	const char *name; /* for users, and for OpenSSL */
	size_t len;	  /* bytes */
} algs[DIGEST_ALG_COUNT] = {
	[DIGEST_MD5] = { "MD5", 16 },
	[DIGEST_SHA1] = { "SHA1", 20 },
	[DIGEST_SHA224] = { "SHA224", 28 },
	[DIGEST_SHA256] = { "SHA256", 32 },
	[DIGEST_SHA384] = { "SHA384", 48 },
	[DIGEST_SHA512] = { "SHA512", 64 },
	[DIGEST_BLAKE2B_512] = { "BLAKE2B-512", 64 },
};

/* OpenSSL's methods. Each is fetched at its first use and kept until the
 * process ends, because a fetch costs more than hashing a packet. */
static _Atomic(EVP_MD *) fetched[DIGEST_ALG_COUNT];

static const EVP_MD *
fetch(enum digest_alg alg)
{
	EVP_MD *md = atomic_load_explicit(&fetched[alg], memory_order_acquire);
	EVP_MD *first = NULL;

	if (md != NULL)
		return md;
	md = EVP_MD_fetch(NULL, algs[alg].name, NULL);
	if (md == NULL)
		return NULL;
	if (!atomic_compare_exchange_strong(&fetched[alg], &first, md)) {
		EVP_MD_free(md); /* another thread has stored its own */
		md = first;
	}
	return md;
}

const char *
digest_name(enum digest_alg alg)
{
	return algs[alg].name;
}

int
digest_parse(const char *name)
{
	for (int i = 0; i < DIGEST_ALG_COUNT; i++) {
		if (strcasecmp(name, algs[i].name) == 0)
			return i;
	}
	return -1;
}

size_t
digest_len(enum digest_alg alg)
{
	return algs[alg].len;
}

int
digest_once(enum digest_alg alg, const void *p, size_t len, uint8_t *out)
{
	const EVP_MD *md = fetch(alg);

	if (md == NULL)
		return ERR_UNSUPPORTED;
	return EVP_Digest(p, len, out, NULL, md, NULL) == 1 ? 0 : ERR_CRYPTO;
}

int
digest_hmac(enum digest_alg alg, const void *key, size_t key_len,
    const void *p, size_t len, uint8_t *out)
{
	const EVP_MD *md = fetch(alg);

	if (md == NULL)
		return ERR_UNSUPPORTED;
	if (key_len > INT_MAX)
		return ERR_LIMIT;
	if (key_len == 0)
		key = ""; /* HMAC() takes NULL for the previous call's key */
	return HMAC(md, key, (int)key_len, p, len, out, NULL) != NULL ?
	    0 :
	    ERR_CRYPTO;
}

int
digest_new(struct digest **out, enum digest_alg alg)
{
	const EVP_MD *md = fetch(alg);
	struct digest *d = NULL;
	int r;

	*out = NULL;
	if (md == NULL)
		return ERR_UNSUPPORTED;
	d = calloc(1, sizeof *d);
	if (d == NULL || (d->ctx = EVP_MD_CTX_new()) == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	if (EVP_DigestInit_ex2(d->ctx, md, NULL) != 1) {
		r = ERR_CRYPTO;
		goto out;
	}
	*out = d;
	d = NULL;
	r = 0;
out:
	digest_free(d);
	return r;
}

/* Half of an HMAC (RFC 2104): hashes the key, filled up with zeros to a block
 * and xored with pad, and then p. False: OpenSSL failed. */
static bool
padded_digest(struct digest *d, struct span key, uint8_t pad, const void *p,
    size_t len, uint8_t *out)
{
	const EVP_MD *md = EVP_MD_CTX_get0_md(d->ctx);
	uint8_t block[EVP_MAX_MD_SIZE * 4];
	size_t block_len = (size_t)EVP_MD_get_block_size(md);
	bool good;

	memset(block, pad, block_len);
	for (size_t i = 0; i < key.len; i++)
		block[i] ^= key.p[i];
	good = EVP_DigestInit_ex2(d->ctx, NULL, NULL) == 1 &&
	    EVP_DigestUpdate(d->ctx, block, block_len) == 1 &&
	    EVP_DigestUpdate(d->ctx, p, len) == 1 &&
	    EVP_DigestFinal_ex(d->ctx, out, NULL) == 1;
	explicit_bzero(block, sizeof block);
	return good;
}

int
digest_hmac_by(struct digest *d, const void *key, size_t key_len,
    const void *p, size_t len, uint8_t *out)
{
	const EVP_MD *md = EVP_MD_CTX_get0_md(d->ctx);
	struct span k = { key, key_len };

	/* An HMAC as in RFC 2104 section 2. A longer key would have to be
	 * hashed first. */
	if (key_len > (size_t)EVP_MD_get_block_size(md))
		return ERR_LIMIT;
	return padded_digest(d, k, 0x36, p, len, out) &&
		padded_digest(d, k, 0x5c, out,
		    (size_t)EVP_MD_get_size(md), out) ? 0 : ERR_CRYPTO;
}

int
digest_update(struct digest *d, const void *p, size_t len)
{
	return EVP_DigestUpdate(d->ctx, p, len) == 1 ? 0 : ERR_CRYPTO;
}

int
digest_final(struct digest *d, uint8_t *out)
{
	return EVP_DigestFinal_ex(d->ctx, out, NULL) == 1 ? 0 : ERR_CRYPTO;
}

int
digest_copy(struct digest *to, const struct digest *from)
{
	return EVP_MD_CTX_copy_ex(to->ctx, from->ctx) == 1 ? 0 : ERR_CRYPTO;
}

void
digest_free(struct digest *d)
{
	if (d == NULL)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}
