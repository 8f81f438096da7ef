/* SPDX-License-Identifier: ISC */
/*
 * The ciphers of a check: measures how fast one core here encrypts and decrypts
 * packets with the cipher of the connection, and whether another one would be
 * faster. How fast the other side is shows in the data that moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cipher.h"
#include "client/check/check-internal.h"
#include "client/sshclient.h"
#include "packet.h"

enum {
	PACKET_BYTES = 32 * 1024, /* bytes of a usual full packet */
	ROUND = 16,		  /* packets until the clock is read again */
	ROOM = 128,		  /* bytes for length, padding and tag */
};

struct packets {
	struct cipher *enc, *dec;
	struct cipher_pos pos;
	uint32_t len;
	uint8_t pkt[PACKET_BYTES + ROOM], saved[PACKET_BYTES + ROOM];
};

static int
make(struct packets *p, const struct cipher_alg *alg,
    const struct mac_alg *mac)
{
	static const uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX], zero[64];
	int r = cipher_new(&p->enc, alg, mac, true, key, iv, zero);

	if (r == 0)
		r = cipher_new(&p->dec, alg, mac, false, key, iv, zero);
	p->len = PACKET_BYTES;
	memset(p->pkt, 0x5a, sizeof p->pkt);
	return r;
}

/* Bytes a second when f is called for a packet again and again. 0: f failed. */
static uint64_t
rate_of(struct packets *p, int (*f)(struct packets *))
{
	uint64_t begun = clock_us(), took = 0, bytes = 0;

	while (took < CHECK_CIPHER_MS * 1000) {
		for (int i = 0; i < ROUND; i++)
			if (f(p) != 0)
				return 0;
		bytes += (uint64_t)ROUND * p->len;
		took = clock_us() - begun;
	}
	return bytes * 1000000 / took;
}

static int
encrypt_one(struct packets *p)
{
	return cipher_encrypt(p->enc, &p->pos, p->pkt, p->len);
}

static int
decrypt_one(struct packets *p)
{
	uint32_t len;
	int r;

	memcpy(p->pkt, p->saved, 4 + p->len + cipher_tag_len(p->dec));
	r = cipher_decrypt_length(p->dec, &p->pos, p->pkt, &len);
	return r != 0 ? r : cipher_decrypt(p->dec, &p->pos, p->pkt, p->len);
}

static void
measure(const struct cipher_alg *alg, const struct mac_alg *mac,
    uint64_t *encrypts, uint64_t *decrypts)
{
	struct packets *p = xcalloc(1, sizeof *p);

	*encrypts = 0;
	if (decrypts != NULL)
		*decrypts = 0;
	if (make(p, alg, mac) == 0 && !cipher_is_chained(alg)) {
		*encrypts = rate_of(p, encrypt_one);
		for (int i = 0; i < 4; i++)
			p->pkt[i] = (uint8_t)(p->len >> (24 - 8 * i));
		memset(p->pkt + 4, 0x5a, p->len);
		if (decrypts != NULL && encrypt_one(p) == 0) {
			memcpy(p->saved, p->pkt, sizeof p->saved);
			*decrypts = rate_of(p, decrypt_one);
		}
	}
	cipher_free(p->enc);
	cipher_free(p->dec);
	free(p);
}

static void
measure_best(struct check_ciphers *k)
{
	char first[sizeof k->best];
	const char *list = cipher_default_list();
	const struct cipher_alg *alg;

	snprintf(first, sizeof first, "%.*s", (int)strcspn(list, ","), list);
	alg = cipher_by_name(first);
	if (alg == NULL || alg->needs_mac)
		return;
	snprintf(k->best, sizeof k->best, "%s", first);
	if (strcmp(first, k->up) == 0)
		k->best_rate = k->encrypts;
	else
		measure(alg, NULL, &k->best_rate, NULL);
}

void
check_ciphers_measure(struct check *c)
{
	const struct sshclient *client = remote_client(c->remote, 0);
	struct session_params s = { .loop = c->loop };
	struct check_ciphers *k = &c->ciphers;
	const struct cipher_alg *alg;

	if (client == NULL)
		return;
	sshclient_fill(client, &s);
	snprintf(k->up, sizeof k->up, "%s",
	    packet_cipher_name(s.packet, PACKET_TX));
	snprintf(k->down, sizeof k->down, "%s",
	    packet_cipher_name(s.packet, PACKET_RX));
	k->known = true;
	alg = cipher_by_name(k->up);
	if (alg != NULL && !cipher_is_none(alg))
		measure(alg, alg->needs_mac ? mac_by_name(
		    "hmac-sha2-256-etm@openssh.com") : NULL, &k->encrypts,
		    &k->decrypts);
	measure_best(k);
}
