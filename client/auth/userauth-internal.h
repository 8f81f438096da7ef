/* SPDX-License-Identifier: ISC */
/*
 * Between userauth.c and the methods. A method is a const struct
 * userauth_ops and a row of CLIENT_AUTH_METHODS.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_INTERNAL_H
#define HPN_CLIENT_AUTH_USERAUTH_INTERNAL_H

#include "base/buf.h"
#include "client/auth/userauth.h"
#include "client/auth/userauth-order.h"
#include "keys/agent-client.h"
#include "keys/key.h"
#include "keys/p11-client.h"

enum {
	USERAUTH_TEXT_MAX = 4096, /* bytes of a peer's text that are shown */
};

#define USERAUTH_ID(id, name) USERAUTH_ID_##id,
enum userauth_id {
	CLIENT_AUTH_METHODS(USERAUTH_ID) USERAUTH_METHOD_COUNT,
	USERAUTH_ID_NONE, /* the request "none" */
};
#undef USERAUTH_ID

struct userauth_ops {
	/* If it is preferred, it makes the first request, before it is known
	 * which methods the server offers. */
	bool goes_first;
	/* The method is of use with this configuration. */
	bool (*enabled)(const struct userauth *ua);
	/* Sends the next request: 1, or 0 if nothing is left to try. */
	int (*next)(struct userauth *ua);
	/* Messages 60-79. May send, or go on to the next try with
	 * userauth_advance(). USERAUTH_UNKNOWN: it is none of its messages. */
	int (*input)(struct userauth *ua, uint8_t type, struct rd body);
	/* A FAILURE came. True: the server will answer to other requests of
	 * this method. NULL: there is only one at a time. */
	bool (*refused)(struct userauth *ua);
	/* Some method's last request, ua->current's, was part of a success:
	 * start anew, as what was refused may be taken now (may be NULL). */
	void (*partial)(struct userauth *ua);
	/* The method's last request was all, or a part, of a success (may be
	 * NULL). */
	void (*succeeded)(const struct userauth *ua);
	/* The key that was used, as userauth_key_hint(). NULL: the method uses
	 * no keys. */
	char *(*used_key)(const struct userauth *ua);
};

/* Offers that are sent without waiting: strict servers allow three tries. */
enum { FLIGHT_MAX = 3 };

/* A public key or certificate in short: by it one is found among thousands
 * without encoding them all. */
struct key_mark {
	uint8_t sha256[32]; /* of its blob */
};

/* A key that may be tried, plain or with a certificate. */
struct candidate {
	struct key *pub;  /* NULL: not known without the passphrase */
	struct key_mark mark; /* of pub */
	struct key *priv; /* loaded; plain */
	char *path;	  /* file of the private key; NULL: there is none */
	char *name;	  /* for texts: path or comment */
	char *alg;	  /* signature algorithm, from the offer on */
	struct key_priority priority;
	bool in_token; /* of PKCS11Provider, which signs */
	bool in_agent; /* which signs, unless priv does */
	bool plain_in_agent; /* and has the key only, not the certificate */
	bool left_out; /* only for what the server takes, as told so far */
	bool tried; /* not to be tried (again) before a partial success */
	bool proven; /* it was a part of a success: not to be tried again */
	bool accepted; /* the server would take it; it has not signed yet */
	bool told;     /* that the server accepts it */
};

struct pubkey_state {
	struct candidate *v; /* in the order of trying */
	size_t n, room;
	/* Offers that the server has not answered yet, in their order; behind
	 * them, if signing, the signed request of current. */
	size_t flight[FLIGHT_MAX], in_flight;
	size_t current;
	bool signing;
	bool flight_sent; /* there is one flight only */
	struct agent *agent;
	struct p11 *p11; /* for the keys of tokens; NULL: none */
	bool pin_was_wrong; /* it is not asked for again: tokens lock up */
};

struct hostbased_state; /* private to userauth-hostbased.c */

enum userauth_state {
	USERAUTH_SERVICE_REQUESTED, /* its grant is not waited for */
	USERAUTH_SERVICE_GRANTED,
	USERAUTH_SUCCEEDED,
};

