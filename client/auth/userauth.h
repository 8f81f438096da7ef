/* SPDX-License-Identifier: ISC */
/*
 * User authentication (RFC 4252, 4256), the client's part: driven by the
 * server's messages. Methods are rows of a table, tried in the order of
 * PreferredAuthentications as far as the server offers them.
 *
 * Threads: loop thread only; methods may ask the user, which blocks.
 */
#ifndef HPN_CLIENT_AUTH_USERAUTH_H
#define HPN_CLIENT_AUTH_USERAUTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "conf/client-conf.h"
#include "packet.h"

struct userauth;

/* What the user had to do for the first connection to a host. It decides
 * whether a further one, which never asks the user, can log in too. */
enum userauth_effort {
	USERAUTH_SILENT,     /* nothing */
	USERAUTH_ONE_ANSWER, /* a password, or one hidden answer: it may serve
			      * again, unless it was good for one time only */
	USERAUTH_INTERACTIVE, /* more than that, or a passphrase: not kept */
};

/* Filled by the first connection, used by further ones. */
struct userauth_secret {
	enum userauth_effort effort;
	char *answer; /* owned; freed by prompt_free(); NULL: none */
};

/* conf, packet, address and secret are borrowed, the rest is copied. */
struct userauth_params {
	const struct client_conf *conf;
	struct packet *packet;
	/* From the key exchange. */
	struct span session_id;
	struct span hostkey; /* blob */
	struct span host_signature; /* its, over session_id; for the agent */
	/* The host key is not trusted: no passwords. */
	bool no_passwords;
	/* The server answers each of several requests, in their order. (Other
	 * servers drop a request when the next one arrives.) */
	bool in_order;
	/* The server is this project's: it passes over messages of a method
	 * that it has refused. (OpenSSH ends the connection then.) */
	bool forgives;
	const char *address; /* numeric, of the server; or NULL */
	/* The keys were exchanged by GSSAPI: a MIC by that context. NULL: they
	 * were not. */
	int (*gss_sign)(void *arg, struct span data, struct buf *mic);
	void *gss_arg;
	/* What userauth_key_hint() said last time, or NULL. */
	const char *key_hint;
	bool hinted_only; /* no key that is known to be another one */
	/* Filled with the user's answer; with BatchMode it is used in place of
	 * an answer. NULL: neither. */
	struct userauth_secret *secret;
};

int userauth_new(struct userauth **out,
    const struct userauth_params *params) must_check;
void userauth_free(struct userauth *ua);

/* The server's EXT_INFO, which may arrive at any time during authentication:
 * the signature algorithms that it takes (copied; NULL: not known), and whether
 * it takes signatures that name the host key. */
void userauth_set_extensions(struct userauth *ua, const char *sig_algs,
    bool hostbound);

/* Asks for the service and, without waiting, sends the first request: of
 * a ticket or public keys if there are any, else "none" to learn the
 * methods. */
int userauth_start(struct userauth *ua) must_check;
/* A message 6 or 50-79, body behind its type: 0; 1 = the user is
 * authenticated; 2 = the message is not known here; ERR_DENIED: no method is
 * left, which was logged. */
enum { USERAUTH_DONE = 1, USERAUTH_UNKNOWN = 2 };
int userauth_input(struct userauth *ua, uint8_t type,
    struct rd body) must_check;
/* The first request carries a signature, so its success is expected, and more
 * may be sent behind it. Only for tickets, and for keys from files without a
 * passphrase: an agent's may need a touch or a confirmation. */
bool userauth_expects_success(const struct userauth *ua);
/* Some request was refused, or was only a part of what is needed. */
bool userauth_was_refused(const struct userauth *ua);
/* What the user had to do until it succeeded. */
enum userauth_effort userauth_effort(const struct userauth *ua);
/* The authentication succeeded, and another process of the user could do the
 * same without the user. */
bool userauth_can_be_repeated(const struct userauth *ua);
/* Name of the method that succeeded. */
const char *userauth_method(const struct userauth *ua);
/* The key that succeeded: its fingerprint (SHA256), or, of a certificate, those
 * of its key and of its authority with an @ between; or the name of a
 * method that works without the user. Caller frees; NULL if it was neither. */
char *userauth_key_hint(const struct userauth *ua);

/* -Z: appends a line for each key that would be tried, in their order, and for
 * files of IdentityFile that are not there. */
int userauth_list_keys(const struct client_conf *conf,
    struct buf *out) must_check;

#endif
