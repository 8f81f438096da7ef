/* SPDX-License-Identifier: ISC */
/*
 * ML-KEM-768, by OpenSSL if the library at run time has it, else by the code of
 * crypto/fallback/. It compiles with the headers of any OpenSSL 3, although
 * only 3.5 has ML-KEM.
 */
#include "crypto/kem-mlkem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/fallback/fallback.h"
#include "crypto/rand.h"

static const char alg_name[] = "ML-KEM-768";

/* Does the library have ML-KEM? It is asked once for the life of the process.
 * Threads that ask at the same time get the same answer. */
static bool
evp_has_mlkem(void)
{
	enum { UNKNOWN, YES, NO };
	static atomic_int known = UNKNOWN;
	EVP_KEM *kem = NULL;

	if (atomic_load(&known) == UNKNOWN) {
		ERR_set_mark();
		if (OpenSSL_version_num() >= FALLBACK_ENDS)
			kem = EVP_KEM_fetch(NULL, alg_name, NULL);
		ERR_pop_to_mark();
		atomic_store(&known, kem != NULL ? YES : NO);
		EVP_KEM_free(kem);
	}
	return atomic_load(&known) == YES;
}

int
mlkem_evp_keygen(void **key, uint8_t ek[MLKEM_EK_LEN])
{
	size_t len = MLKEM_EK_LEN;
	EVP_PKEY *k;

	*key = NULL;
	if (!evp_has_mlkem())
		return ERR_UNSUPPORTED;
	k = EVP_PKEY_Q_keygen(NULL, NULL, alg_name);
	if (k == NULL || EVP_PKEY_get_raw_public_key(k, ek, &len) != 1 ||
	    len != MLKEM_EK_LEN) {
		EVP_PKEY_free(k);
		return ERR_CRYPTO;
	}
	*key = k;
	return 0;
}

int
mlkem_evp_encaps(uint8_t ct[MLKEM_CT_LEN], uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ek[MLKEM_EK_LEN])
{
	size_t ct_len = MLKEM_CT_LEN, ss_len = MLKEM_SS_LEN;
	EVP_PKEY_CTX *ctx = NULL;
	EVP_PKEY *peer;
	int r = ERR_CRYPTO;

	if (!evp_has_mlkem())
		return ERR_UNSUPPORTED;
	peer = EVP_PKEY_new_raw_public_key_ex(NULL, alg_name, NULL, ek,
	    MLKEM_EK_LEN);
	if (peer == NULL)
		return ERR_KEX_VALUE; /* a number in ek is too large (FIPS 203,
				       * 7.2) */
	ctx = EVP_PKEY_CTX_new_from_pkey(NULL, peer, NULL);
	if (ctx != NULL && EVP_PKEY_encapsulate_init(ctx, NULL) == 1 &&
	    EVP_PKEY_encapsulate(ctx, ct, &ct_len, ss, &ss_len) == 1 &&
	    ct_len == MLKEM_CT_LEN && ss_len == MLKEM_SS_LEN)
		r = 0;
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(peer);
	return r;
}

int
mlkem_evp_decaps(void *key, uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ct[MLKEM_CT_LEN])
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	size_t len = MLKEM_SS_LEN;
	int r = ERR_CRYPTO;

	if (ctx != NULL && EVP_PKEY_decapsulate_init(ctx, NULL) == 1 &&
	    EVP_PKEY_decapsulate(ctx, ss, &len, ct, MLKEM_CT_LEN) == 1 &&
	    len == MLKEM_SS_LEN)
		r = 0;
	EVP_PKEY_CTX_free(ctx);
	return r;
}

void
mlkem_evp_free(void *key)
{
	EVP_PKEY_free(key);
}

/* ---- the choice --------------------------------------------------------- */

struct mlkem {
	void *evp; /* owned; NULL: dk is the key */
	uint8_t dk[MLKEM_DK_LEN];
};

int
mlkem_new(struct mlkem **out, uint8_t ek[MLKEM_EK_LEN])
{
	uint8_t seeds[2 * MLKEM_SEED_LEN];
	struct mlkem *k = calloc(1, sizeof *k);
	int r;

	*out = NULL;
	if (k == NULL)
		return ERR_NOMEM;
	r = mlkem_evp_keygen(&k->evp, ek);
	if (r == ERR_UNSUPPORTED) {
		rand_bytes(seeds, sizeof seeds);
		mlkem_own_keygen(ek, k->dk, seeds, seeds + MLKEM_SEED_LEN);
		explicit_bzero(seeds, sizeof seeds);
		r = 0;
	}
	if (r != 0) {
		mlkem_free(k);
		return r;
	}
	*out = k;
	return 0;
}

int
mlkem_encaps(uint8_t ct[MLKEM_CT_LEN], uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ek[MLKEM_EK_LEN])
{
	uint8_t m[MLKEM_SEED_LEN];
	int r = mlkem_evp_encaps(ct, ss, ek);

	if (r == ERR_UNSUPPORTED) {
		rand_bytes(m, sizeof m);
		r = mlkem_own_encaps(ct, ss, ek, m);
		explicit_bzero(m, sizeof m);
	}
	return r;
}

int
mlkem_decaps(struct mlkem *k, uint8_t ss[MLKEM_SS_LEN],
    const uint8_t ct[MLKEM_CT_LEN])
{
	if (k->evp != NULL)
		return mlkem_evp_decaps(k->evp, ss, ct);
	mlkem_own_decaps(ss, ct, k->dk);
	return 0;
}

void
mlkem_free(struct mlkem *k)
{
	if (k == NULL)
		return;
	mlkem_evp_free(k->evp);
	mem_free_secret(k, sizeof *k);
}
