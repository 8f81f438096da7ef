/* SPDX-License-Identifier: ISC */
/*
 * UMAC with 64 and 128 bit tags (RFC 4418), for messages of at most 16 MiB
 * and nonces of 8 bytes.
 *
 * Threads: any; a struct umac belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_UMAC_H
#define HPN_CRYPTO_UMAC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	UMAC_KEY_LEN = 16,	  /* bytes */
	UMAC_MAX_MSG = 0x1000000, /* bytes; longer ones would need POLY-128 */
};

struct umac;

/* Makes the state for a key of UMAC_KEY_LEN bytes. tag_len is 8 or 16 bytes. */
int umac_new(struct umac **out, size_t tag_len, const uint8_t *key) must_check;
void umac_free(struct umac *u); /* wipes */
/* Computes the tag of a message; tag must have room for the tag_len of
 * umac_new(). ERR_LIMIT: the message is longer than UMAC_MAX_MSG. */
int umac_compute(struct umac *u, uint64_t nonce, const void *p, size_t len,
    uint8_t *tag) must_check;

#endif
