/* SPDX-License-Identifier: ISC */
/*
 * Between userauth.c and the methods. A method is a const struct
 * userauth_ops and a row in userauth.c.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_USERAUTH_INTERNAL_H
#define HPN_CLIENT_USERAUTH_INTERNAL_H

#include "base/buf.h"
#include "client/userauth.h"

enum {
	USERAUTH_METHODS_MAX = 8,
	USERAUTH_TEXT_MAX = 4096, /* bytes of a peer's text that are shown */
};

struct userauth_ops {
	const char *name;
	/* Is it of use with this configuration? */
	bool (*enabled)(const struct userauth *ua);
	/* Sends the next request: 1, or 0 if nothing is left to try. */
	int (*next)(struct userauth *ua);
	/* Messages 60-79. May send; USERAUTH_UNKNOWN; or asks for the next
	 * try with userauth_advance(). */
	int (*input)(struct userauth *ua, uint8_t type, struct rd body);
	/* The last request was part of a success: start anew (may be NULL). */
	void (*partial)(struct userauth *ua);
};

struct pubkey_state;

struct userauth {
	struct userauth_params p; /* not its spans: these are copied below */
	struct buf session_id, hostkey;
	char *server_sig_algs; /* NULL: not told */
	bool hostbound;
	char *key_hint; /* NULL: none */
	bool service_accepted, done;
	bool sure;    /* the first request carries a signature */
	bool refused; /* there was a FAILURE */
	char *offered; /* methods that the server named last */
	const struct userauth_ops *current; /* NULL: "none" */
	bool exhausted[USERAUTH_METHODS_MAX];
	unsigned requests_seen; /* kbdint: INFO_REQUESTs of this try */
	unsigned password_tries, kbdint_tries;
	struct pubkey_state *pubkey; /* made at the first use */
};

extern const struct userauth_ops userauth_pubkey;
extern const struct userauth_ops userauth_password;
extern const struct userauth_ops userauth_kbdint;

/* Begins a USERAUTH_REQUEST (RFC 4252 section 5) in an initialised buf. */
void userauth_put_request(const struct userauth *ua, struct buf *b,
    const char *method);
/* Sends and clears b. */
int userauth_send(struct userauth *ua, struct buf *b) must_check;
/* The current try led nowhere without an answer from the server: go on. */
int userauth_advance(struct userauth *ua) must_check;
/* A peer's text, fit for a terminal: control characters and broken UTF-8
 * escaped, line ends kept. Appends. */
void userauth_put_clean(struct buf *out, struct span text);

/* As userauth_key_hint(). */
char *pubkey_used(const struct userauth *ua);
void pubkey_state_free(struct pubkey_state *s);

#endif
