/* SPDX-License-Identifier: ISC */
/*
 * Is this the host that was meant? Its key against known_hosts, what
 * StrictHostKeyChecking says, and the user (RFC 4251 section 4.1).
 *
 * Threads: loop thread only; asking the user blocks.
 */
#ifndef HPN_CLIENT_HOSTCHECK_H
#define HPN_CLIENT_HOSTCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "conf/client-conf.h"
#include "keys/knownhosts.h"

struct hostcheck;

/* conf is borrowed. address is numeric, NULL behind a proxy command; port
 * is the one really used. */
int hostcheck_new(struct hostcheck **out, const struct client_conf *conf,
    const char *address, uint16_t port) must_check;
void hostcheck_free(struct hostcheck *h);

/* h is of a further connection to the host that first is of: from now on the
 * key that first accepted is right, and no other. No file is looked at and
 * nobody is asked. first is borrowed. early: first may not know its key yet;
 * then hostcheck_key() lets any pass, and hostcheck_confirm() must be called
 * before anything is trusted to the connection. */
void hostcheck_follow(struct hostcheck *h, const struct hostcheck *first,
    bool early);
/* Is the key that passed early, if there was one, the one that first has
 * accepted since? 0, or ERR_HOSTKEY after having told. */
int hostcheck_confirm(struct hostcheck *h) must_check;

/* The host key algorithms to propose: those of keys that are known for this
 * host (or the one that first accepted) come first. Caller frees. */
char *hostcheck_algorithms(const struct hostcheck *h);
/* Is a key that serves this algorithm known for the host? */
bool hostcheck_knows(const struct hostcheck *h, const char *alg);
/* How known_hosts spells the host, and the file of hints beside the user's
 * known_hosts (caller frees; NULL: there shall be none). */
const char *hostcheck_name(const struct hostcheck *h);
char *hostcheck_hints_path(const struct hostcheck *h);
/* 0, or ERR_HOSTKEY after having told the user why. */
int hostcheck_key(struct hostcheck *h, struct span blob) must_check;
/* The user's file in which the key of this connection stands, so that other
 * keys of the host may be noted there; NULL if there is none. */
const char *hostcheck_noted_in(const struct hostcheck *h);
/* Is the key one that a RevokedHostKeys file names, or known_hosts for this
 * host? */
bool hostcheck_is_revoked(const struct hostcheck *h, const struct key *k);
/* A wrong key was let through (StrictHostKeyChecking no): no password may
 * be sent to this host. */
bool hostcheck_distrusted(const struct hostcheck *h);

/* The decision, as a pure function. */
enum hostcheck_action {
	HOSTCHECK_ACCEPT,
	HOSTCHECK_ADD, /* accept and note it */
	HOSTCHECK_ASK,
	HOSTCHECK_DISTRUST, /* go on, but without passwords */
	HOSTCHECK_REFUSE,
};
enum hostcheck_action hostcheck_decide(enum knownhosts_verdict verdict,
    int strict, bool batch);
/*
 * Without a port of the user's, a host may be met under two names, one for
 * each default port. The verdict on a key from those under the name that was
 * reached, and under the other one. Who keeps others from one of the ports
 * must not make a known host a new one: a changed or revoked key counts under
 * either name, unless the key is known for the very name that was reached.
 */
enum knownhosts_verdict hostcheck_combine(enum knownhosts_verdict reached,
    enum knownhosts_verdict other);
/* algorithms (comma list) with those for the key types moved to the front.
 * Caller frees. */
char *hostcheck_order(const char *algorithms, const struct strlist *types);

#endif
