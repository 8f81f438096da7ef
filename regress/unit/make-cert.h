/* SPDX-License-Identifier: ISC */
/* Certificates for tests, by authorities of their own making. */
#ifndef HPN_REGRESS_UNIT_MAKE_CERT_H
#define HPN_REGRESS_UNIT_MAKE_CERT_H

#include "regress/unit/hex.h"

#include "keys/cert.h"

struct make_cert_ca {
	const struct key *key;
	const char *alg;
};

static int
make_cert_sign(void *arg, struct span data, struct buf *signature)
{
	const struct make_cert_ca *ca = arg;

	return key_sign(ca->key, ca->alg, data, signature);
}

/* ca is private, and signs by alg. Caller frees. */
static inline struct key *
make_cert_by(const struct key *plain, const struct cert_request *request,
    const struct key *ca, const char *alg)
{
	struct make_cert_ca signer = { ca, alg };
	struct key *cert = NULL;

	assert_int_equal(cert_make(plain, request, ca, make_cert_sign, &signer,
			     &cert), 0);
	return cert;
}

/* A certificate that names nobody, by an authority that is forgotten. */
static inline struct key *
make_cert_for(const struct key *plain)
{
	static const struct cert_request request = { .kind = CERT_USER,
		.id = "a certificate", .valid_before = CERT_FOREVER };
	struct key *ca = NULL, *cert;

	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	cert = make_cert_by(plain, &request, ca, "ssh-ed25519");
	key_free(ca);
	return cert;
}

#endif
