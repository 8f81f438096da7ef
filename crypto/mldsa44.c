/* SPDX-License-Identifier: ISC */
/*
 * ML-DSA-44, by OpenSSL if the library at run time has it, else by the code of
 * crypto/fallback/. It compiles with the headers of any OpenSSL 3, although
 * only 3.5 has ML-DSA.
 */
#include "crypto/mldsa44.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "compat/bsd-mem.h"
#include "crypto/fallback/fallback.h"
#include "crypto/rand.h"

static const char alg_name[] = "ML-DSA-44";

/* Does the library have ML-DSA? It is asked once for the life of the process.
 * Threads that ask at the same time get the same answer. */
static bool
evp_has_mldsa(void)
{
	enum { UNKNOWN, YES, NO };
	static atomic_int known = UNKNOWN;
	EVP_SIGNATURE *method = NULL;

	if (atomic_load(&known) == UNKNOWN) {
		ERR_set_mark();
		if (OpenSSL_version_num() >= FALLBACK_ENDS)
			method = EVP_SIGNATURE_fetch(NULL, alg_name, NULL);
		ERR_pop_to_mark();
		atomic_store(&known, method != NULL ? YES : NO);
		EVP_SIGNATURE_free(method);
	}
	return atomic_load(&known) == YES;
}

/* Makes the key pair of the seed. NULL on errors. */
static EVP_PKEY *
from_seed(const uint8_t seed[MLDSA44_SEED_LEN])
{
	uint8_t copy[MLDSA44_SEED_LEN];
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string("seed", copy, sizeof copy),
		OSSL_PARAM_END
	};
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, alg_name, NULL);
	EVP_PKEY *k = NULL;

	memcpy(copy, seed, sizeof copy);
	if (ctx != NULL && EVP_PKEY_fromdata_init(ctx) == 1)
		(void)EVP_PKEY_fromdata(ctx, &k, EVP_PKEY_KEYPAIR, params);
	EVP_PKEY_CTX_free(ctx);
	explicit_bzero(copy, sizeof copy);
	return k;
}

int
mldsa44_evp_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN])
{
	size_t len = MLDSA44_PUBLIC_LEN;
	EVP_PKEY *k;
	int r = ERR_CRYPTO;

	if (!evp_has_mldsa())
		return ERR_UNSUPPORTED;
	k = from_seed(seed);
	if (k != NULL && EVP_PKEY_get_raw_public_key(k, public, &len) == 1 &&
	    len == MLDSA44_PUBLIC_LEN)
		r = 0;
	EVP_PKEY_free(k);
	ERR_clear_error();
	return r;
}

/* The type of EVP_DigestSignInit_ex() and EVP_DigestVerifyInit_ex(). */
typedef int (*begin_fn)(EVP_MD_CTX *ctx, EVP_PKEY_CTX **pctx,
    const char *digest, OSSL_LIB_CTX *lib, const char *props, EVP_PKEY *key,
    const OSSL_PARAM params[]);

static bool
begin_message(EVP_MD_CTX *ctx, begin_fn begin, EVP_PKEY *k,
    const struct mldsa44_message *m)
{
	uint8_t context[MLDSA44_CONTEXT_MAX];
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string("context-string", context,
		    m->context.len),
		OSSL_PARAM_END
	};

	if (m->context.len > 0)
		memcpy(context, m->context.p, m->context.len);
	return begin(ctx, NULL, NULL, NULL, NULL, k, params) == 1;
}

int
mldsa44_evp_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN], const struct mldsa44_message *m)
{
	size_t len = MLDSA44_SIGNATURE_LEN;
	EVP_MD_CTX *ctx;
	EVP_PKEY *k;
	int r = ERR_CRYPTO;

	if (!evp_has_mldsa())
		return ERR_UNSUPPORTED;
	if (m->context.len > MLDSA44_CONTEXT_MAX)
		return ERR_ARGUMENT;
	ctx = EVP_MD_CTX_new();
	k = from_seed(seed);
	if (ctx != NULL && k != NULL &&
	    begin_message(ctx, EVP_DigestSignInit_ex, k, m) &&
	    EVP_DigestSign(ctx, signature, &len, m->data.p, m->data.len) ==
		1 &&
	    len == MLDSA44_SIGNATURE_LEN)
		r = 0;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(k);
	ERR_clear_error();
	return r;
}

int
mldsa44_evp_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN], const struct mldsa44_message *m)
{
	EVP_MD_CTX *ctx;
	EVP_PKEY *k;
	int r = ERR_CRYPTO;

	if (!evp_has_mldsa())
		return ERR_UNSUPPORTED;
	if (m->context.len > MLDSA44_CONTEXT_MAX)
		return ERR_ARGUMENT;
	ctx = EVP_MD_CTX_new();
	k = EVP_PKEY_new_raw_public_key_ex(NULL, alg_name, NULL, public,
	    MLDSA44_PUBLIC_LEN);
	if (ctx != NULL && k != NULL &&
	    begin_message(ctx, EVP_DigestVerifyInit_ex, k, m))
		r = EVP_DigestVerify(ctx, signature, MLDSA44_SIGNATURE_LEN,
			m->data.p, m->data.len) == 1 ?
		    0 :
		    ERR_SIGNATURE;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(k);
	ERR_clear_error();
	return r;
}

/* ---- the choice --------------------------------------------------------- */

int
mldsa44_public(uint8_t public[MLDSA44_PUBLIC_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN])
{
	int r = mldsa44_evp_public(public, seed);

	if (r != ERR_UNSUPPORTED)
		return r;
	mldsa44_own_public(public, seed);
	return 0;
}

int
mldsa44_sign(uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t seed[MLDSA44_SEED_LEN], const struct mldsa44_message *m)
{
	uint8_t random[MLDSA44_RANDOM_LEN];
	int r = mldsa44_evp_sign(signature, seed, m);

	if (r != ERR_UNSUPPORTED)
		return r;
	rand_bytes(random, sizeof random);
	r = mldsa44_own_sign(signature, seed, m, random);
	explicit_bzero(random, sizeof random);
	return r;
}

int
mldsa44_verify(const uint8_t signature[MLDSA44_SIGNATURE_LEN],
    const uint8_t public[MLDSA44_PUBLIC_LEN], const struct mldsa44_message *m)
{
	int r = mldsa44_evp_verify(signature, public, m);

	return r != ERR_UNSUPPORTED ? r :
				      mldsa44_own_verify(signature, public, m);
}
