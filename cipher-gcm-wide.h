/* SPDX-License-Identifier: ISC */
/*
 * AES-GCM by the widest vector instructions of x86-64 (AVX-512 with VAES and
 * VPCLMULQDQ), where the OpenSSL that we run with does not use them: before
 * 3.1 it does AES-GCM at a third of the speed. Intel's libipsec_mb does it;
 * without that library, or on another processor, nothing is here.
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

/* The functions below, for cipher-gcm.c, which names none of them. */
struct gcm_wide_ops {
	struct gcm_wide *(*new)(const uint8_t *key, size_t key_len);
	void (*free)(struct gcm_wide *w);
	void (*encrypt)(struct gcm_wide *w, const uint8_t nonce[12],
	    uint8_t *pkt, size_t len);
	bool (*decrypt)(struct gcm_wide *w, const uint8_t nonce[12],
	    uint8_t *pkt, size_t len);
};

/* In cipher-gcm.c: it uses them from then on. */
void cipher_gcm_take_wide(const struct gcm_wide_ops *ops);

enum { GCM_WIDE_HEAD = 4, GCM_WIDE_TAG = 16 }; /* bytes */

/* Takes about a millisecond, so it is not for what moves little. key_len: 16
 * or 32 bytes. NULL: OpenSSL is as good, or there is nothing better. */
struct gcm_wide *gcm_wide_new(const uint8_t *key, size_t key_len);
void gcm_wide_free(struct gcm_wide *w); /* wipes; NULL is fine */
/* In place: the first 4 bytes of pkt are authenticated, the len that follow
 * are encrypted too, and the tag is written behind them. */
void gcm_wide_encrypt(struct gcm_wide *w, const uint8_t nonce[12],
    uint8_t *pkt, size_t len);
/* False: the tag is not that of these bytes. */
bool gcm_wide_decrypt(struct gcm_wide *w, const uint8_t nonce[12],
    uint8_t *pkt, size_t len) must_check;

#endif
