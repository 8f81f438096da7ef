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
 * Between packets a context keeps nothing but the key: nonce and counter are
 * derived from struct cipher_pos, which the packet layer keeps. So packets may
 * be encrypted and decrypted in any order, by any thread that has a context of
 * its own. Chained ciphers (cipher_is_chained()) are the exception.
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

/* The code of a cipher: an index into the table of cipher.c. */
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

/* The position of a packet, since its keys were taken into use. */
struct cipher_pos {
	uint32_t seqnr;	 /* RFC 4253 sequence number */
	uint64_t packet; /* packets under this key before it */
	uint64_t block;	 /* cipher blocks under this key before it */
};

struct cipher;

/* NULL: there is no such cipher. "none" is found here, but is in no list. */
const struct cipher_alg *cipher_by_name(const char *name);
bool cipher_is_none(const struct cipher_alg *alg);
const struct cipher_alg *cipher_at(size_t index);	   /* NULL at end */
/* Comma list of the default proposal, fastest on this CPU first. Static. */
const char *cipher_default_list(void);

/* From now on keys that move much data use the wide AES-GCM of
 * cipher-gcm-wide.h, if its library is there. Called by programs that transfer
 * users' data; other programs need neither the library nor the code that it
 * runs when it is loaded. To be called before there are threads. */
void cipher_use_wide_gcm(void);
/* Loads the library of wide AES-GCM now; if it is not there it is never looked
 * for again. Without this call it is loaded when a key has moved much data. For
 * a process that changes its root directory: later it would load what somebody
 * has put under the new root. To be called before there are threads. */
void cipher_load_wide_gcm(void);

/* key, iv and mac_key are as long as alg and mac say. mac is NULL for AEADs,
 * and mac_key unused. The context copies what it needs; cipher_free() wipes
 * it. */
int cipher_new(struct cipher **out, const struct cipher_alg *alg,
    const struct mac_alg *mac, bool encrypts, const uint8_t *key,
    const uint8_t *iv, const uint8_t *mac_key) must_check;
void cipher_free(struct cipher *c);

/* Bytes behind the packet: AEAD tag or MAC. */
size_t cipher_tag_len(const struct cipher *c);
/* Packets are padded so that 4 + len is a multiple of cipher_align(); or len
 * alone, if cipher_length_apart(): AEAD and -etm do not encrypt the length with
 * the packet. */
size_t cipher_align(const struct cipher *c);
bool cipher_length_apart(const struct cipher *c);
/* The cipher blocks that a packet of this len takes; see struct cipher_pos. */
uint64_t cipher_blocks(const struct cipher *c, uint32_t len);
/* Bytes that must have arrived before cipher_decrypt_length() (4, or a block
 * for CTR with encrypt-and-MAC). */
size_t cipher_head_len(const struct cipher *c);

/* Encrypts 4 + len bytes at pkt in place and appends the tag. */
int cipher_encrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len) must_check;
/* Sets *len to the length field, which may not be authenticated yet: the caller
 * checks its range. With encrypt-and-MAC this decrypts the first block in
 * place. To be called exactly once a packet, before cipher_decrypt(). */
int cipher_decrypt_length(struct cipher *c, const struct cipher_pos *pos,
    uint8_t *pkt, uint32_t *len) must_check;
/* Decrypts the rest of the packet in place. ERR_MAC: the packet was changed on
 * its way, and the bytes at pkt must not be used. */
int cipher_decrypt(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len) must_check;

/*
 * Chained ciphers (CBC): one context takes all the packets, in order. Another
 * context can continue, if it is given what cipher_chain() returns as its IV.
 */
bool cipher_is_chained(const struct cipher_alg *alg);
void cipher_chain(const struct cipher *c, uint8_t *iv);
/* Must the refusal of a packet not show at once? (cipher-cbc.c has the reason.)
 * cipher_spend() takes as long as a MAC over len bytes does. */
bool cipher_hides_refusal(const struct cipher *c);
void cipher_spend(struct cipher *c, size_t len);

/*
 * Precomputed keystream, for ciphers whose keystream does not depend on the
 * packets (CTR): threads of the context compute it from pos on into a bounded
 * ring, so that encrypting and decrypting takes only an XOR and the MAC. It may
 * be started at any time in a key's life; the ciphertext is the same. A context
 * with threads is used by the loop thread only, in the order of positions;
 * another order is only slower.
 *
 * cipher_keystream_start(): ERR_ARGUMENT if the cipher has none, ERR_SYSTEM if
 * no threads can be started; the context works as before then.
 * cipher_keystream_stop() ends the threads and wipes the keystream, as
 * cipher_free() does. A child after fork() has no threads.
 */
bool cipher_keystream_can(const struct cipher_alg *alg);
/* Measures for some 10 us: true if the cipher is so slow on this CPU that
 * keystream from threads is worth a trial. */
bool cipher_keystream_measure(struct cipher *c);
int cipher_keystream_start(struct cipher *c, const struct cipher_pos *pos,
    size_t threads) must_check;
void cipher_keystream_stop(struct cipher *c);
size_t cipher_keystream_threads(const struct cipher *c); /* that run now */

#endif