struct userauth {
	struct userauth_params p; /* not its spans: these are copied below */
	struct buf session_id, hostkey, host_signature;
	char *server_sig_algs; /* NULL: not known */
	bool hostbound;
	char *key_hint; /* NULL: none */
	enum userauth_state state;
	bool signed_first; /* the first request carries a signature */
	bool refused; /* there was a FAILURE */
	size_t banner_bytes; /* that were shown */
	bool asked_none; /* the request "none" was sent */
	char *offered; /* methods that the server named last */
	enum userauth_id current; /* of the last request */
	bool exhausted[USERAUTH_METHOD_COUNT];
	unsigned requests_seen; /* kbdint: INFO_REQUESTs of this try */
	unsigned prompts_answered; /* by the user, without those of tries that
				    * were refused; also for passphrases */
	unsigned prompts_proven;   /* of these, before a partial success */
	char *answer; /* the last one, if it may become p.secret's; or NULL */
	enum userauth_effort effort; /* from success on */
	unsigned password_tries, kbdint_tries;
	struct pubkey_state *pubkey; /* made at the first use */
	struct gssapi_state *gssapi; /* the same */
	struct hostbased_state *hostbased; /* the same */
};

#define USERAUTH_OPS(id, name) extern const struct userauth_ops userauth_##id;
CLIENT_AUTH_METHODS(USERAUTH_OPS)
#undef USERAUTH_OPS

/* Begins a USERAUTH_REQUEST (RFC 4252 section 5) in an initialised buf. */
void userauth_put_request(const struct userauth *ua, struct buf *b,
    const char *method);
/* The user answered a prompt. Takes the answer; NULL: it is of no use for a
 * further connection. If it was the only one, further connections may use
 * it. */
void userauth_keep_answer(struct userauth *ua, char *answer);
/* The answer that the first connection's user gave to this prompt, with
 * BatchMode; or NULL. */
const char *userauth_kept_answer(const struct userauth *ua);
/* Sends and clears b. */
int userauth_send(struct userauth *ua, struct buf *b) must_check;
/* The current try ended without an answer from the server: make the next. */
int userauth_advance(struct userauth *ua) must_check;
/* A peer's text, fit for a terminal: control characters and broken UTF-8
 * escaped, line ends kept. Appends. */
void userauth_put_clean(struct buf *out, struct span text);

void gssapi_state_free(struct gssapi_state *s);

/* The key that was used, as userauth_key_hint(). */
char *pubkey_used(const struct userauth *ua);
/* The server takes other algorithms than it said before: keys that were left
 * out for that may be tried. False: there are none. */
bool pubkey_try_left_out(struct userauth *ua);
/* Somebody has to touch it. */
bool pubkey_used_is_security_key(const struct userauth *ua);
/* Makes ua->pubkey. */
int pubkey_make_list(struct userauth *ua) must_check;
bool pubkey_is_hinted_first(const struct userauth *ua);
/* The private key, if it was loaded, be it for a certificate or for the key
 * alone; or NULL. */
const struct key *pubkey_loaded(const struct pubkey_state *s,
    const struct candidate *c);
/* Appends what logs call it: PATH TYPE FINGERPRINT explicit agent. */
void pubkey_describe(const struct candidate *c, struct buf *out);
void pubkey_state_free(struct pubkey_state *s);
/* The user is authenticated: what only signed goes, that is private keys, the
 * connection to the agent and the process that has the tokens. s may be
 * NULL. */
void pubkey_forget(struct pubkey_state *s);
struct key_mark pubkey_mark(const struct key *k);
/* Appends one. Takes pub, which may be NULL. */
struct candidate *pubkey_add(struct pubkey_state *s, struct key *pub,
    const struct key_mark *mark);
/* The candidate has this public key. */
bool pubkey_is(const struct candidate *c, const struct key_mark *mark);

/* client/auth/userauth-token.c. Behind the files: puts the keys of the tokens
 * of PKCS11Provider in front of them. One that is of no use was logged. */
void pubkey_add_tokens(struct userauth *ua, struct pubkey_state *s);
/* The token signs; it may ask the user. alg: of a plain key. */
int pubkey_token_sign(struct userauth *ua, const struct key *k,
    const char *alg, struct span data, struct buf *signature) must_check;
void hostbased_state_free(struct hostbased_state *s);

#endif
