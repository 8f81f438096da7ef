/* SPDX-License-Identifier: ISC */
#include "cipher.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-internal.h"
#include "compat/cpu.h"

/* One row a cipher: name, bytes of key, IV, block and tag, needs a MAC, its
 * functions, weak. */
static const struct cipher_alg algs[] = {
	{ "chacha20-poly1305@openssh.com", 64, 0, 8, 16, false,
	    &cipher_chachapoly, false },
	{ "aes128-gcm@openssh.com", 16, 12, 16, 16, false, &cipher_aes128_gcm,
	    false },
	{ "aes256-gcm@openssh.com", 32, 12, 16, 16, false, &cipher_aes256_gcm,
	    false },
	{ "aes128-ctr", 16, 16, 16, 0, true, &cipher_aes128_ctr,
	    false },
	{ "aes192-ctr", 24, 16, 16, 0, true, &cipher_aes192_ctr,
	    false },
	{ "aes256-ctr", 32, 16, 16, 0, true, &cipher_aes256_ctr,
	    false },
	/* For old devices, only where they are configured. */
	{ "aes128-cbc", 16, 16, 16, 0, true, &cipher_aes128_cbc, true },
	{ "aes192-cbc", 24, 16, 16, 0, true, &cipher_aes192_cbc, true },
	{ "aes256-cbc", 32, 16, 16, 0, true, &cipher_aes256_cbc, true },
	{ "3des-cbc", 24, 8, 8, 0, true, &cipher_des3_cbc, true },
};

/* Cannot be chosen as a cipher; NoneEnabled and NoneSwitch ask for it. */
static const struct cipher_alg none = { "none", 0, 0, 8, 0, true,
	&cipher_none, false };

bool
cipher_is_none(const struct cipher_alg *alg)
{
	return alg == &none;
}

const struct cipher_alg *
cipher_by_name(const char *name)
{
	if (strcmp(name, none.name) == 0)
		return &none;
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		if (strcmp(name, algs[i].name) == 0)
			return &algs[i];
	}
	return NULL;
}

const struct cipher_alg *
cipher_at(size_t index)
{
	return index < ARRAY_LEN(algs) ? &algs[index] : NULL;
}

/* Without its instructions AES is slow, and leaks through cache timing. */
const char *
cipher_default_list(void)
{
	static const char gcm_first[] =
	    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
	    "chacha20-poly1305@openssh.com,"
	    "aes128-ctr,aes192-ctr,aes256-ctr";
	static const char chacha_first[] =
	    "chacha20-poly1305@openssh.com,"
	    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
	    "aes128-ctr,aes192-ctr,aes256-ctr";

	return cpu_has_aes_gcm() ? gcm_first : chacha_first;
}

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
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return ERR_NOMEM;
	c->alg = alg;
	c->mac_alg = mac;
	c->encrypts = encrypts;
	c->tag_len = mac != NULL ? mac->tag_len : alg->tag_len;
	c->length_apart = mac == NULL || mac->etm;
	if (mac != NULL)
		r = mac_new(&c->mac, mac, mac_key);
	if (r == 0)
		r = alg->ops->start(c, key, iv);
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
	c->alg->ops->stop(c->state);
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

/* Whole blocks, and at least one (RFC 4253 section 6). */
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
	return c->alg->ops->encrypt(c, pos, pkt, len);
}

int
cipher_decrypt_length(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t *len)
{
	ENSURE(!c->encrypts);
	return c->alg->ops->decrypt_length(c, pos, pkt, len);
}

int
cipher_decrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	ENSURE(!c->encrypts);
	if (!length_is_sane(c, len))
		return ERR_PACKET_LENGTH;
	return c->alg->ops->decrypt(c, pos, pkt, len);
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
	return alg->ops->chain != NULL;
}

void
cipher_chain(const struct cipher *c, uint8_t *iv)
{
	c->alg->ops->chain(c, iv);
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
	return alg->ops->keystream != NULL;
}

bool
cipher_keystream_measure(struct cipher *c)
{
	return cipher_keystream_can(c->alg) &&
	    c->alg->ops->keystream->measure(c);
}

int
cipher_keystream_start(struct cipher *c, const struct cipher_pos *pos,
    size_t threads)
{
	if (!cipher_keystream_can(c->alg))
		return ERR_ARGUMENT;
	cipher_keystream_stop(c);
	return c->alg->ops->keystream->start(c, pos->block, threads);
}

void
cipher_keystream_stop(struct cipher *c)
{
	if (cipher_keystream_can(c->alg))
		c->alg->ops->keystream->stop(c);
}

size_t
cipher_keystream_threads(const struct cipher *c)
{
	return cipher_keystream_can(c->alg) ? c->alg->ops->keystream->threads(c)
					    : 0;
}
