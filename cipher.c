/* SPDX-License-Identifier: ISC */
#include "cipher.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-internal.h"

/* The functions of each enum cipher_kind. */
static const struct cipher_ops *const ops[CIPHER_KINDS] = {
	[CIPHER_CHACHAPOLY] = &cipher_chachapoly,
	[CIPHER_AES128_GCM] = &cipher_aes128_gcm,
	[CIPHER_AES256_GCM] = &cipher_aes256_gcm,
	[CIPHER_AES128_CTR] = &cipher_aes128_ctr,
	[CIPHER_AES192_CTR] = &cipher_aes192_ctr,
	[CIPHER_AES256_CTR] = &cipher_aes256_ctr,
	[CIPHER_AES128_CBC] = &cipher_aes128_cbc,
	[CIPHER_AES192_CBC] = &cipher_aes192_cbc,
	[CIPHER_AES256_CBC] = &cipher_aes256_cbc,
	[CIPHER_DES3_CBC] = &cipher_des3_cbc,
	[CIPHER_NONE] = &cipher_none,
};

int
cipher_new(struct cipher **out, const struct cipher_alg *alg,
    const struct mac_alg *mac, bool encrypts, const uint8_t *key,
    const uint8_t *iv, const uint8_t *mac_key)
{
	struct cipher *c;
	int r = 0;

	*out = NULL;
	if (alg->needs_mac != (mac != NULL))
		return ERR_ARGUMENT;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		return ERR_NOMEM;
	c->alg = alg;
	c->ops = ops[alg->kind];
	c->mac_alg = mac;
	c->encrypts = encrypts;
	c->tag_len = mac != NULL ? mac->tag_len : alg->tag_len;
	c->length_apart = mac == NULL || mac->etm;
	if (mac != NULL)
		r = mac_new(&c->mac, mac, mac_key);
	if (r == 0)
		r = c->ops->start(c, key, iv);
	if (r != 0) {
		cipher_free(c);
		return r;
	}
	*out = c;
	return 0;
}

void
cipher_free(struct cipher *c)
{
	if (c == NULL)
		return;
	c->ops->stop(c->state);
	mac_free(c->mac);
	free(c);
}

size_t
cipher_tag_len(const struct cipher *c)
{
	return c->tag_len;
}

size_t
cipher_align(const struct cipher *c)
{
	return MAX(c->alg->block_len, 8);
}

bool
cipher_length_apart(const struct cipher *c)
{
	return c->length_apart;
}

static uint64_t
encrypted_len(const struct cipher *c, uint32_t len)
{
	return c->length_apart ? len : 4 + (uint64_t)len;
}

uint64_t
cipher_blocks(const struct cipher *c, uint32_t len)
{
	return (encrypted_len(c, len) + c->alg->block_len - 1) /
	    c->alg->block_len;
}

size_t
cipher_head_len(const struct cipher *c)
{
	return c->length_apart ? 4 : c->alg->block_len;
}

/* A packet is a whole number of blocks, at least one (RFC 4253 section 6). */
static bool
length_is_sane(const struct cipher *c, uint32_t len)
{
	return len > 0 && len <= CIPHER_LEN_MAX &&
	    encrypted_len(c, len) % cipher_align(c) == 0;
}

int
cipher_encrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	ENSURE(c->encrypts && length_is_sane(c, len));
	return c->ops->encrypt(c, pos, pkt, len);
}

int
cipher_decrypt_length(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t *len)
{
	ENSURE(!c->encrypts);
	return c->ops->decrypt_length(c, pos, pkt, len);
}

int
cipher_decrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	ENSURE(!c->encrypts);
	if (!length_is_sane(c, len))
		return ERR_PACKET_LENGTH;
	return c->ops->decrypt(c, pos, pkt, len);
}

int
cipher_clear_length(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t *len)
{
	(void)c;
	(void)pos;
	*len = wire_get_u32(pkt);
	return 0;
}

int
cipher_check_mac(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t len)
{
	uint8_t tag[MAC_MAX_LEN];
	int r = mac_compute(c->mac, pos->seqnr, pkt, 4 + len, tag);

	if (r == 0 && !mem_equal_ct(tag, pkt + 4 + len, c->tag_len))
		r = ERR_MAC;
	return r;
}

bool
cipher_is_chained(const struct cipher_alg *alg)
{
	return ops[alg->kind]->chain != NULL;
}

void
cipher_chain(const struct cipher *c, uint8_t *iv)
{
	c->ops->chain(c, iv);
}

bool
cipher_hides_refusal(const struct cipher *c)
{
	return cipher_is_chained(c->alg) && !c->length_apart;
}

void
cipher_spend(struct cipher *c, size_t len)
{
	static const uint8_t zeros[4096];
	uint8_t tag[MAC_MAX_LEN];

	for (; c->mac != NULL && len >= sizeof zeros; len -= sizeof zeros)
		if (mac_compute(c->mac, 0, zeros, sizeof zeros, tag) != 0)
			break;
}

bool
cipher_keystream_can(const struct cipher_alg *alg)
{
	return ops[alg->kind]->keystream != NULL;
}

bool
cipher_keystream_measure(struct cipher *c)
{
	return cipher_keystream_can(c->alg) &&
	    c->ops->keystream->measure(c);
}

int
cipher_keystream_start(struct cipher *c, const struct cipher_pos *pos,
    size_t threads)
{
	if (!cipher_keystream_can(c->alg))
		return ERR_ARGUMENT;
	cipher_keystream_stop(c);
	return c->ops->keystream->start(c, pos->block, threads);
}

void
cipher_keystream_stop(struct cipher *c)
{
	if (cipher_keystream_can(c->alg))
		c->ops->keystream->stop(c);
}

size_t
cipher_keystream_threads(const struct cipher *c)
{
	return cipher_keystream_can(c->alg) ? c->ops->keystream->threads(c)
					    : 0;
}
