/* SPDX-License-Identifier: ISC */
/*
 * What a cipher-*.c file gives to cipher.c: one table of functions for each
 * kind of cipher. Private to cipher*.c.
 *
 * Threads: as cipher.h.
 */
#ifndef HPN_CIPHER_INTERNAL_H
#define HPN_CIPHER_INTERNAL_H

#include "cipher.h"

struct cipher {
	const struct cipher_alg *alg;
	const struct cipher_ops *ops;
	const struct mac_alg *mac_alg; /* NULL with an AEAD */
	struct mac *mac;	       /* owned; NULL with an AEAD */
	bool encrypts;
	size_t tag_len; /* bytes */
	bool length_apart;
	void *state; /* owned: the construction's */
};

/* Precomputed keystream, see cipher.h. */
struct cipher_keystream_ops {
	int (*start)(struct cipher *c, uint64_t block, size_t threads);
	void (*stop)(struct cipher *c);
	size_t (*threads)(const struct cipher *c);
	bool (*measure)(struct cipher *c);
};

struct cipher_ops {
	const char *algorithm; /* its name in OpenSSL */
	int (*start)(struct cipher *c, const uint8_t *key, const uint8_t *iv);
	void (*stop)(void *state); /* wipes; NULL is fine */
	int (*encrypt)(struct cipher *c, const struct cipher_pos *pos,
	    uint8_t *pkt, uint32_t len);
	int (*decrypt_length)(struct cipher *c, const struct cipher_pos *pos,
	    uint8_t *pkt, uint32_t *len);
	int (*decrypt)(struct cipher *c, const struct cipher_pos *pos,
	    uint8_t *pkt, uint32_t len);
	const struct cipher_keystream_ops *keystream; /* NULL: not this one */
	/* The initialisation vector of the next packet. NULL: packets do not
	 * depend on each other. */
	void (*chain)(const struct cipher *c, uint8_t *iv);
};

/* decrypt_length() for ciphers that send the length in clear. */
int cipher_clear_length(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t *len);
/* Checks the MAC over the bytes that are at pkt now: 0 or ERR_MAC. */
int cipher_check_mac(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t len);

extern const struct cipher_ops cipher_aes128_gcm, cipher_aes256_gcm;
extern const struct cipher_ops cipher_chachapoly;
extern const struct cipher_ops cipher_aes128_ctr, cipher_aes192_ctr,
    cipher_aes256_ctr;
extern const struct cipher_ops cipher_aes128_cbc, cipher_aes192_cbc,
    cipher_aes256_cbc, cipher_des3_cbc;
extern const struct cipher_ops cipher_none;

#endif
