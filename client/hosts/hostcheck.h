/* SPDX-License-Identifier: ISC */
/*
 * Is this the host that was meant? Its certificate against the authorities that
 * known_hosts has, its key against known_hosts, what StrictHostKeyChecking
 * says, and the user (RFC 4251 section 4.1).
 *
 * Threads: loop thread only; asking the user blocks.
 */
#ifndef HPN_CLIENT_HOSTS_HOSTCHECK_H
#define HPN_CLIENT_HOSTS_HOSTCHECK_H

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

/* h is for a further connection to the host of `first`, which is borrowed: from
 * now on only the key that first accepted is right. No file is read and the
 * user is not asked. undecided: first may not have accepted a key yet; then
 * hostcheck_key() lets any pass, and hostcheck_confirm() must be called before
 * anything secret is sent on the connection. */
void hostcheck_set_first(struct hostcheck *h, const struct hostcheck *first,
    bool undecided);
/* Is the key that passed undecided, if there was one, the one that first has
 * accepted since? 0, or ERR_HOSTKEY, which was logged. */
int hostcheck_confirm(struct hostcheck *h) must_check;

/* The blob of the identity that was accepted; empty: none yet. Borrowed. */
struct span hostcheck_accepted(const struct hostcheck *h);

/* The host key algorithms to propose: first those of certificates, if an
 * authority is known for this host, then those of keys that are known for it
 * (or the one that first accepted). Caller frees. */
char *hostcheck_algorithms(struct hostcheck *h);
/* May this algorithm be the first of them, because what it serves for is known?
 * If an authority is, only those of certificates may. */
bool hostcheck_knows(struct hostcheck *h, const char *alg);
/* How known_hosts spells the host, and which the user's file is that hints go
 * with (NULL: there shall be none). */
const char *hostcheck_name(const struct hostcheck *h);
/* The same for the other default port, where that counts; or NULL. */
const char *hostcheck_other_name(const struct hostcheck *h);
/* The same of its address, if known_hosts shall have that as well; or NULL.
 * Caller frees. */
char *hostcheck_address_name(const struct hostcheck *h);
const char *hostcheck_hints_file(const struct hostcheck *h);
/* The host shows this key. 0, or ERR_HOSTKEY; the reason was logged. */
int hostcheck_key(struct hostcheck *h, struct span blob) must_check;
/* The same, but that the key is the host's is proven otherwise, by Kerberos:
 * it is no news for known_hosts, and no other is right from now on. */
int hostcheck_vouched(struct hostcheck *h, struct span blob) must_check;
/* The user's file that has the key of this connection, so that other keys of
 * the host may be added there; NULL if there is none. */
const char *hostcheck_noted_in(const struct hostcheck *h);
/* The key is one that a RevokedHostKeys file names, or known_hosts for this
 * host. */
bool hostcheck_is_revoked(const struct hostcheck *h, const struct key *k);
/* The key is wrong, and was accepted only because StrictHostKeyChecking is off:
 * no password may be sent to this host. */
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
 * If the user gives no port, known_hosts may have the host under two names, one
 * for each default port. Combines the verdict on a key under the name of the
 * port that was reached with that under the other name. An attacker who blocks
 * one of the ports must not turn a known host into a new one: a changed or
 * revoked key counts under either name, unless the key is known for the very
 * name that was reached.
 */
enum knownhosts_verdict hostcheck_combine(enum knownhosts_verdict reached,
    enum knownhosts_verdict other);
/* algorithms (comma list) with those for the key types, plain or with a
 * certificate, moved to the front, and (certificates) those of all certificates
 * in front of these. Caller frees. */
char *hostcheck_order(const char *algorithms, const struct strlist *types,
    bool certificates);

#endif
