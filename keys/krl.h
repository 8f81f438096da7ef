/* SPDX-License-Identifier: ISC */
/*
 * KRL: a file of keys and certificates that are revoked. One is read by going
 * through it once, and nothing is kept, so that its size is all that a reader
 * has to bound.
 *
 * The format: "SSHKRL\n\0", u32 1, u64 version, u64 seconds since 1970, u64
 * flags, string reserved, string comment; then sections of a byte and a string:
 *	1	certificates: string blob of their CA (empty: any), string
 *		reserved, then bytes with strings: 0x20 serial numbers (u64...),
 *		0x21 a range (u64 first, u64 last), 0x22 a bitmap (u64 of bit 0,
 *		mpint), 0x23 ids (string...), 0x39 extension
 *	2	keys: string blob...
 *	3, 5	SHA-1, SHA-256 of blobs: string...
 *	4	a signature, with a second string; nobody looks at it
 *	255	extension: string name, bool critical, string content
 *
 * Threads: any; a struct krl belongs to one thread at a time.
 */
#ifndef HPN_KEYS_KRL_H
#define HPN_KEYS_KRL_H

#include "base/str.h"
#include "crypto/digest.h"
#include "keys/key.h"

/* ---- reading ------------------------------------------------------------ */

/* Does content begin as a KRL does? */
bool krl_is(struct span content);

enum krl_what {
	KRL_SERIALS, /* certificates by serial numbers, first to last */
	KRL_ID,	     /* certificates by their id, which is in bytes */
	KRL_KEY,     /* a key, whose blob is in bytes */
	KRL_SHA1,    /* a key, by the digest of its blob in bytes */
	KRL_SHA256,
};

/* An item of the list: what it revokes. ca: the blob of the authority whose
 * certificates are meant; empty: those of any. */
struct krl_item {
	enum krl_what what;
	uint64_t first, last;
	struct span bytes, ca;
};

struct krl_header {
	uint64_t version, generated; /* seconds since 1970 */
	struct span comment;	     /* part of content */
};

/* Gets one item. A value other than 0 stops krl_read(), which returns it. */
typedef int (*krl_item_fn)(void *arg, const struct krl_item *item);

/* Calls fn for all items, in their order. Items may come before an error:
 * nothing holds unless the result is 0. header and fn may be NULL.
 * ERR_UNSUPPORTED: another version, or a critical extension. */
int krl_read(struct span content, struct krl_header *header, krl_item_fn fn,
    void *arg) must_check;

/* Is the key k revoked? A certificate is revoked if it is itself, or if the key
 * that it certifies, its serial number, its id or the key of its CA is. */
int krl_find(struct span content, const struct key *k,
    bool *revoked) must_check;

/* ---- making ------------------------------------------------------------- */

struct krl;

int krl_new(struct krl **out) must_check;
void krl_free(struct krl *l);
/* Revokes certificates of ca by serial number, or by id; ca NULL: of any CA. */
int krl_add_serials(struct krl *l, const struct key *ca, uint64_t first,
    uint64_t last) must_check;
int krl_add_id(struct krl *l, const struct key *ca, struct span id) must_check;
/* Revokes k; if it is a certificate, the key that it certifies. */
int krl_add_key(struct krl *l, const struct key *k) must_check;
/* Revokes k by its digest. alg: DIGEST_SHA1 or DIGEST_SHA256. */
int krl_add_digest_of(struct krl *l, const struct key *k,
    enum digest_alg alg) must_check;
int krl_add_sha256(struct krl *l, struct span digest) must_check;
/* Adds all items of another KRL, content. */
int krl_add_all(struct krl *l, struct span content,
    struct krl_header *header) must_check;
/* Calls fn for each item that was added, once and in order: keys, SHA-256,
 * SHA-1, then certificates. */
int krl_each(struct krl *l, krl_item_fn fn, void *arg) must_check;
/* Appends the KRL to out, with each item once and sorted. */
int krl_write(struct krl *l, const struct krl_header *header,
    struct buf *out) must_check;

#endif
