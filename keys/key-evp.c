/* SPDX-License-Identifier: ISC */
/* What key types share that use OpenSSL: building keys, signing, verifying. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <stdlib.h>

#include "base/mem.h"
#include "keys/key-internal.h"

int
key_evp_failed(void)
{
	ERR_clear_error();
	return ERR_CRYPTO;
}

int
key_evp_build(const char *type, int selection, OSSL_PARAM_BLD *bld,
    EVP_PKEY **out)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(bld);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *pkey = NULL;
	int r = 0;

	if (params == NULL || ctx == NULL ||
	    EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &pkey, selection, params) != 1)
		r = key_evp_failed();
	/* OSSL_PARAM_free() does not wipe memory of the normal heap. */
	for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++)
		OPENSSL_cleanse(p->data, p->data_size);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(bld);
	EVP_PKEY_CTX_free(ctx);
	if (r == 0)
		*out = pkey;
	else
		EVP_PKEY_free(pkey);
	return r;
}

int
key_evp_put_number(const EVP_PKEY *pkey, const char *param, struct buf *out)
{
	BIGNUM *n = NULL;
	uint8_t *be;
	size_t len;

	if (EVP_PKEY_get_bn_param(pkey, param, &n) != 1)
		return key_evp_failed();
	len = (size_t)BN_num_bytes(n);
	be = malloc(len > 0 ? len : 1);
	if (be != NULL) {
		BN_bn2bin(n, be);
		buf_put_mpint(out, be, len);
		mem_free_secret(be, len);
	}
	BN_clear_free(n);
	return be != NULL ? buf_err(out) : ERR_NOMEM;
}

int
key_evp_sign(EVP_PKEY *pkey, const char *digest, struct span data,
    uint8_t **signature, size_t *len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t *sig = NULL;
	size_t sig_len = 0;
	int r = ERR_CRYPTO;

	if (ctx == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	if (EVP_DigestSignInit_ex(ctx, NULL, digest, NULL, NULL, pkey,
		NULL) != 1 ||
	    EVP_DigestSign(ctx, NULL, &sig_len, data.p, data.len) != 1)
		goto out;
	sig = malloc(sig_len);
	if (sig == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	if (EVP_DigestSign(ctx, sig, &sig_len, data.p, data.len) != 1)
		goto out;
	*signature = sig;
	*len = sig_len;
	sig = NULL;
	r = 0;
out:
	free(sig);
	EVP_MD_CTX_free(ctx);
	if (r != 0)
		ERR_clear_error();
	return r;
}

int
key_evp_put_signature(EVP_PKEY *pkey, const char *digest, struct span data,
    struct buf *out)
{
	uint8_t *sig = NULL;
	size_t len = 0;
	int r = key_evp_sign(pkey, digest, data, &sig, &len);

	if (r == 0) {
		buf_put(out, sig, len);
		r = buf_err(out);
	}
	free(sig);
	return r;
}

int
key_evp_verify(EVP_PKEY *pkey, const char *digest, struct span data,
    struct span signature)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int r = 0;

	if (ctx == NULL)
		return ERR_NOMEM;
	if (EVP_DigestVerifyInit_ex(ctx, NULL, digest, NULL, NULL, pkey,
		NULL) != 1)
		r = ERR_CRYPTO;
	else if (EVP_DigestVerify(ctx, signature.p, signature.len, data.p,
		     data.len) != 1)
		r = ERR_SIGNATURE;
	EVP_MD_CTX_free(ctx);
	if (r != 0)
		ERR_clear_error();
	return r;
}
