/* SPDX-License-Identifier: ISC */
/*
 * Is the certificate that a host shows good for that host? The decision asks no
 * clock and no file; who the authorities are is looked up by the caller.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_HOSTS_HOSTCERT_H
#define HPN_CLIENT_HOSTS_HOSTCERT_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/cert.h"

/* What is known of the connection. */
struct hostcert_facts {
	bool revoked;  /* known_hosts revokes the key or its authority */
	bool ca_known; /* known_hosts trusts the authority for this host */
	const char *host; /* that was meant, or its alias; without a port */
	uint64_t now;	  /* seconds since 1970 */
	const char *ca_algorithms; /* CASignatureAlgorithms */
};

enum hostcert_verdict {
	HOSTCERT_ACCEPT,
	/* Nothing speaks for the certificate, or *why against it: what counts
	 * is whether the plain key is known, as that of any other host. */
	HOSTCERT_UNKNOWN,
	HOSTCERT_USELESS,
	HOSTCERT_REFUSE, /* and the plain key does not count either */
};

/* *why is static; NULL unless the verdict is HOSTCERT_USELESS. */
enum hostcert_verdict hostcert_decide(const struct cert *c,
    const struct hostcert_facts *f, const char **why) must_check;

#endif
