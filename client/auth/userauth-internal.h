/* SPDX-License-Identifier: ISC */
/*
 * What userauth.c and the methods of authentication share. A method is a const
 * struct userauth_ops and a row of CLIENT_AUTH_METHODS.
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
	USERAUTH_TEXT_MAX = 4096, /* bytes of a text of the server that are
				   * shown */
};

#define USERAUTH_ID(id, name) USERAUTH_ID_##id,
enum userauth_id {
	CLIENT_AUTH_METHODS(USERAUTH_ID) USERAUTH_METHOD_COUNT,
	USERAUTH_ID_NONE, /* the request "none" */
};
#undef USERAUTH_ID

struct userauth_ops {
	/* The method may make the first request of the login, if it comes first
	 * in PreferredAuthentications, without knowing yet which methods the
	 * server offers. */
	bool goes_first;
	/* Can the method be used with this configuration? */
	bool (*enabled)(const struct userauth *ua);
	/* Sends the method's next request. 1: sent; 0: the method has nothing
	 * left to try; or an error. */
	int (*next)(struct userauth *ua);
	/* Handles a message of type 60-79. It may send messages, or go on to
	 * the next try with userauth_advance(). USERAUTH_UNKNOWN: the method
	 * has no such message. */
	int (*input)(struct userauth *ua, uint8_t type, struct rd body);
	/* A FAILURE arrived. True: other requests of this method were sent, and
	 * the server will answer them. NULL: the method never has more than one
	 * request unanswered. */
	bool (*refused)(struct userauth *ua);
	/* The last request, of the method ua->current, was a partial success:
	 * start anew, because the server may now accept what it refused before.
	 * May be NULL. */
	void (*partial)(struct userauth *ua);
	/* The method's last request was a success or a partial success. May be
	 * NULL. */
	void (*succeeded)(const struct userauth *ua);
	/* What userauth_key_hint() shall return after a success by this method.
	 * NULL: nothing. */
	char *(*used_key)(const struct userauth *ua);
};

/* Keys that are offered without waiting for answers. Strict servers allow only
 * three tries. */
enum { FLIGHT_MAX = 3 };

/* A short mark of a public key or certificate. Thousands of keys are compared
 * by it, without encoding them again. */
struct key_mark {
	uint8_t sha256[32]; /* digest of the key's blob */
};

/* A key that may be tried: a plain key, or a key with a certificate. */
struct candidate {
	struct key *pub;  /* public key or certificate; NULL: it has to be read
			   * from the private key, which needs the passphrase */
	struct key_mark mark; /* of pub, if there is one */
	struct key *priv; /* the private key, once it is loaded; never a
			   * certificate */
	char *path;	  /* file of the private key; NULL: there is none */
	char *name;	  /* for messages: a path or a comment */
	char *alg;	  /* signature algorithm; set before the key is
			   * offered */
	struct key_priority priority;
	bool in_token; /* the token of PKCS11Provider has the private key, and
			* signs */
	bool in_agent; /* the agent has the private key, and signs, unless priv
			* is loaded */
	bool plain_in_agent; /* the agent has only the plain key of this
			      * certificate */
	bool left_out; /* not tried, only because the server is not known to
			* accept its algorithms */
	bool tried; /* was tried, and is tried again only after a partial
		     * success */
	bool proven; /* had a partial success: never tried again */
	bool issued; /* the certificate was printed by CertificateCommand */
	bool accepted; /* the server accepts the key, and no signed request was
			* sent yet */
	bool told;     /* it was logged that the server accepts the key */
};

struct pubkey_state {
	struct candidate *v; /* the candidates, in the order in which they are
			      * tried */
	size_t n, room;
	/* The indexes in v of the offers that the server has not answered yet,
	 * oldest first. If signing, the signed request of v[current] was sent
	 * after them. */
	size_t flight[FLIGHT_MAX], in_flight;
	size_t current;
	bool signing;
	bool flight_sent; /* several offers at once were sent; that is done only
			   * once */
	struct agent *agent;
	struct p11 *p11; /* has the tokens; NULL: there are none */
	bool pin_was_wrong; /* do not ask for the PIN again: after some wrong
			     * ones a token locks up */
};

struct hostbased_state; /* private to userauth-hostbased.c */

enum userauth_state {
	USERAUTH_SERVICE_REQUESTED, /* sent; requests follow without waiting for
				     * the answer */
	USERAUTH_SERVICE_GRANTED,
	USERAUTH_SUCCEEDED,
};

struct userauth {
	struct userauth_params p; /* but its spans are not valid here: they were
				   * copied to the next fields */
	struct buf session_id, hostkey, host_signature;
	char *server_sig_algs; /* algorithms that the server accepts; NULL: not
				* known */
	bool hostbound;
	struct login_ticket ticket; /* the ticket that is being tried, if
				     * has_ticket */
	bool has_ticket;
	bool by_ticket; /* the last request was for the ticket */
	char *key_hint; /* copy of p.key_hint; NULL: none */
	enum userauth_state state;
	bool signed_first; /* the first request carries a proof */
	bool refused; /* a FAILURE has arrived, and not for a ticket */
	size_t banner_bytes; /* bytes of banners that were shown */
	bool asked_none; /* the request "none" was sent */
	bool certificate_asked; /* CertificateCommand was run, or was found to
				 * be no use for this login */
	char *offered; /* methods that the last FAILURE named; NULL: none has
			* arrived */
	enum userauth_id current; /* method of the last request */
	bool exhausted[USERAUTH_METHOD_COUNT];
	unsigned requests_seen; /* kbdint: INFO_REQUESTs of this try */
	unsigned prompts_answered; /* prompts that the user answered, for
				    * passphrases too, except in tries that were
				    * refused */
	unsigned prompts_proven;   /* those of prompts_answered that led to a
				    * partial success */
	char *answer; /* the user's last answer, if further connections may use
		       * it; else NULL */
	bool code_sent; /* an answer that is good once is the last message */
	enum userauth_effort effort; /* from success on */
	unsigned password_tries, kbdint_tries;
	struct pubkey_state *pubkey; /* NULL until the method is used first */
	struct gssapi_state *gssapi; /* as pubkey: NULL until the first use */
	struct hostbased_state *hostbased; /* also NULL until the first use */
};

