/* SPDX-License-Identifier: ISC */
/*
 * Encrypts private keys in memory. Each sealed key is a packet of
 * chacha20-poly1305: u32 length of what follows without the tag, u32 length of
 * the plain text, the plain text, padding, tag. In front of it is the packet
 * number that it was encrypted with, which is never used twice.
 */
#include "agent/shield.h"

#include <stdlib.h>
#include <string.h>

#include "base/hide.h"
#include "base/mem.h"
#include "cipher.h"
#include "compat/bsd-mem.h"
#include "compat/cpu.h"
#include "crypto/digest.h"
#include "crypto/kdf.h"
#include "crypto/rand.h"

#define CIPHER_NAME "chacha20-poly1305@openssh.com"

enum {
	KEY_LEN = 64, /* bytes */
	SALT_LEN = 16,
	HASH_LEN = 32,
	ALIGN = 8,
	NUMBER_LEN = 4,
	LENGTH_LEN = 4,
	/*
	 * Rounds of bcrypt. 2 rounds take some 15 ms, during which all clients
	 * wait. That is enough against guesses: those made through the socket
	 * are delayed after each wrong one (requests-lock.c), and somebody who
	 * reads the agent's memory pays 15 ms for each guess.
	 */
	ROUNDS = 2,
};

/* The secrets of the shield, in hidden memory. */
struct secret {
	uint8_t key[KEY_LEN]; /* encrypted while locked */
	uint8_t salt[SALT_LEN];
	uint8_t check[DIGEST_MAX_LEN];
};

struct shield {
	struct secret *secret;
	uint32_t next; /* number of the next packet */
	bool locked;
};

int
shield_new(struct shield **out)
{
	struct shield *s = calloc(1, sizeof *s);

	if (s == NULL)
		return ERR_NOMEM;
	s->secret = hide_alloc(sizeof *s->secret);
	if (s->secret == NULL) {
		free(s);
		return ERR_NOMEM;
	}
	rand_bytes(s->secret->key, KEY_LEN);
	*out = s;
	return 0;
}

void
shield_free(struct shield *s)
{
	if (s == NULL)
		return;
	hide_free(s->secret, sizeof *s->secret);
	free(s);
}

static int
make_cipher(const struct shield *s, bool encrypts, struct cipher **out)
{
	const struct cipher_alg *alg = cipher_by_name(CIPHER_NAME);

	ENSURE(alg != NULL && alg->key_len == KEY_LEN && alg->iv_len == 0);
	return cipher_new(out, alg, NULL, encrypts, s->secret->key, NULL,
	    NULL);
}

int
shield_seal(struct shield *s, const struct buf *plain, struct buf *out)
{
	size_t len = LENGTH_LEN + buf_len(plain), body, at = buf_len(out);
	struct cipher *c = NULL;
	uint8_t *p;
	int r;

	if (s->locked)
		return ERR_DENIED;
	len += (ALIGN - len % ALIGN) % ALIGN;
	if (len > CIPHER_LEN_MAX || s->next == UINT32_MAX)
		return ERR_LIMIT;
	if ((r = make_cipher(s, true, &c)) != 0)
		return r;
	body = NUMBER_LEN + LENGTH_LEN + len + cipher_tag_len(c);
	p = buf_reserve(out, body);
	if (p != NULL) {
		const struct cipher_pos pos = { .seqnr = s->next++ };

		memset(p, 0, body);
		wire_put_u32(p, pos.seqnr);
		wire_put_u32(p + NUMBER_LEN, (uint32_t)len);
		wire_put_u32(p + NUMBER_LEN + LENGTH_LEN,
		    (uint32_t)buf_len(plain));
		memcpy(p + NUMBER_LEN + 2 * LENGTH_LEN, buf_data(plain),
		    buf_len(plain));
		r = cipher_encrypt(c, &pos, p + NUMBER_LEN, (uint32_t)len);
		if (r == 0)
			buf_commit(out, body);
		else
			explicit_bzero(p, body);
	}
	cipher_free(c);
	cpu_clear_vectors();
	if (r == 0)
		r = buf_err(out);
	if (r != 0 && buf_len(out) > at)
		buf_truncate(out, at);
	return r;
}

