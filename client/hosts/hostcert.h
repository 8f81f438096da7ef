/* SPDX-License-Identifier: ISC */
/*
 * Decides whether the certificate that a host shows is good for that host. This
 * asks no clock and no file: the caller looks up which authorities known_hosts
 * trusts.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_HOSTS_HOSTCERT_H
#define HPN_CLIENT_HOSTS_HOSTCERT_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/cert.h"

/* What the decision depends on, besides the certificate. */
struct hostcert_facts {
	bool revoked;  /* known_hosts revokes the key or its authority */
	bool ca_known; /* known_hosts trusts the authority for this host */
	const char *host; /* the host's name as the user gave it, or
			   * HostKeyAlias; without a port */
	uint64_t now;	  /* seconds since 1970 */
	const char *ca_algorithms; /* CASignatureAlgorithms */
};

enum hostcert_verdict {
	HOSTCERT_ACCEPT,
	/* The certificate decides nothing: UNKNOWN because its authority is not
	 * known, USELESS because of *why (as an expired one). What counts then
	 * is whether known_hosts has the plain key of the certificate. */
	HOSTCERT_UNKNOWN,
	HOSTCERT_USELESS,
	HOSTCERT_REFUSE, /* revoked: the plain key must not be accepted
			  * either */
};

/* *why: the reason, for the log; static; NULL unless the verdict is
 * HOSTCERT_USELESS. */
enum hostcert_verdict hostcert_decide(const struct cert *c,
    const struct hostcert_facts *f, const char **why) must_check;

#endif
