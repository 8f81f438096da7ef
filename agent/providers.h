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

/* The path by which a library is known here, if this client may have it
 * loaded; the caller frees *path. */
int provider_admit(const struct request *q, const char *name,
    char **path) must_check;
/* The same without asking; NULL: memory is out. */
char *provider_path(const char *name);

/* r: 0, and keys of which provider_hold() may take some; or why not. After it
 * a provider of which no key is held is ended. */
typedef void (*provider_opened_fn)(void *arg, int r, struct provider *p,
    const struct p11_list *list);

/* Calls fn once, later; not if provider_close() came before. An empty PIN is
 * none. ERR_LIMIT: there are too many; ERR_ARGUMENT: it is there. */
int provider_open(struct agentd *a, const char *path, const char *pin,
    provider_opened_fn fn, void *arg, struct provider **out) must_check;
void provider_close(struct provider *p);
/* Makes id the entry of k, or of a certificate for it. */
int provider_hold(struct provider *p, const struct key *k,
    struct identity *id) must_check;

/* Providers of which nothing is held yet are given up. */
void providers_stop_opening(struct agentd *a);
/* Ends all helpers and what is under way. */
void providers_stop_all(struct agentd *a);

#endif
