/* SPDX-License-Identifier: ISC */
/*
 * Addresses of a host name without stopping the event loop: the system's
 * resolver, which can wait for seconds, runs in processes of its own
 * (base/lookup.h). They are started when they are needed, and end with the
 * resolver.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_BASE_RESOLVE_H
#define HPN_BASE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dial-plan.h"
#include "base/err.h"
#include "base/loop.h"

struct resolver;
struct resolve; /* one host name that is looked up */

enum { RESOLVE_HOST_MAX = 1024 }; /* bytes of a host name */

/* Called with the result of a look-up: n addresses (at most DIAL_ADDRESSES_MAX,
 * all of round 0), or none and a text with the reason. Afterwards the struct
 * resolve is freed. */
typedef void (*resolve_fn)(void *arg, const struct dial_address *v, size_t n,
    const char *why);

/* The loop is borrowed. NULL: out of memory. */
struct resolver *resolver_new(struct loop *l);
/* Frees the resolver, and cancels its look-ups. NULL is fine. */
void resolver_free(struct resolver *r);

/* Is host an address? Then *out is that address, and no look-up is needed. */
bool resolve_address(const char *host, uint16_t port, int family,
    struct dial_address *out);
/* Starts a look-up, and calls fn in a later turn of the loop. family:
 * AF_UNSPEC, AF_INET, AF_INET6. */
int resolve_start(struct resolve **out, struct resolver *r, const char *host,
    uint16_t port, int family, resolve_fn fn, void *arg) must_check;
/* Ends a look-up: its fn will not be called. NULL is fine. */
void resolve_cancel(struct resolve *q);

/* The main function of such a process: answers at sock until the other end is
 * closed. */
void resolve_serve(int sock);

#endif
