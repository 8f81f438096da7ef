/* SPDX-License-Identifier: ISC */
/*
 * AddKeysToAgent: a key whose file was opened for a login goes to the agent,
 * so that the next login needs no passphrase.
 *
 * Threads: loop thread only; calls may ask the user, which blocks.
 */
#ifndef HPN_CLIENT_AUTH_AGENT_ADD_H
#define HPN_CLIENT_AUTH_AGENT_ADD_H

#include "conf/client-conf.h"
#include "keys/key.h"

/* Adds the private key of the file at path, if the configuration and the user
 * want it. comment NULL or "": the path stands for it. The login goes on
 * whether it worked or not. */
void agent_add_loaded(const struct client_conf *conf, const char *path,
    const struct key *k, const char *comment);

#endif
