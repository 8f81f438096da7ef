/* SPDX-License-Identifier: ISC */
/*
 * User authentication (RFC 4252, 4256), the client's part: driven by the
 * server's messages. Methods are rows of a table, tried in the order of
 * PreferredAuthentications as far as the server offers them.
 *
 * Threads: loop thread only; methods may ask the user, which blocks.
 */
#ifndef HPN_CLIENT_USERAUTH_H
#define HPN_CLIENT_USERAUTH_H

#include <stdbool.h>

#include "base/err.h"
#include "base/wire.h"
#include "conf/client-conf.h"
#include "packet.h"

struct userauth;

/* conf and packet are borrowed, the rest is copied. */
struct userauth_params {
	const struct client_conf *conf;
	struct packet *packet;
	/* From the key exchange. */
	struct span session_id;
	struct span hostkey; /* blob */
	/* The host key is not trusted: no passwords. */
	bool no_passwords;
};

int userauth_new(struct userauth **out,
    const struct userauth_params *params) must_check;
void userauth_free(struct userauth *ua);

/* What the server's EXT_INFO said so far (it may come at any time before the
 * end): signature algorithms that it takes (copied; NULL: not told), and
 * whether it takes signatures that name the host key. */
void userauth_set_extensions(struct userauth *ua, const char *sig_algs,
    bool hostbound);

/* Asks for the service. */
int userauth_start(struct userauth *ua) must_check;
/* A message 6 or 50-79, body behind its type: 0; 1 = the user is
 * authenticated; 2 = the message means nothing to us; ERR_DENIED after
 * having told that no method is left. */
enum { USERAUTH_DONE = 1, USERAUTH_UNKNOWN = 2 };
int userauth_input(struct userauth *ua, uint8_t type,
    struct rd body) must_check;
/* Name of the method that succeeded. */
const char *userauth_method(const struct userauth *ua);

/* Names for -Q and tests: NULL at the end. */
const char *userauth_method_at(size_t index);

#endif
