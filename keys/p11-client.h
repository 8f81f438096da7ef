/* SPDX-License-Identifier: ISC */
/*
 * Keys of tokens (PKCS#11), which a hpnssh-pkcs11-helper uses for us: the
 * library of a provider never comes into this process, where it could crash
 * it, hang it or read its secrets. A helper that does not answer in time, or
 * says what cannot be, is ended; then all that is asked of it fails.
 *
 * Threads: loop thread only. p11_begin_*() and p11_*_step() do not block.
 */
#ifndef HPN_KEYS_P11_CLIENT_H
#define HPN_KEYS_P11_CLIENT_H

#include "keys/p11-wire.h"

struct p11; /* a helper with one provider */

/* A PIN for a request; zeroed: none. */
struct p11_pin {
	enum p11_pin_kind kind;
	const char *text; /* with P11_PIN_GIVEN */
	uint32_t token;	  /* for a list: the token that the PIN is for */
};

/* Starts a helper (SSH_PKCS11_HELPER, or ours) for the library at path. */
int p11_start(struct p11 **out, const char *path) must_check;
void p11_end(struct p11 *p); /* ends the helper; NULL is fine */

/* For event loops: p11_begin_*() begins a call, one at a time, and p11_*_step()
 * is called when p11_fd() is ready. A step returns ERR_AGAIN until the answer
 * is there. */
int p11_fd(const struct p11 *p);
/* is p11_fd() waited for to be writable? else readable */
bool p11_writes(const struct p11 *p);
int p11_begin_list(struct p11 *p, const struct p11_pin *pin) must_check;
int p11_list_step(struct p11 *p, struct p11_list *out) must_check;
int p11_begin_sign(struct p11 *p, const struct key *k, const char *alg,
    struct span data, const struct p11_pin *pin) must_check;
/* Appends the signature in its wire form, which was verified. */
int p11_sign_step(struct p11 *p, struct buf *signature) must_check;

/*
 * The same calls for programs that wait for the answer, limit_ms at most (0:
 * the default). ERR_PIN_NEEDED: p11_wanted() names the token; ERR_PIN: the PIN
 * is wrong; ERR_PIN_LOCKED; ERR_P11: the provider or the helper has failed;
 * ERR_TIMEOUT.
 */
int p11_get_list(struct p11 *p, const struct p11_pin *pin, unsigned limit_ms,
    struct p11_list *out) must_check;
int p11_sign(struct p11 *p, const struct key *k, const char *alg,
    struct span data, const struct p11_pin *pin, unsigned limit_ms,
    struct buf *signature) must_check;
/* After ERR_PIN_NEEDED: the label of the token that wants a PIN; borrowed.
 * *on_reader: the PIN is typed on the token's own reader. */
const char *p11_wanted(const struct p11 *p, bool *on_reader);

#endif
