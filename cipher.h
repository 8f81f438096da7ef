/* SPDX-License-Identifier: ISC */
/*
 * Ciphers that protect whole packets: one row a cipher; a context encrypts or
 * decrypts complete packets in place, MAC included (RFC 4253 section 6, 4344,
 * 5647 as deployed, chacha20-poly1305@openssh.com, -etm@openssh.com MACs).
 *
 * A packet in memory: u32 length | u8 padding length | payload | padding |
 * tag. "len" below is the value of the length field; the caller has room for
 * 4 + len + cipher_tag_len() bytes.
 *
 * Nothing but the key lives in a context between packets: nonce and counter
 * are derived from struct cipher_pos, which the packet layer keeps. So
 * packets may be encrypted and decrypted in any order, by any thread that has a
 * context of its own. The exception are those of cipher_is_chained().
 *
 * Threads: any; a struct cipher belongs to one thread at a time.
 */
#ifndef HPN_CIPHER_H
#define HPN_CIPHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "crypto/mac.h"

enum {
	CIPHER_KEY_MAX = 64,   /* bytes; chacha20-poly1305 has two keys */
	CIPHER_IV_MAX = 16,    /* bytes */
	CIPHER_LEN_MAX = 0x40000, /* largest value of the length field */
};

/* What does the work: a row of cipher.c. */
enum cipher_kind {
	CIPHER_CHACHAPOLY,
	CIPHER_AES128_GCM,
	CIPHER_AES256_GCM,
	CIPHER_AES128_CTR,
	CIPHER_AES192_CTR,
	CIPHER_AES256_CTR,
	CIPHER_AES128_CBC,
	CIPHER_AES192_CBC,
	CIPHER_AES256_CBC,
	CIPHER_DES3_CBC,
	CIPHER_NONE,
	CIPHER_KINDS,
};

struct cipher_alg {
	const char *name;
	size_t key_len;	   /* bytes */
	size_t iv_len;	   /* bytes taken from the KDF; 0: none */
	size_t block_len;  /* bytes; padding aligns to max(8, this) */
	size_t tag_len;	   /* bytes; 0: a MAC algorithm is needed */
	bool needs_mac;
	enum cipher_kind kind;
	bool weak; /* by today's knowledge: users are warned */
};

/* Where a packet stands since the keys were taken into use. */
struct cipher_pos {
	uint32_t seqnr;	 /* RFC 4253 sequence number */
	uint64_t packet; /* packets under this key before it */
	uint64_t block;	 /* cipher blocks under this key before it */
};

struct cipher;

/* Or NULL. "none" is found by its name only, and is in no list. */
const struct cipher_alg *cipher_by_name(const char *name);
bool cipher_is_none(const struct cipher_alg *alg);
const struct cipher_alg *cipher_at(size_t index);	   /* NULL at end */
/* Comma list of the default proposal, fastest on this CPU first. Static. */
const char *cipher_default_list(void);

/* From now on AES-GCM of much data is done by the widest instructions, if there
 * is a library for that. It is for programs that move data, as users: others
 * neither need that library nor run what it does when it is loaded. Before any
 * thread. */
void cipher_use_wide_gcm(void);
/* The library of wide AES-GCM is loaded now, or never. Otherwise that is done
 * when a key has done enough; by then a process that changes its root directory
 * would load what somebody has put in there. Before any thread. */
void cipher_load_wide_gcm(void);

/* key, iv, mac_key have the lengths of the rows; mac is NULL for AEADs (and
 * mac_key unused). The context copies what it needs and wipes on free. */
int cipher_new(struct cipher **out, const struct cipher_alg *alg,
    const struct mac_alg *mac, bool encrypts, const uint8_t *key,
    const uint8_t *iv, const uint8_t *mac_key) must_check;
void cipher_free(struct cipher *c);

/* Bytes behind the packet: AEAD tag or MAC. */
size_t cipher_tag_len(const struct cipher *c);
/* The multiple that 4 + len (or len alone, when the length is not part of
 * the encrypted text: AEAD and etm) is padded to, and which of the two. */
size_t cipher_align(const struct cipher *c);
bool cipher_length_apart(const struct cipher *c);
/* Blocks of the counter that a packet of this len uses. */
uint64_t cipher_blocks(const struct cipher *c, uint32_t len);
/* Bytes that must have arrived before cipher_decrypt_length() (4, or a block
 * for CTR with encrypt-and-MAC). */
size_t cipher_head_len(const struct cipher *c);

/* Encrypts 4 + len bytes at pkt in place and appends the tag. */
int cipher_encrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len) must_check;
/* The length field, authenticated or not: the caller checks its range. For
 * encrypt-and-MAC this decrypts the first block in place; it is called
 * exactly once a packet, before cipher_decrypt(). */
int cipher_decrypt_length(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t *len) must_check;
/* Decrypts the rest in place; ERR_MAC if it was tampered with (then the bytes
 * at pkt are not to be used). */
int cipher_decrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len) must_check;

/*
 * Chained ciphers (CBC): one context takes all the packets, in their order.
 * cipher_chain() gives what another context needs in place of the IV to go on
 * from here.
 */
bool cipher_is_chained(const struct cipher_alg *alg);
void cipher_chain(const struct cipher *c, uint8_t *iv);
/* Must a packet that is refused not show at once that it is? (See
 * cipher-cbc.c.) cipher_spend() takes as long as the MAC over len bytes. */
bool cipher_hides_refusal(const struct cipher *c);
void cipher_spend(struct cipher *c, size_t len);

/*
 * Precomputed keystream: where it does not depend on the packets (CTR),
 * threads of the context compute it from pos on into a bounded ring, and
 * encrypting and decrypting only takes an XOR and the MAC. It can be started at
 * any time, also in the middle of a key's life; the bytes are the same. A
 * context with threads is used by the loop thread only, in the order of
 * positions; another order is only slower.
 *
 * start: ERR_ARGUMENT for a cipher that cannot, ERR_SYSTEM if no threads can be
 * had; then the context works as before. stop ends the threads and wipes
 * the keystream, as cipher_free() does. A child after fork() has no threads.
 */
bool cipher_keystream_can(const struct cipher_alg *alg);
/* Measures, in some 10 us: true if the cipher is so slow on this CPU that
 * keystream from threads is worth a trial. */
bool cipher_keystream_measure(struct cipher *c);
int cipher_keystream_start(struct cipher *c, const struct cipher_pos *pos,
    size_t threads) must_check;
void cipher_keystream_stop(struct cipher *c);
size_t cipher_keystream_threads(const struct cipher *c); /* that run now */

#endif
