/* SPDX-License-Identifier: ISC */
/*
 * The MACs of packets (RFC 4253 section 6.4, RFC 6668, UMAC of RFC 4418). The
 * sequence number is authenticated, too: HMAC hashes it before the packet, UMAC
 * takes it as nonce.
 *
 * Threads: any; a struct mac belongs to one thread at a time.
 */
#ifndef HPN_CRYPTO_MAC_H
#define HPN_CRYPTO_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { MAC_MAX_LEN = 64, MAC_KEY_MAX_LEN = 64 };

struct mac_alg {
	const char *name; /* on the wire */
	size_t key_len;	  /* bytes */
	size_t tag_len;	  /* bytes */
	bool etm;	  /* encrypt-then-MAC: length is sent in clear */
	int kind;	  /* private to mac.c */
	int param;
	bool weak;	  /* too weak for today: users are warned */
};

struct mac;

/* mac_by_name() returns NULL for an unknown name. mac_at() returns the MACs in
 * order, NULL behind the last one. It leaves out "none", which makes no tag. */
const struct mac_alg *mac_by_name(const char *name);
const struct mac_alg *mac_at(size_t index);

int mac_new(struct mac **out, const struct mac_alg *alg,
    const uint8_t *key) must_check;
void mac_free(struct mac *m); /* wipes */
/* Computes the tag of a packet; tag must have room for alg->tag_len bytes. */
int mac_compute(struct mac *m, uint32_t seqnr, const void *p, size_t len,
    uint8_t *tag) must_check;

#endif