#define USERAUTH_OPS(id, name) extern const struct userauth_ops userauth_##id;
CLIENT_AUTH_METHODS(USERAUTH_OPS)
#undef USERAUTH_OPS

/* Appends the beginning of a USERAUTH_REQUEST (RFC 4252 section 5) to b, which
 * was initialised by the caller. */
void userauth_put_request(const struct userauth *ua, struct buf *b,
    const char *method);
/* Counts a prompt that the user answered. Takes the answer; NULL: further
 * connections cannot use it. If it stays the only answer until the success,
 * further connections may use it. */
void userauth_keep_answer(struct userauth *ua, char *answer);
/* With BatchMode, the answer that the user gave for the first connection; NULL:
 * there is none. Borrowed. */
const char *userauth_kept_answer(const struct userauth *ua);
/* Sends and clears b. */
int userauth_send(struct userauth *ua, struct buf *b) must_check;
/* Makes the next try, because the current one has ended without an answer of
 * the server. */
int userauth_advance(struct userauth *ua) must_check;
/* Appends a text of the server so that a terminal can show it: control
 * characters and broken UTF-8 are escaped, line ends stay. */
void userauth_put_clean(struct buf *out, struct span text);

void gssapi_state_free(struct gssapi_state *s);

/* userauth-resume.c: userauth_ask_to_resume() sends the request of p.resume;
 * userauth_resume_input() takes the answers, as userauth_input() does. */
int userauth_ask_to_resume(struct userauth *ua) must_check;
int userauth_resume_input(struct userauth *ua, uint8_t type,
    struct rd body) must_check;

/* The hint for the key of the last signed request, as userauth_key_hint()
 * describes it; NULL: none. Caller frees. */
char *pubkey_used(const struct userauth *ua);
/* The server has told that it accepts other algorithms than before: lets the
 * keys be tried that were left out because of their algorithms. False: there
 * are none. */
bool pubkey_try_left_out(struct userauth *ua);
/* Was the key of the last signed request a security key, which somebody has to
 * touch each time? */
bool pubkey_used_is_security_key(const struct userauth *ua);
/* Makes ua->pubkey with the list of all keys that may be tried. */
int pubkey_make_list(struct userauth *ua) must_check;
/* Makes the list of keys anew, after a source of it has got more. Keys that
 * were tried stay marked. No request may be unanswered. */
int pubkey_list_again(struct userauth *ua) must_check;
/* userauth-certificate.c: appends the certificates that CertificateCommand has
 * printed for this host. */
void pubkey_add_issued(const struct userauth *ua, struct pubkey_state *s);
/* Runs CertificateCommand if no certificate in the list is good for some
 * minutes more, and then makes the list anew. */
int pubkey_renew_certificate(struct userauth *ua) must_check;
/* Runs CertificateCommand because the server has refused all keys, unless it
 * was run for this login. *more: the list was made anew, and may have keys that
 * were not tried. */
int pubkey_replace_refused(struct userauth *ua, bool *more) must_check;
/* Is the first key of the list the one that worked last time? */
bool pubkey_is_hinted_first(const struct userauth *ua);
/* The private key for c if a candidate has it loaded: c itself, or one with the
 * same key (plain or with another certificate). NULL: none has. Borrowed. */
const struct key *pubkey_loaded(const struct pubkey_state *s,
    const struct candidate *c);
/* Appends the candidate as logs show it: name, type, fingerprint, and
 * "explicit", "token" and "agent" as far as they apply. */
void pubkey_describe(const struct candidate *c, struct buf *out);
void pubkey_state_free(struct pubkey_state *s);
/* The user is authenticated: frees what is only needed to sign (private keys,
 * the connection to the agent, and the process that has the tokens). s may be
 * NULL. */
void pubkey_forget(struct pubkey_state *s);
struct key_mark pubkey_mark(const struct key *k);
/* Appends a candidate with the public key pub, which it takes (NULL: not known)
 * and its mark. The pointer is valid until the list changes. */
struct candidate *pubkey_add(struct pubkey_state *s, struct key *pub,
    const struct key_mark *mark);
/* Does the candidate have the public key with this mark? */
bool pubkey_is(const struct candidate *c, const struct key_mark *mark);

/* Adds the keys of the tokens of PKCS11Provider, in front of the keys of files;
 * to be called when the files were added. A provider that cannot be used was
 * logged. (In userauth-token.c.) */
void pubkey_add_tokens(struct userauth *ua, struct pubkey_state *s);
/* Has the token sign data with its key k, a plain key; alg is an algorithm of
 * plain keys. May ask the user for the PIN. Appends the signature. */
int pubkey_token_sign(struct userauth *ua, const struct key *k,
    const char *alg, struct span data, struct buf *signature) must_check;
void hostbased_state_free(struct hostbased_state *s);

#endif
