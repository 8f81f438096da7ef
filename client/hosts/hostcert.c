/* SPDX-License-Identifier: ISC */
#include "client/hosts/hostcert.h"

enum hostcert_verdict
hostcert_decide(const struct cert *c, const struct hostcert_facts *f,
    const char **why)
{
	*why = NULL;
	if (f->revoked)
		return HOSTCERT_REFUSE;
	if (!f->ca_known)
		return HOSTCERT_UNKNOWN;
	*why = cert_host_refusal(c, f->now, f->host, f->ca_algorithms);
	return *why == NULL ? HOSTCERT_ACCEPT : HOSTCERT_USELESS;
}
