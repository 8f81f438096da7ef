/* SPDX-License-Identifier: ISC */
/*
 * What programs and hpnssh-pkcs11-helper say to each other: each message is a
 * length (u32) and a body; a request has one answer, and the next request
 * follows it. Neither side believes the other: the helper runs a library that
 * may be anything.
 *
 * Request: byte op, byte kind of PIN, string PIN; then
 *   list: string provider, u32 token that the PIN is for
 *   sign: string blob of the public key, string algorithm, string data
 * Answer: byte op, byte status; then
 *   done, list: u32 count, each string blob, string label, u32 token;
 *               u32 count of tokens, each string label, bool wants a login,
 *               bool PIN on the reader
 *   done, sign: string signature (its wire form)
 *   needs PIN:  string label of the token, bool PIN on the reader
 *   else nothing
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_P11_WIRE_H
#define HPN_KEYS_P11_WIRE_H

#include "keys/key.h"

enum {
	P11_KEYS_MAX = 256,
	P11_TOKENS_MAX = 64,
	P11_LABEL_MAX = 255,		/* bytes */
	P11_PIN_MAX = 255,		/* bytes */
	P11_PATH_MAX = 4096,		/* bytes */
	/* a message of an agent, and room for the other fields */
	P11_REQUEST_MAX = 320 * 1024,
	P11_ANSWER_MAX = 1024 * 1024,
};
/* The PIN is for all tokens that want one. */
#define P11_ALL_TOKENS UINT32_MAX

enum p11_op { P11_LIST = 1, P11_SIGN = 2 };

enum p11_pin_kind {
	P11_PIN_NONE,	  /* without a login to the token */
	P11_PIN_GIVEN,
	P11_PIN_ON_READER, /* the user types it on the token's reader */
};

enum p11_status {
	P11_DONE,
	P11_FAILED,
	P11_NEEDS_PIN,
	P11_PIN_WRONG,
	P11_PIN_LOCKED,
	P11_NO_KEY,
	P11_NO_LIBRARY, /* the library could not be loaded */
	P11_STATUS_COUNT,
};

/* A request. Its spans are borrowed. */
struct p11_request {
	enum p11_op op;
	enum p11_pin_kind pin_kind;
	struct span pin;
	char *provider; /* owned by a request that was read */
	uint32_t token;
	struct span blob;
	char *alg; /* owned by a request that was read */
	struct span data;
};

struct p11_key {
	struct key *key; /* public */
	char *label;
	uint32_t token; /* index */
};

struct p11_token {
	char *label;
	bool wants_login; /* the token may show more keys after a login */
	bool on_reader;
};

/* The keys and tokens of a provider. Zeroed: none. */
struct p11_list {
	struct p11_key *keys;
	struct p11_token *tokens;
	size_t n_keys, n_tokens;
};

void p11_list_clear(struct p11_list *l);
/* Adds key, which the list takes; label is copied. A key that is in the list
 * already is dropped. ERR_LIMIT: there are too many keys. */
int p11_list_add_key(struct p11_list *l, struct key *key, const char *label,
    uint32_t token) must_check;
int p11_list_add_token(struct p11_list *l, const char *label,
    bool wants_login, bool on_reader) must_check;

/* Append and read the body of a request. The caller clears what was read, also
 * after an error. */
int p11_put_request(const struct p11_request *q, struct buf *out) must_check;
int p11_read_request(struct span body, struct p11_request *out) must_check;
void p11_request_clear(struct p11_request *q);

void p11_put_head(struct buf *out, enum p11_op op, enum p11_status status);
int p11_put_list(const struct p11_list *l, struct buf *out) must_check;
/* Reads the head of an answer; *rd is then behind it. */
int p11_read_head(struct span body, enum p11_op op, struct rd *rd,
    enum p11_status *status) must_check;
int p11_read_list(struct rd *rd, struct p11_list *out) must_check;
/* Reads the fields that follow P11_NEEDS_PIN. The caller frees *label. */
int p11_read_wanted(struct rd *rd, char **label, bool *on_reader) must_check;

#endif