/* Decrypts the sealed key in *copy in place, and appends the plain text to
 * out. */
static int
open_copy(struct cipher *c, struct buf *copy, struct buf *out)
{
	struct rd rd = rd_from_buf(copy), body;
	struct cipher_pos pos = { .seqnr = rd_u32(&rd) };
	struct span plain;
	uint32_t len;
	uint8_t *p;
	int r;

	if (rd_err(&rd) != 0 || rd.len < cipher_head_len(c))
		return ERR_MAC;
	p = (uint8_t *)(uintptr_t)rd.p;
	if ((r = cipher_decrypt_length(c, &pos, p, &len)) != 0)
		return r;
	if (rd.len != LENGTH_LEN + (size_t)len + cipher_tag_len(c))
		return ERR_MAC;
	if ((r = cipher_decrypt(c, &pos, p, len)) != 0)
		return r;
	body = rd_from(p + LENGTH_LEN, len);
	plain = rd_string(&body);
	if (rd_err(&body) != 0)
		return ERR_MAC;
	buf_put(out, plain.p, plain.len);
	return buf_err(out);
}

int
shield_open(const struct shield *s, const struct buf *sealed, struct buf *out)
{
	struct cipher *c = NULL;
	struct buf copy;
	int r;

	if (s->locked)
		return ERR_DENIED;
	buf_init_secret(&copy);
	buf_put_buf(&copy, sealed);
	if ((r = buf_err(&copy)) == 0)
		r = make_cipher(s, false, &c);
	if (r == 0)
		r = open_copy(c, &copy, out);
	cipher_free(c);
	buf_clear(&copy);
	cpu_clear_vectors();
	return r;
}

/* ---- the lock ------------------------------------------------------------ */

/* Derives from the passphrase the mask that encrypts the shield's key, and the
 * check value by which the right passphrase is recognized. */
static int
derive(const struct shield *s, struct span passphrase, uint8_t *mask,
    uint8_t *check)
{
	uint8_t hash[HASH_LEN];
	int r;

	r = kdf_bcrypt(passphrase.p, passphrase.len, s->secret->salt, SALT_LEN,
	    ROUNDS, hash, sizeof hash);
	if (r == 0)
		r = digest_hmac(DIGEST_SHA512, hash, sizeof hash, "mask", 4,
		    mask);
	if (r == 0)
		r = digest_hmac(DIGEST_SHA512, hash, sizeof hash, "check", 5,
		    check);
	explicit_bzero(hash, sizeof hash);
	return r;
}

static void
apply(struct secret *secret, const uint8_t *mask)
{
	for (size_t i = 0; i < KEY_LEN; i++)
		secret->key[i] ^= mask[i];
}

int
shield_lock(struct shield *s, struct span passphrase)
{
	uint8_t mask[DIGEST_MAX_LEN];
	int r;

	if (passphrase.len == 0)
		return ERR_ARGUMENT;
	if (s->locked)
		return ERR_DENIED;
	rand_bytes(s->secret->salt, SALT_LEN);
	r = derive(s, passphrase, mask, s->secret->check);
	if (r == 0) {
		apply(s->secret, mask);
		s->locked = true;
	}
	explicit_bzero(mask, sizeof mask);
	return r;
}

int
shield_unlock(struct shield *s, struct span passphrase)
{
	uint8_t mask[DIGEST_MAX_LEN], check[DIGEST_MAX_LEN];
	int r;

	if (!s->locked)
		return ERR_DENIED;
	if (passphrase.len == 0)
		return ERR_PASSPHRASE;
	r = derive(s, passphrase, mask, check);
	if (r == 0 && !mem_equal_ct(check, s->secret->check, sizeof check))
		r = ERR_PASSPHRASE;
	if (r == 0) {
		apply(s->secret, mask);
		s->locked = false;
		explicit_bzero(s->secret->check, sizeof s->secret->check);
	}
	explicit_bzero(mask, sizeof mask);
	explicit_bzero(check, sizeof check);
	return r;
}

bool
shield_is_locked(const struct shield *s)
{
	return s->locked;
}
