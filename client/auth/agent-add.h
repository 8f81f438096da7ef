/* SPDX-License-Identifier: ISC */
/*
 * AddKeysToAgent: adds a key whose file was opened for a login to the agent, so
 * that the next login needs no passphrase.
 *
 * Threads: loop thread only; calls may ask the user, which blocks.
 */
#ifndef HPN_CLIENT_AUTH_AGENT_ADD_H
#define HPN_CLIENT_AUTH_AGENT_ADD_H

#include "conf/client-conf.h"
#include "keys/key.h"

/* Adds the private key k of the file at path to the agent, if the configuration
 * and the user want that. comment NULL or "": the path takes its place. A
 * failure is only logged, because the login goes on without the agent. */
void agent_add_loaded(const struct client_conf *conf, const char *path,
    const struct key *k, const char *comment);
/* Adds a certificate with the private half of its key. The agent keeps it until
 * the certificate ends. */
void agent_add_certificate(const struct client_conf *conf,
    const struct key *cert, const struct key *priv);

#endif
