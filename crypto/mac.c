/* SPDX-License-Identifier: ISC */
#include "crypto/mac.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "compat/bsd-mem.h"
#include "crypto/digest.h"
#include "crypto/umac.h"

enum kind { HMAC, UMAC, NONE };

/* All MACs: name, key bytes, tag bytes (if fewer than the digest has, its first
 * ones), etm, kind, digest of HMAC, weak. */
static const struct mac_alg algs[] = {
	{ "umac-64-etm@openssh.com", 16, 8, true, UMAC, 0, false },
	{ "umac-128-etm@openssh.com", 16, 16, true, UMAC, 0, false },
	{ "hmac-sha2-256-etm@openssh.com", 32, 32, true, HMAC, DIGEST_SHA256,
	    false },
	{ "hmac-sha2-512-etm@openssh.com", 64, 64, true, HMAC, DIGEST_SHA512,
	    false },
	{ "hmac-sha1-etm@openssh.com", 20, 20, true, HMAC, DIGEST_SHA1, false },
	{ "umac-64@openssh.com", 16, 8, false, UMAC, 0, false },
	{ "umac-128@openssh.com", 16, 16, false, UMAC, 0, false },
	{ "hmac-sha2-256", 32, 32, false, HMAC, DIGEST_SHA256, false },
	{ "hmac-sha2-512", 64, 64, false, HMAC, DIGEST_SHA512, false },
	{ "hmac-sha1", 20, 20, false, HMAC, DIGEST_SHA1, false },
	/* These are for old devices: only a configuration that names them
	 * enables them. */
	{ "hmac-sha1-96-etm@openssh.com", 20, 12, true, HMAC, DIGEST_SHA1,
	    true },
	{ "hmac-md5-etm@openssh.com", 16, 16, true, HMAC, DIGEST_MD5, true },
	{ "hmac-md5-96-etm@openssh.com", 16, 12, true, HMAC, DIGEST_MD5, true },
	{ "hmac-sha1-96", 20, 12, false, HMAC, DIGEST_SHA1, true },
	{ "hmac-md5", 16, 16, false, HMAC, DIGEST_MD5, true },
	{ "hmac-md5-96", 16, 12, false, HMAC, DIGEST_MD5, true },
};

static const struct mac_alg none = { "none", 0, 0, false, NONE, 0, false };

struct mac {
	const struct mac_alg *alg;
	struct umac *umac; /* owned; NULL for HMAC */
	/* Owned; NULL for UMAC. inner and outer are the states after the padded
	 * key, which are the same for every packet. work is a copy of them for
	 * one packet. */
	struct digest *inner, *outer, *work;
};

const struct mac_alg *
mac_by_name(const char *name)
{
	if (strcmp(name, none.name) == 0)
		return &none;
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		if (strcmp(name, algs[i].name) == 0)
			return &algs[i];
	}
	return NULL;
}

const struct mac_alg *
mac_at(size_t index)
{
	return index < ARRAY_LEN(algs) ? &algs[index] : NULL;
}

/* Begins half of an HMAC (RFC 2104): makes a digest and hashes the key, filled
 * up with zeros to a block and xored with mask. */
static int
keyed_digest(struct digest **out, const struct mac_alg *alg,
    const uint8_t *key, uint8_t mask)
{
	uint8_t block[128];
	size_t block_len = alg->param == DIGEST_SHA512 ? 128 : 64;
	int r;

	memset(block, mask, block_len);
	for (size_t i = 0; i < alg->key_len; i++)
		block[i] ^= key[i];
	r = digest_new(out, (enum digest_alg)alg->param);
	if (r == 0)
		r = digest_update(*out, block, block_len);
	explicit_bzero(block, sizeof block);
	return r;
}

int
mac_new(struct mac **out, const struct mac_alg *alg, const uint8_t *key)
{
	struct mac *m = calloc(1, sizeof *m);
	int r;

	*out = NULL;
	if (m == NULL)
		return ERR_NOMEM;
	m->alg = alg;
	if (alg->kind == NONE)
		r = 0;
	else if (alg->kind == UMAC)
		r = umac_new(&m->umac, alg->tag_len, key);
	else if ((r = keyed_digest(&m->inner, alg, key, 0x36)) == 0 &&
	    (r = keyed_digest(&m->outer, alg, key, 0x5c)) == 0)
		r = digest_new(&m->work, (enum digest_alg)alg->param);
	if (r != 0) {
		mac_free(m);
		return r;
	}
	*out = m;
	return 0;
}

void
mac_free(struct mac *m)
{
	if (m == NULL)
		return;
	umac_free(m->umac);
	/* OpenSSL wipes the states itself. */
	digest_free(m->inner);
	digest_free(m->outer);
	digest_free(m->work);
	free(m);
}

static int
hmac_compute(struct mac *m, uint32_t seqnr, const void *p, size_t len,
    uint8_t *tag)
{
	uint8_t prefix[4], hash[DIGEST_MAX_LEN], all[DIGEST_MAX_LEN];
	size_t hash_len = digest_len((enum digest_alg)m->alg->param);
	int r;

	wire_put_u32(prefix, seqnr);
	if ((r = digest_copy(m->work, m->inner)) != 0 ||
	    (r = digest_update(m->work, prefix, sizeof prefix)) != 0 ||
	    (r = digest_update(m->work, p, len)) != 0 ||
	    (r = digest_final(m->work, hash)) != 0 ||
	    (r = digest_copy(m->work, m->outer)) != 0 ||
	    (r = digest_update(m->work, hash, hash_len)) != 0 ||
	    (r = digest_final(m->work, all)) != 0)
		return r;
	memcpy(tag, all, m->alg->tag_len);
	return 0;
}

int
mac_compute(struct mac *m, uint32_t seqnr, const void *p, size_t len,
    uint8_t *tag)
{
	if (m->alg->kind == NONE)
		return 0;
	if (m->alg->kind == UMAC)
		return umac_compute(m->umac, seqnr, p, len, tag);
	return hmac_compute(m, seqnr, p, len, tag);
}
