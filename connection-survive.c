/* SPDX-License-Identifier: ISC */
#include "connection-survive.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "connection-survive-wire.h"
#include "crypto/digest.h"

static int
sign(const uint8_t *key, const struct buf *text, uint8_t *out)
{
	int r = buf_err(text);

	return r != 0 ? r :
			digest_hmac(DIGEST_SHA256, key, SURVIVE_KEY_LEN,
			    buf_data(text), buf_len(text), out);
}

static void
put_word(struct buf *b, const char *word)
{
	buf_put(b, word, strlen(word));
}

int
survive_keys_begin(struct survive_keys *k, const struct survive_binding *b,
    const uint8_t secret[SURVIVE_SECRET_LEN])
{
	struct buf text = { 0 };
	int r;

	put_word(&text, SURVIVE_REQUEST);
	buf_put_string(&text, b->session_id.p, b->session_id.len);
	buf_put_cstring(&text, b->user);
	buf_put_string(&text, b->hostkey.p, b->hostkey.len);
	*k = (struct survive_keys){ .generation = 0 };
	r = sign(secret, &text, k->key);
	k->granted = r == 0;
	buf_clear(&text);
	return r;
}

void
survive_keys_clear(struct survive_keys *k)
{
	explicit_bzero(k, sizeof *k);
}

static int
sign_request(const uint8_t *key, const struct survive_request *q,
    uint8_t *proof)
{
	struct buf text = { 0 };
	int r;

	put_word(&text, "client");
	buf_put_string(&text, q->session_id.p, q->session_id.len);
	buf_put(&text, q->bytes.p, q->bytes.len);
	r = sign(key, &text, proof);
	buf_clear(&text);
	return r;
}

static int
sign_answer(const uint8_t *key, const struct survive_request *q,
    struct span proof, uint64_t received, uint8_t *answer)
{
	struct buf text = { 0 };
	int r;

	put_word(&text, "server");
	buf_put_string(&text, q->session_id.p, q->session_id.len);
	buf_put_u64(&text, received);
	buf_put(&text, proof.p, proof.len);
	r = sign(key, &text, answer);
	buf_clear(&text);
	return r;
}

static int
make_next(const uint8_t *key, const struct survive_request *q, uint8_t *next)
{
	struct buf text = { 0 };
	int r;

	put_word(&text, "next");
	buf_put_string(&text, q->session_id.p, q->session_id.len);
	r = sign(key, &text, next);
	buf_clear(&text);
	return r;
}

static bool
is_equal(struct span got, const uint8_t *want)
{
	return got.len == SURVIVE_PROOF_LEN &&
	    mem_equal_ct(got.p, want, SURVIVE_PROOF_LEN);
}

int
survive_keys_ask(const struct survive_keys *k, const struct survive_request *q,
    uint8_t proof[SURVIVE_PROOF_LEN])
{
	if (!k->granted)
		return ERR_DENIED;
	return sign_request(k->key, q, proof);
}

static bool
is_proof_by(const uint8_t *key, const struct survive_request *q,
    struct span proof)
{
	uint8_t want[SURVIVE_PROOF_LEN];
	bool right = sign_request(key, q, want) == 0 && is_equal(proof, want);

	explicit_bzero(want, sizeof want);
	return right;
}

/* The key of the request's generation by which the proof is right; NULL: it is
 * right by none. */
static const uint8_t *
key_of(const struct survive_keys *k, const struct survive_request *q,
    struct span proof)
{
	if (!k->granted || q->generation == UINT32_MAX)
		return NULL;
	if (k->has_older && q->generation == k->generation - 1)
		return is_proof_by(k->older, q, proof) ? k->older : NULL;
	if (q->generation != k->generation)
		return NULL;
	for (unsigned i = 0; i < k->n_others; i++)
		if (is_proof_by(k->others[i], q, proof))
			return k->others[i];
	return is_proof_by(k->key, q, proof) ? k->key : NULL;
}

bool
survive_keys_check(const struct survive_keys *k,
    const struct survive_request *q, struct span proof)
{
	return key_of(k, q, proof) != NULL;
}

static void
forget_others(struct survive_keys *k)
{
	explicit_bzero(k->others, sizeof k->others);
	k->n_others = 0;
}

/* Moves the newest key to those of its generation that may still be used. If
 * there are too many, the one of the first return is forgotten. */
static void
keep_other(struct survive_keys *k)
{
	if (k->n_others == SURVIVE_OTHERS_MAX)
		memmove(k->others[0], k->others[1],
		    --k->n_others * sizeof k->others[0]);
	memcpy(k->others[k->n_others++], k->key, sizeof k->key);
}

/* The client has come back by the key "of", which makes the key "next". */
static void
advance(struct survive_keys *k, const struct survive_request *q,
    const uint8_t of[SURVIVE_KEY_LEN], const uint8_t next[SURVIVE_KEY_LEN])
{
	if (q->generation == k->generation) {
		memcpy(k->older, of, sizeof k->older);
		forget_others(k);
	} else {
		keep_other(k);
	}
	memcpy(k->key, next, sizeof k->key);
	k->generation = q->generation + 1;
	k->has_older = true;
}

int
survive_keys_accept(struct survive_keys *k, const struct survive_request *q,
    struct span proof, uint64_t received, uint8_t answer[SURVIVE_PROOF_LEN])
{
	uint8_t next[SURVIVE_KEY_LEN];
	const uint8_t *of = key_of(k, q, proof);
	int r;

	if (of == NULL)
		return ERR_DENIED;
	if ((r = make_next(of, q, next)) == 0 &&
	    (r = sign_answer(of, q, proof, received, answer)) == 0)
		advance(k, q, of, next);
	explicit_bzero(next, sizeof next);
	return r;
}

int
survive_keys_confirm(struct survive_keys *k, const struct survive_request *q,
    struct span proof, uint64_t received, struct span answer)
{
	uint8_t want[SURVIVE_PROOF_LEN], next[SURVIVE_KEY_LEN];
	int r;

	if (!k->granted || q->generation != k->generation)
		return ERR_DENIED;
	if ((r = sign_answer(k->key, q, proof, received, want)) == 0)
		r = is_equal(answer, want) ? 0 : ERR_DENIED;
	if (r == 0 && (r = make_next(k->key, q, next)) == 0) {
		memcpy(k->key, next, sizeof k->key);
		k->generation++;
	}
	explicit_bzero(want, sizeof want);
	explicit_bzero(next, sizeof next);
	return r;
}

void
survive_keys_settle(struct survive_keys *k)
{
	explicit_bzero(k->older, sizeof k->older);
	k->has_older = false;
	forget_others(k);
}
