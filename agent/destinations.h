/* SPDX-License-Identifier: ISC */
/*
 * Where a key may be used: by which hosts it may be forwarded, and at which it
 * may log in (restrict-destination-v00@openssh.com). And what a client of the
 * agent told about the hosts on its way (session-bind@openssh.com), which their
 * signatures prove.
 *
 * The rules:
 * - A key without destinations may be used by everybody. All that follows is
 *   about keys that have some.
 * - A client that never tried to bind is on this host. It may see, add and
 *   remove the key, and may not sign.
 * - After a bind that failed, a client may do nothing with the key.
 * - Each bind is a hop: from the host of the bind before (the first from here)
 *   to its own host. Some destination must allow every hop. All hops but the
 *   last must be of connections that the agent is forwarded over.
 * - To sign is possible only for the last hop, which must not be of such a
 *   connection, and for a user that the destination names. What is signed must
 *   be a login there: see agent/sign-data.h.
 * - Over a forwarded connection the key is seen only if some destination
 *   begins at the last host.
 *
 * Threads: any.
 */
#ifndef HPN_AGENT_DESTINATIONS_H
#define HPN_AGENT_DESTINATIONS_H

#include <stdbool.h>

#include "agent/sign-data.h"
#include "keys/agent-wire.h"
#include "keys/key.h"

struct dest_key {
	/* where the blob of the key lies in blobs of the list */
	size_t at, len;
	bool is_ca;
};

/* An end of a hop: a host, by its keys and authorities. Zeroed: this host. */
struct dest_end {
	char *user; /* pattern; NULL: any */
	char *host;
	struct dest_key *keys;
	size_t n;
};

struct destination {
	struct dest_end from, to;
};

/* Zeroed: the key may be used everywhere. */
struct destinations {
	struct destination *v;
	size_t n;
	struct buf blobs;
};

/* Parses the body of the constraint, one destination after the other. The
 * caller clears out, also after an error. An empty list is ERR_FORMAT. */
int destinations_parse(struct rd list, struct destinations *out) must_check;
void destinations_clear(struct destinations *d);
/* Copies d to out, which was zeroed. The caller clears out, also after an
 * error. */
int destinations_copy(const struct destinations *d,
    struct destinations *out) must_check;

enum { BINDS_MAX = 16 };

struct bind {
	struct key *host_key;
	struct buf blob; /* blob of host_key */
	struct buf id;	 /* identifier of the session */
	bool forwarding; /* the agent is forwarded over it */
};

/* The binds of one client's connection. Zeroed: there are none. */
struct binds {
	struct bind v[BINDS_MAX];
	size_t n;
	bool tried; /* the client has tried to bind, perhaps without success */
};

/* Adds the bind that the fields of the request describe: string host key,
 * string session id, string signature, bool forwarding. ERR_DENIED: the
 * connection was bound to a login before, or the same session to another key;
 * ERR_LIMIT: there are too many binds; ERR_SIGNATURE. A bind that is there
 * already is no error, and is not added again. */
int binds_add(struct binds *b, struct rd *fields) must_check;
void binds_clear(struct binds *b);

/* The reason, which is static, why the client may not see, add or remove the
 * key; or NULL. now: seconds since 1970, for certificates of hosts. */
const char *destinations_refuse(const struct destinations *d,
    const struct binds *b, uint64_t now);
/* The reason why the key may not sign this; or NULL. */
const char *destinations_refuse_signing(const struct destinations *d,
    const struct binds *b, const struct sign_data *data, uint64_t now);

#endif
