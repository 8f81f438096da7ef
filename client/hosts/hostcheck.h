/* SPDX-License-Identifier: ISC */
/*
 * Checks whether the host at the other end is the one that was meant (RFC 4251
 * section 4.1): its certificate against the authorities in known_hosts, its key
 * against the keys there, then by StrictHostKeyChecking and perhaps a question
 * to the user.
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

/* conf is borrowed. address is the server's numeric address; NULL behind a
 * proxy command. port is the port that was reached. */
int hostcheck_new(struct hostcheck **out, const struct client_conf *conf,
    const char *address, uint16_t port) must_check;
void hostcheck_free(struct hostcheck *h);

/* Makes h the check of a further connection to the host of `first`, which is
 * borrowed: from now on only the key that `first` accepted is right. No file is
 * read and the user is not asked. undecided: `first` may not have accepted a
 * key yet. Then hostcheck_key() accepts any key, and hostcheck_confirm() must
 * be called before anything secret is sent on the connection. */
void hostcheck_set_first(struct hostcheck *h, const struct hostcheck *first,
    bool undecided);
/* Checks a key that hostcheck_key() let pass undecided: is it the one that
 * `first` has accepted since? 0, also if no key was shown yet; or ERR_HOSTKEY,
 * which was logged. */
int hostcheck_confirm(struct hostcheck *h) must_check;

/* The blob of the plain host key that was accepted; empty: none yet.
 * Borrowed. */
struct span hostcheck_accepted(const struct hostcheck *h);

/* The host key algorithms for the proposal, a comma list. In front are those
 * with certificates, if an authority is trusted for this host, then those of
 * the key types that are known for it. A further connection has those of the
 * key that `first` accepted in front. Caller frees. */
char *hostcheck_algorithms(struct hostcheck *h);
/* True if known_hosts can check the key that the host would show with this
 * algorithm, so that the algorithm may be put first in the proposal. If an
 * authority is trusted for the host, only algorithms with certificates
 * count. */
bool hostcheck_knows(struct hostcheck *h, const char *alg);
/* The host's name with its port, or its HostKeyAlias, as known_hosts spells it.
 * Borrowed. */
const char *hostcheck_name(const struct hostcheck *h);
/* The host's name with the other default port, as known_hosts spells it; NULL
 * if the host is not looked up under that. Borrowed. */
const char *hostcheck_other_name(const struct hostcheck *h);
/* The host's address with its port, as known_hosts spells it; NULL if
 * known_hosts shall not have the address. Caller frees. */
char *hostcheck_address_name(const struct hostcheck *h);
/* The user's file of known hosts by which hints are kept
 * (client/hosts/hints.h); NULL: no hints shall be kept. Borrowed. */
const char *hostcheck_hints_file(const struct hostcheck *h);
/* Checks the key (or certificate) that the host shows in a key exchange. 0, or
 * ERR_HOSTKEY; the reason was logged. */
int hostcheck_key(struct hostcheck *h, struct span blob) must_check;
/* As hostcheck_key(), for a key that Kerberos has proven to be the host's: it
 * must not be revoked, but need not be known, and is not added to known_hosts.
 * From now on no other key is right. */
int hostcheck_vouched(struct hostcheck *h, struct span blob) must_check;
/* Makes a check that accepts only this key, for which a grant vouches;
 * known_hosts files are not read. ERR_HOSTKEY: the key is revoked, or cannot be
 * used. */
int hostcheck_new_vouched(struct hostcheck **out,
    const struct client_conf *conf, const char *address, uint16_t port,
    struct span blob) must_check;
/* The user's file of known hosts that has the key of this connection, so that
 * other keys of the host may be added there; NULL: none has it. Borrowed. */
const char *hostcheck_noted_in(const struct hostcheck *h);
/* Is the key revoked, by a RevokedHostKeys file or by known_hosts for this
 * host? */
bool hostcheck_is_revoked(const struct hostcheck *h, const struct key *k);
/* Was a wrong key accepted, only because StrictHostKeyChecking is off? Then no
 * password may be sent to this host. */
bool hostcheck_distrusted(const struct hostcheck *h);

/* What to do with a plain key. hostcheck_decide() decides it from what
 * known_hosts says, StrictHostKeyChecking (strict) and BatchMode, and does
 * nothing else. */
enum hostcheck_action {
	HOSTCHECK_ACCEPT,
	HOSTCHECK_ADD, /* accept, and add the key to known_hosts */
	HOSTCHECK_ASK,
	HOSTCHECK_DISTRUST, /* go on, but without passwords */
	HOSTCHECK_REFUSE,
};
enum hostcheck_action hostcheck_decide(enum knownhosts_verdict verdict,
    int strict, bool batch);
/*
 * Combines the verdicts on a key under the host's two names: with the port that
 * was reached, and with the other default port. (If the user gives no port,
 * known_hosts may have the host under either.) An attacker who blocks one of
 * the ports must not make a known host look new: if the first name is new, the
 * other name decides. A key that is revoked under either name is revoked.
 */
enum knownhosts_verdict hostcheck_combine(enum knownhosts_verdict reached,
    enum knownhosts_verdict other);
/* Orders algorithms, a comma list. With certificates, all algorithms that use
 * certificates come first. Then come those of the key types in types, then the
 * rest. Caller frees. */
char *hostcheck_order(const char *algorithms, const struct strlist *types,
    bool certificates);

#endif
