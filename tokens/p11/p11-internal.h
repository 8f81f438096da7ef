/* SPDX-License-Identifier: ISC */
/*
 * What the files of tokens/p11/ share: a library with the interface PKCS#11
 * (Cryptoki), and its tokens. Whatever the library returns may be wrong:
 * lengths and counts are checked. But its code may do anything to the memory of
 * its process, so it runs in a process of its own (hpnssh-pkcs11-helper).
 *
 * Threads: one; calls block.
 */
#ifndef HPN_TOKENS_P11_INTERNAL_H
#define HPN_TOKENS_P11_INTERNAL_H

#include <p11-kit/pkcs11.h>

#include "keys/p11-wire.h"

enum { P11_ID_MAX = 255 }; /* bytes of a CKA_ID */

struct token {
	CK_SLOT_ID slot;
	CK_SESSION_HANDLE session;
	char label[33]; /* label of the token, without blanks at its end */
	bool wants_login, on_reader;
	bool logged_in;
};

/* A key that was listed, and where its private key is. */
struct listed_key {
	struct buf blob; /* public key, by which requests name the key */
	uint32_t token;	 /* index in provider.tokens */
	uint8_t id[P11_ID_MAX];
	size_t id_len;
};

struct provider {
	void *library;
	CK_FUNCTION_LIST *f;
	struct token tokens[P11_TOKENS_MAX];
	size_t n_tokens;
	struct listed_key listed[P11_KEYS_MAX];
	size_t n_listed;
};

/* The status in an answer for a result of the library. */
enum p11_status provider_status(CK_RV rv);

/* tokens/p11/p11-objects.c. Reads an attribute of an object. False: the object
 * has none, or one longer than max bytes. */
bool object_get(struct provider *p, const struct token *t,
    CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type, void *out, size_t max,
    size_t *len);
/* Finds the objects of a token that match the template: their handles. Returns
 * how many, at most max. */
size_t objects_find(struct provider *p, const struct token *t,
    CK_ATTRIBUTE *template, size_t n, CK_OBJECT_HANDLE *out, size_t max);
int objects_list(struct provider *p, struct p11_list *out) must_check;

/* tokens/p11/p11-sign.c */
enum p11_status token_sign(struct provider *p, const struct listed_key *at,
    const struct p11_request *q, struct buf *signature);

#endif
