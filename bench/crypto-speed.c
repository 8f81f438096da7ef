/* SPDX-License-Identifier: ISC */
/*
 * How fast one thread encrypts and decrypts packets: MB/s for every cipher with
 * every MAC that it can have, for several packet sizes.
 *
 * usage: crypto-speed [substring of the names]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cipher.h"
#include "crypto/rand.h"

static const size_t sizes[] = { 64, 1024, 4096, 32768, 255 * 1024 };
static const double run_seconds = 0.15;

static double
now(void)
{
	return (double)clock_ns() / 1e9;
}

static void
check(int r)
{
	if (r == 0)
		return;
	fprintf(stderr, "crypto-speed: %s\n", err_text(r));
	exit(1);
}

/* MB/s of fn over packets of the given length field. */
static double
measure_encrypt(struct cipher *c, uint8_t *pkt, uint32_t len)
{
	struct cipher_pos pos = { 0 };
	double start = now(), end;

	do {
		for (int i = 0; i < 16; i++) {
			check(cipher_encrypt(c, &pos, pkt, len));
			pos.seqnr++;
			pos.packet++;
			pos.block += cipher_blocks(c, len);
		}
		end = now();
	} while (end - start < run_seconds);
	return (double)pos.packet * len / (end - start) / 1e6;
}

/* Packets are decrypted in place, so each turn copies the encrypted one back.
 * The time of these copies is measured, and subtracted. */
static double
measure_decrypt(struct cipher *c, struct cipher *encrypter, uint8_t *pkt,
    uint32_t len)
{
	static uint8_t encrypted[4 + CIPHER_LEN_MAX + MAC_MAX_LEN];
	size_t whole = 4 + len + cipher_tag_len(c);
	struct cipher_pos pos = { 0 };
	double start, decrypting = 0, copying = 0;
	uint64_t count = 0;

	pkt[0] = (uint8_t)(len >> 24);
	pkt[1] = (uint8_t)(len >> 16);
	pkt[2] = (uint8_t)(len >> 8);
	pkt[3] = (uint8_t)len;
	check(cipher_encrypt(encrypter, &pos, pkt, len));
	memcpy(encrypted, pkt, whole);
	while (decrypting < run_seconds) {
		start = now();
		for (int i = 0; i < 16; i++) {
			uint32_t got;

			memcpy(pkt, encrypted, whole);
			check(cipher_decrypt_length(c, &pos, pkt, &got));
			check(cipher_decrypt(c, &pos, pkt, got));
		}
		decrypting += now() - start;
		start = now();
		for (int i = 0; i < 16; i++) {
			memcpy(pkt, encrypted, whole);
			__asm__ volatile("" : : "r"(pkt) : "memory");
		}
		copying += now() - start;
		count += 16;
	}
	return (double)count * len / (decrypting - copying) / 1e6;
}

static void
run(const struct cipher_alg *alg, const struct mac_alg *mac)
{
	static uint8_t pkt[4 + CIPHER_LEN_MAX + MAC_MAX_LEN];
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX];
	uint8_t mac_key[MAC_KEY_MAX_LEN];
	struct cipher *encrypter, *decrypter;

	rand_bytes(key, sizeof key);
	rand_bytes(iv, sizeof iv);
	rand_bytes(mac_key, sizeof mac_key);
	check(cipher_new(&encrypter, alg, mac, true, key, iv, mac_key));
	check(cipher_new(&decrypter, alg, mac, false, key, iv, mac_key));
	printf("%-30s %-30s", alg->name, mac != NULL ? mac->name : "");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint32_t len = (uint32_t)sizes[i];

		if (!cipher_length_apart(encrypter))
			len -= 4;
		printf(" %6.0f", measure_encrypt(encrypter, pkt, len));
		printf("/%-6.0f",
		    measure_decrypt(decrypter, encrypter, pkt, len));
		fflush(stdout);
	}
	putchar('\n');
	cipher_free(encrypter);
	cipher_free(decrypter);
}

static bool
wanted(const char *name, const char *filter)
{
	return filter == NULL || strstr(name, filter) != NULL;
}

int
main(int argc, char **argv)
{
	const char *filter = argc > 1 ? argv[1] : NULL;
	const struct cipher_alg *alg;
	const struct mac_alg *mac;

	cipher_use_wide_gcm();
	printf("%-61s", "encrypt/decrypt, MB/s, for packets of");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		printf(" %13zu", sizes[i]);
	putchar('\n');
	for (size_t i = 0; (alg = cipher_at(i)) != NULL; i++) {
		if (!alg->needs_mac) {
			if (wanted(alg->name, filter))
				run(alg, NULL);
			continue;
		}
		for (size_t j = 0; (mac = mac_at(j)) != NULL; j++) {
			if (wanted(alg->name, filter) ||
			    wanted(mac->name, filter))
				run(alg, mac);
		}
	}
	return 0;
}
