/* SPDX-License-Identifier: ISC */
/*
 * A certificate as far as those who compare keys can see: a key of a type of
 * its own, whose blob is that of no plain key, and which certifies another.
 */
#ifndef HPN_REGRESS_UNIT_FAKE_CERT_H
#define HPN_REGRESS_UNIT_FAKE_CERT_H

#include "keys/key-internal.h"

static int
fake_cert_put_public(int param, const EVP_PKEY *pkey, struct buf *out)
{
	(void)param;
	(void)pkey;
	buf_put_cstring(out, "what a certificate says");
	return buf_err(out);
}

static const struct key_ops fake_cert_ops = {
	.put_public = fake_cert_put_public,
};
static const struct key_alg fake_cert_kind = {
	.name = "fake-cert", .key_type = "fake-cert", .short_name = "FAKE",
	.ops = &fake_cert_ops,
};

/* Borrows plain; not to be freed. */
static inline struct key
fake_cert_of(struct key *plain)
{
	return (struct key){ .kind = &fake_cert_kind, .certified = plain };
}

#endif
