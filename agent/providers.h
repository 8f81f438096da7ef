/* SPDX-License-Identifier: ISC */
/*
 * Libraries for tokens (PKCS#11) whose keys the agent holds: each with a helper
 * process (keys/p11-client.h) that lives as long as the last of these keys. It
 * is asked for one thing at a time; other signatures stand in line. A helper
 * that hangs, ends or lies is replaced when the next signature is wanted, and
 * then the user is asked for the PIN; no PIN is kept.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_PROVIDERS_H
#define HPN_AGENT_PROVIDERS_H

#include "agent/agent-internal.h"
#include "keys/p11-wire.h"

/* Sets *path to the path by which the library `name` is known here, if this
 * client may have it loaded. The caller frees *path. */
int provider_admit(const struct request *q, const char *name,
    char **path) must_check;
/* The path by which the library `name` is known here, also if it may not be
 * loaded. NULL: out of memory. */
char *provider_path(const char *name);

/* Called when a library has been opened. r: 0, and list has its keys, of which
 * provider_hold() may take some; or the error. After the call a provider none
 * of whose keys was taken ends. */
typedef void (*provider_opened_fn)(void *arg, int r, struct provider *p,
    const struct p11_list *list);

/* Loads the library at path, and calls fn once, later, unless provider_close()
 * comes before. pin "": there is no PIN. ERR_LIMIT: there are too many
 * providers; ERR_ARGUMENT: the library has one already. */
int provider_open(struct agentd *a, const char *path, const char *pin,
    provider_opened_fn fn, void *arg, struct provider **out) must_check;
void provider_close(struct provider *p);
/* Lets id sign by k, a key of the provider. id has the public half of k, or a
 * certificate for k. */
int provider_hold(struct provider *p, const struct key *k,
    struct identity *id) must_check;

/* Ends the providers that are being opened: their fn is called with
 * ERR_CANCELLED. */
void providers_stop_opening(struct agentd *a);
/* Ends all helpers, and fails the calls that are under way. */
void providers_stop_all(struct agentd *a);

#endif
