/* SPDX-License-Identifier: ISC */
/* Any message as a name server's answer, and what it has as SSHFP records. */
#include "base/dns.h"
#include "keys/sshfp.h"
#include "regress/fuzz/fuzz.h"

/* An Ed25519 host key. */
static struct key *
sample(void)
{
	static const char name[] = "ssh-ed25519";
	struct buf blob = { 0 };
	struct key *k = NULL;
	uint8_t point[32] = { 0x58, [1 ... 31] = 0x66 };

	buf_put_cstring(&blob, name);
	buf_put_string(&blob, point, sizeof point);
	if (key_from_blob(buf_span(&blob),
		&k) != 0)
		abort();
	buf_clear(&blob);
	return k;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct key *k;
	static struct dns_answer a;

	if (k == NULL)
		k = sample();
	if (dns_read(data, len, "h.test", DNS_TYPE_SSHFP, &a) != 0) {
		if (a.n != 0 || a.authentic)
			abort();
		return 0;
	}
	for (size_t i = 0; i < a.n; i++)
		(void)sshfp_compare(k,
		    (struct span){ a.v[i].data, a.v[i].len });
	return 0;
}
