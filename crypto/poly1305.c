/* SPDX-License-Identifier: ISC */
#include "crypto/poly1305.h"

#include <stdlib.h>

#include <openssl/evp.h>

struct poly1305 {
	EVP_MAC_CTX *ctx; /* owned */
};

int
poly1305_new(struct poly1305 **out)
{
	struct poly1305 *p = *out = calloc(1, sizeof *p);
	EVP_MAC *mac;

	if (p == NULL)
		return ERR_NOMEM;
	mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
	p->ctx = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
	EVP_MAC_free(mac);
	if (p->ctx != NULL)
		return 0;
	poly1305_free(p);
	*out = NULL;
	return ERR_CRYPTO;
}

void
poly1305_free(struct poly1305 *p)
{
	if (p == NULL)
		return;
	EVP_MAC_CTX_free(p->ctx);
	free(p);
}

int
poly1305_compute(struct poly1305 *p, const uint8_t key[POLY1305_KEY_LEN],
    const void *text, size_t len, uint8_t tag[POLY1305_TAG_LEN])
{
	size_t n;

	if (EVP_MAC_init(p->ctx, key, POLY1305_KEY_LEN, NULL) != 1 ||
	    EVP_MAC_update(p->ctx, text, len) != 1 ||
	    EVP_MAC_final(p->ctx, tag, &n, POLY1305_TAG_LEN) != 1)
		return ERR_CRYPTO;
	return 0;
}
