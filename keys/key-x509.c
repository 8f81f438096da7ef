/* SPDX-License-Identifier: ISC */
#include "keys/key-x509.h"

#include <openssl/x509.h>
#include <string.h>

#include "keys/key-internal.h"

static char *
subject_line(X509 *cert)
{
	char *line = X509_NAME_oneline(X509_get_subject_name(cert), NULL, 0);
	char *copy = line != NULL ? strdup(line) : NULL;

	OPENSSL_free(line);
	return copy;
}

int
key_from_x509(struct span der, struct key **out, char **subject)
{
	const uint8_t *p = der.p;
	X509 *cert = d2i_X509(NULL, &p, (long)der.len);
	EVP_PKEY *pkey = cert != NULL ? X509_get0_pubkey(cert) : NULL;
	int r;

	if (pkey == NULL) {
		X509_free(cert);
		(void)!key_evp_failed();
		return ERR_FORMAT;
	}
	r = key_from_pkey(pkey, false, out);
	if (r == 0 && (*subject = subject_line(cert)) == NULL) {
		key_free(*out);
		*out = NULL;
		r = ERR_NOMEM;
	}
	X509_free(cert);
	return r;
}
