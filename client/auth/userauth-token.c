/* SPDX-License-Identifier: ISC */
/*
 * Keys of tokens (PKCS11Provider). In the order of tries they come first among
 * the keys of files, and none of them counts as named by the user.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/auth/userauth-internal.h"
#include "keys/p11-ask.h"

/* The candidate that has the key with this mark; NULL: there is none. */
static struct candidate *
find(struct pubkey_state *s, const struct key_mark *mark)
{
	for (size_t i = 0; i < s->n; i++)
		if (pubkey_is(&s->v[i], mark))
			return &s->v[i];
	return NULL;
}

/* Moves the candidate c to an earlier position of the list. */
static void
move_to(struct pubkey_state *s, struct candidate *c, size_t index)
{
	struct candidate moved = *c;

	memmove(s->v + index + 1, s->v + index,
	    (size_t)(c - (s->v + index)) * sizeof *s->v);
	s->v[index] = moved;
}

/* Makes a candidate of a token's key, or changes the candidate that has the
 * same key, at position index. Takes the fields of k that it uses. False: with
 * IdentitiesOnly the key is not wanted. */
static bool
place_key(const struct userauth *ua, struct pubkey_state *s,
    struct p11_key *k, size_t index)
{
	struct key_mark mark = pubkey_mark(k->key);
	struct candidate *c = find(s, &mark);

	if (c == NULL) {
		if (ua->p.conf->auth.identities_only)
			return false;
		c = pubkey_add(s, k->key, &mark);
		k->key = NULL;
	}
	/* The private key of the file is not used: the token signs. */
	free(c->path);
	c->path = NULL;
	free(c->name);
	c->name = k->label;
	k->label = NULL;
	c->in_token = true;
	c->priority = (struct key_priority){ KEY_OF_FILE, false,
		KEY_RANK_PLAIN };
	move_to(s, c, index);
	return true;
}

void
pubkey_add_tokens(struct userauth *ua, struct pubkey_state *s)
{
	const struct client_conf *conf = ua->p.conf;
	struct p11_ask ask = { .may_ask = !conf->auth.batch_mode };
	const char *library = conf->auth.pkcs11_provider;
	struct p11_list list = { 0 };
	size_t placed = 0;

	if (library == NULL || p11_ask_open(&ask, library, &s->p11, &list) != 0)
		return;
	if (ask.asked)
		userauth_keep_answer(ua, NULL);
	for (size_t i = 0; i < list.n_keys; i++)
		placed += place_key(ua, s, &list.keys[i], placed);
	log_debug("%zu keys of tokens", placed);
	p11_list_clear(&list);
}

int
pubkey_token_sign(struct userauth *ua, const struct key *k, const char *alg,
    struct span data, struct buf *signature)
{
	struct p11_ask ask = { .may_ask = !ua->p.conf->auth.batch_mode };
	struct pubkey_state *s = ua->pubkey;
	int r;

	if (s->pin_was_wrong)
		return ERR_PIN;
	r = p11_ask_sign(&ask, s->p11, k, alg, data, signature);
	s->pin_was_wrong = ask.asked && r != 0;
	/* A further connection would need the PIN once more. */
	if (ask.asked)
		userauth_keep_answer(ua, NULL);
	return r;
}
