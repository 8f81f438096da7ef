/* SPDX-License-Identifier: ISC */
/*
 * Arbitrary bytes as an encrypted packet, for every cipher with every MAC: they
 * must not decrypt, whatever their length field says. Then the same bytes as a
 * payload: what is encrypted must decrypt to what it was.
 *
 * Input: which pair, position, bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher.h"
#include "regress/fuzz/fuzz.h"

enum { HEAD_LEN = 2, BODY_MAX = 8192 };

static const uint8_t key[CIPHER_KEY_MAX] = "the same key in each run";

static const struct cipher_alg *
pick(uint8_t number, const struct mac_alg **mac)
{
	const struct cipher_alg *alg;

	*mac = NULL;
	for (size_t i = 0; (alg = cipher_at(i)) != NULL; i++) {
		if (!alg->needs_mac) {
			if (number-- == 0)
				return alg;
			continue;
		}
		for (size_t j = 0; (*mac = mac_at(j)) != NULL; j++) {
			if (number-- == 0)
				return alg;
		}
	}
	return NULL;
}

/* pkt has size bytes, and they are all that arrived. */
static void
decrypt_garbage(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    size_t size)
{
	uint32_t len;

	if (size < cipher_head_len(c) ||
	    cipher_decrypt_length(c, pos, pkt, &len) != 0)
		return;
	if (len > CIPHER_LEN_MAX || 4 + len + cipher_tag_len(c) > size)
		return;
	ENSURE(cipher_decrypt(c, pos, pkt, len) != 0);
}

static void
round_trip(struct cipher *enc, struct cipher *dec,
    const struct cipher_pos *pos, uint8_t *pkt, const uint8_t *body,
    size_t size)
{
	size_t align = cipher_align(enc);
	size_t apart = cipher_length_apart(enc) ? 0 : 4;
	uint32_t len = (uint32_t)((size + align) / align * align - apart);
	uint32_t got;

	size = MIN(size, len);
	wire_put_u32(pkt, len);
	memset(pkt + 4, 0, len);
	memcpy(pkt + 4, body, size);
	ENSURE(cipher_encrypt(enc, pos, pkt, len) == 0);
	ENSURE(
	    cipher_decrypt_length(dec, pos, pkt, &got) == 0 && got == len);
	ENSURE(cipher_decrypt(dec, pos, pkt, len) == 0);
	ENSURE(wire_get_u32(pkt) == len && memcmp(pkt + 4, body, size) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t pkt[4 + BODY_MAX + 2 * CIPHER_IV_MAX + MAC_MAX_LEN];
	struct cipher *enc = NULL, *dec = NULL, *garbled = NULL;
	const struct cipher_alg *alg;
	const struct mac_alg *mac;
	struct cipher_pos pos;

	if (size < HEAD_LEN || size > HEAD_LEN + BODY_MAX)
		return 0;
	alg = pick(data[0], &mac);
	if (alg == NULL)
		return 0;
	/* A key is never used for 2^64 blocks: a packet does not wrap them. */
	pos = (struct cipher_pos){ .seqnr = data[1] * 0x01010101u,
		.packet = data[1] * 0x0101010101010101u,
		.block = data[1] * 0x0001010101010101u };
	data += HEAD_LEN;
	size -= HEAD_LEN;
	/* What a chained cipher has decrypted is part of its state. */
	if (cipher_new(&enc, alg, mac, true, key, key, key) == 0 &&
	    cipher_new(&dec, alg, mac, false, key, key, key) == 0 &&
	    cipher_new(&garbled, alg, mac, false, key, key, key) == 0) {
		memcpy(pkt, data, size);
		decrypt_garbage(garbled, &pos, pkt, size);
		round_trip(enc, dec, &pos, pkt, data, size);
	}
	cipher_free(enc);
	cipher_free(dec);
	cipher_free(garbled);
	return 0;
}
