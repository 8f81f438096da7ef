/* SPDX-License-Identifier: ISC */
/* What the DNS says of a host's key (VerifyHostKeyDNS). */
#include "client/hosts/hostcheck-internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/dial-plan.h"
#include "base/dns.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/resolve.h"

static bool
is_address(const char *name)
{
	struct dial_address unused;

	return resolve_address(name, 0, AF_UNSPEC, &unused);
}

static enum sshfp_verdict
judge(const struct key *k, const struct dns_answer *a)
{
	struct span records[DNS_RECORDS_MAX];

	for (size_t i = 0; i < a->n; i++)
		records[i] = (struct span){ a->v[i].data, a->v[i].len };
	return sshfp_judge(k, records, a->n);
}

/* VerifyHostKeyDNS. A record that DNSSEC does not protect is only logged and
 * never accepts a key, because anybody on the way could have made it. A
 * protected record does not accept a key that is revoked here: whoever stole
 * the key cannot be told from the host. */
bool
hostcheck_by_dns(struct hostcheck *h, const struct key *k)
{
	const char *name = h->conf->host.hostname;
	int policy = h->conf->known.verify_host_key_dns, r;
	struct dns_answer *a;
	bool authentic;

	h->in_dns = SSHFP_NOTHING;
	if (policy == CLIENT_ASK_NO || is_address(name))
		return false;
	a = xcalloc(1, sizeof *a);
	if ((r = dns_look_up(name, DNS_TYPE_SSHFP, a)) != 0)
		log_error("DNS lookup error: SSHFP records of %s: %s", name,
		    err_text(r));
	else
		h->in_dns = judge(k, a);
	authentic = a->authentic;
	log_debug("found %zu %s fingerprints in DNS", a->n,
	    authentic ? "secure" : "insecure");
	free(a);
	if (h->in_dns == SSHFP_MISMATCH)
		hostcheck_warn_dns(h, k);
	if (h->in_dns != SSHFP_MATCH)
		return false;
	log_debug("matching host key fingerprint found in DNS");
	return policy == CLIENT_ASK_YES && authentic &&
	    !hostcheck_is_revoked(h, k);
}
