/* SPDX-License-Identifier: ISC */
/*
 * User authentication (RFC 4252, 4256), the client's part. It is driven by the
 * server's messages. Methods are rows of a table; they are tried in the order
 * of PreferredAuthentications, if the server offers them.
 *
 * Threads: loop thread only; methods may ask the user, which blocks.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_H
#define HPN_CLIENT_AUTH_USERAUTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "client/auth/login-tickets.h"
#include "conf/client-conf.h"
#include "packet.h"

struct userauth;

/* What the user had to do for the first connection to a host. It tells whether
 * a further connection, which never asks the user, can log in too. */
enum userauth_effort {
	USERAUTH_SILENT,     /* nothing */
	USERAUTH_ONE_ANSWER, /* the user typed one password: it may be used
			      * again, unless it was good for one time only */
	USERAUTH_INTERACTIVE, /* the user answered more prompts, or one whose
			       * answer cannot be used again: nothing is kept */
};

/* The user's answer, which the first connection keeps and further connections
 * use. */
struct userauth_secret {
	enum userauth_effort effort;
	char *answer; /* owned; freed by prompt_free(); NULL: none */
};

/* A session whose connection was lost, and which is to go on over this one
 * (resume@hpnssh.org). On success its keys become those of the next
 * generation. */
struct survive_keys;
struct userauth_resume {
	struct survive_keys *keys;
	struct span handle;
	uint64_t received;	/* messages of the server that this end has
				 * received */
	uint64_t peer_received; /* messages of this end that the server has
				 * received; set at the success */
	bool proven; /* the server has proven that it has the session */
};

/* conf, packet, address and secret are borrowed, the rest is copied. */
struct userauth_params {
	const struct client_conf *conf;
	struct packet *packet;
	/* session_id, hostkey and host_signature are results of the first key
	 * exchange. */
	struct span session_id;
	struct span hostkey; /* blob of the host's key */
	struct span host_signature; /* by hostkey over session_id; for the
				     * agent */
	/* The host key is not trusted: no password may be sent. */
	bool no_passwords;
	/* The server answers each of several requests, in their order, so that
	 * requests may be sent without waiting. (Other servers drop a request
	 * when the next one arrives.) */
	bool in_order;
	/* The server is this project's: it ignores the further messages of a
	 * method that it has refused, so they may be sent before its answer.
	 * (OpenSSH ends the connection then.) */
	bool forgives;
	const char *address; /* numeric, of the server; or NULL */
	/* Appends a MIC by the ticket of the key exchange. NULL: the keys were
	 * not exchanged by GSSAPI. */
	int (*gss_sign)(void *arg, struct span data, struct buf *mic);
	void *gss_arg;
	/* What userauth_key_hint() returned at the last login; NULL: not
	 * known. */
	const char *key_hint;
	bool hinted_only; /* try only the key of key_hint, and keys that may
			   * turn out to be it */
	/* Without BatchMode, gets the user's answer after the success. With
	 * BatchMode, its answer is used in place of asking. NULL: neither. */
	struct userauth_secret *secret;
	/* Tickets that the first connection has got; the login tries one before
	 * any other method. Borrowed. NULL: there are none. */
	struct login_tickets *tickets;
	/* The session to go on with; no other method is tried then. Borrowed.
	 * NULL: this is an ordinary login. */
	struct userauth_resume *resume;
};

int userauth_new(struct userauth **out,
    const struct userauth_params *params) must_check;
void userauth_free(struct userauth *ua);

/* Tells what the server's EXT_INFO says, which may arrive at any time during
 * the authentication. sig_algs: the signature algorithms that the server
 * accepts (copied; NULL: not known). hostbound: it accepts signatures that name
 * the host key. */
void userauth_set_extensions(struct userauth *ua, const char *sig_algs,
    bool hostbound);

/* Asks for the service ssh-userauth and, without waiting for the answer, sends
 * the first request: that of a ticket or of a public key if there is one, else
 * "none" to learn which methods the server offers. */
int userauth_start(struct userauth *ua) must_check;
/* Handles a message of type 6 or 50-79; body is what follows its type. 0;
 * USERAUTH_DONE: the user is authenticated; USERAUTH_UNKNOWN: no such message
 * is known here; ERR_DENIED: no method is left, which was logged; or another
 * error. */
enum { USERAUTH_DONE = 1, USERAUTH_UNKNOWN = 2 };
int userauth_input(struct userauth *ua, uint8_t type,
    struct rd body) must_check;
/* Will the first request probably succeed, because it carries a proof? Then
 * more messages may be sent behind it. Only for tickets (of the server or of
 * Kerberos), and for keys of files without a passphrase: the agent's keys may
 * need a touch or a confirmation. */
bool userauth_expects_success(const struct userauth *ua);
/* Was an answer that is good once, as a code is, the last message, so that the
 * server's verdict is next? */
bool userauth_code_is_sent(const struct userauth *ua);
/* Has a FAILURE arrived, so that what was sent behind the first request is
 * lost? It may say that this was only a partial success. */
bool userauth_has_failure(const struct userauth *ua);
/* Likewise, but not for a ticket. */
bool userauth_was_refused(const struct userauth *ua);
/* What the user had to do until the authentication succeeded. */
enum userauth_effort userauth_effort(const struct userauth *ua);
/* Has the authentication succeeded in such a way that another process of the
 * user could repeat it without asking the user? */
bool userauth_can_be_repeated(const struct userauth *ua);
/* The kind of the ticket by which the login succeeded; '\0': it did without. */
char userauth_ticket_kind(const struct userauth *ua);
/* The kind of the ticket that was shown, also in vain; '\0': none was. */
char userauth_ticket_shown(const struct userauth *ua);
/* Name of the method that succeeded. Static. */
const char *userauth_method(const struct userauth *ua);
/* How the authentication succeeded, for the hints: the fingerprint (SHA256) of
 * the key; for a certificate, the fingerprints of its key and of its authority
 * with an "@" between; or the name of a method that needs no user. NULL: none
 * of these. Caller frees. */
char *userauth_key_hint(const struct userauth *ua);

/* Appends a line for each key that would be tried, in the order of tries, for
 * -Z. Files of IdentityFile that do not exist are listed too. */
int userauth_list_keys(const struct client_conf *conf,
    struct buf *out) must_check;

#endif
