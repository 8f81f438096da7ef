/* SPDX-License-Identifier: ISC */
/*
 * What a client wants to have signed: a login (RFC 4252 section 7, and with the
 * host's key, publickey-hostbound-v00@openssh.com), a file (SSHSIG), or
 * something else.
 *
 * Threads: any.
 */
#ifndef HPN_AGENT_SIGN_DATA_H
#define HPN_AGENT_SIGN_DATA_H

#include "base/wire.h"
#include "keys/key.h"

enum sign_data_kind { SIGN_DATA_OTHER, SIGN_DATA_LOGIN, SIGN_DATA_FILE };

/* The spans are borrowed from the data; user is owned. */
struct sign_data {
	enum sign_data_kind kind;
	/* Only for SIGN_DATA_LOGIN: */
	struct span session_id;
	char *user;
	struct span host_key; /* p NULL: the request does not name one */
};

/* Finds out what data is, and fills the result. A login counts as one only if
 * it is with the key k, whose blob is `blob`. The caller calls
 * sign_data_clear(). */
void sign_data_read(struct span data, const struct key *k, struct span blob,
    struct sign_data *out);
void sign_data_clear(struct sign_data *d);

#endif
