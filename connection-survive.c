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

/* The key of that generation; NULL: there is none any more, or not yet. */
static const uint8_t *
key_of(const struct survive_keys *k, uint32_t generation)
{
	if (!k->granted)
		return NULL;
	if (generation == k->generation)
		return k->key;
	return k->has_older && generation == k->generation - 1 ? k->older :
								  NULL;
}

bool
survive_keys_check(const struct survive_keys *k,
    const struct survive_request *q, struct span proof)
{
	const uint8_t *key = key_of(k, q->generation);
	uint8_t want[SURVIVE_PROOF_LEN];
	bool right = key != NULL && q->generation != UINT32_MAX &&
	    sign_request(key, q, want) == 0 && is_equal(proof, want);

	explicit_bzero(want, sizeof want);
	return right;
}

int
survive_keys_accept(struct survive_keys *k, const struct survive_request *q,
    struct span proof, uint64_t received, uint8_t answer[SURVIVE_PROOF_LEN])
{
	uint8_t key[SURVIVE_KEY_LEN], want[SURVIVE_PROOF_LEN];
	uint8_t next[SURVIVE_KEY_LEN];
	const uint8_t *of = key_of(k, q->generation);
	int r;

	if (of == NULL || q->generation == UINT32_MAX)
		return ERR_DENIED;
	memcpy(key, of, sizeof key);
	if ((r = sign_request(key, q, want)) == 0)
		r = is_equal(proof, want) ? 0 : ERR_DENIED;
	if (r == 0 && (r = make_next(key, q, next)) == 0 &&
	    (r = sign_answer(key, q, proof, received, answer)) == 0) {
		memcpy(k->older, key, sizeof k->older);
		memcpy(k->key, next, sizeof k->key);
		k->generation = q->generation + 1;
		k->has_older = true;
	}
	explicit_bzero(key, sizeof key);
	explicit_bzero(next, sizeof next);
	explicit_bzero(want, sizeof want);
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
}
