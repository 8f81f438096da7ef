/* SPDX-License-Identifier: ISC */
/*
 * AES-GCM by the widest vector instructions of x86-64 (AVX-512 with VAES and
 * VPCLMULQDQ). OpenSSL before 3.1 does not use them, and takes three times as
 * long. The code is Intel's libipsec_mb; without that library, or on another
 * processor, gcm_wide_new() returns NULL.
 *
 * Threads: as cipher.h.
 */
#ifndef HPN_CIPHER_GCM_WIDE_H
#define HPN_CIPHER_GCM_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gcm_wide;

/* The functions below as a table: cipher-gcm.c calls them by it only. */
struct gcm_wide_ops {
	struct gcm_wide *(*new)(const uint8_t *key, size_t key_len);
	void (*free)(struct gcm_wide *w);
	void (*encrypt)(struct gcm_wide *w, const uint8_t nonce[12],
	    uint8_t *pkt, size_t len);
	bool (*decrypt)(struct gcm_wide *w, const uint8_t nonce[12],
	    uint8_t *pkt, size_t len);
};

/* In cipher-gcm.c, which uses the table ops from then on. */
void cipher_gcm_take_wide(const struct gcm_wide_ops *ops);

enum { GCM_WIDE_HEAD = 4, GCM_WIDE_TAG = 16 }; /* bytes */

/* Takes about a millisecond, which pays only for a key that encrypts much data.
 * key_len: 16 or 32 bytes. NULL: OpenSSL is as fast, or the library or the
 * processor's instructions are missing. */
struct gcm_wide *gcm_wide_new(const uint8_t *key, size_t key_len);
void gcm_wide_free(struct gcm_wide *w); /* wipes; NULL is fine */
/* Encrypts in place: the first GCM_WIDE_HEAD bytes of pkt are authenticated
 * only, the len bytes behind them are encrypted too, and the tag is written
 * behind those. */
void gcm_wide_encrypt(struct gcm_wide *w, const uint8_t nonce[12],
    uint8_t *pkt, size_t len);
/* Decrypts in place. False: the tag is wrong. */
bool gcm_wide_decrypt(struct gcm_wide *w, const uint8_t nonce[12],
    uint8_t *pkt, size_t len) must_check;

#endif
