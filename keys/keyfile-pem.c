/* SPDX-License-Identifier: ISC */
/* Private keys in PEM files (RFC 7468: PKCS#1, SEC1, PKCS#8), read and written
 * by OpenSSL. */
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/mem.h"
#include "keys/key-internal.h"
#include "keys/keyfile-internal.h"

enum { PASS_MIN = 4 }; /* OpenSSL refuses shorter passphrases for PEM */

struct passphrase {
	const char *pass;
	bool wanted; /* OpenSSL asked for it: the file is encrypted */
};

static int
give_pass(char *to, int size, int writing, void *arg)
{
	struct passphrase *a = arg;
	size_t len;

	(void)writing;
	a->wanted = true;
	if (a->pass == NULL || *a->pass == '\0')
		return -1;
	len = strlen(a->pass);
	if (size < 0 || len > (size_t)size)
		return -1;
	memcpy(to, a->pass, len);
	return (int)len;
}

int
keyfile_pem_parse(struct span content, const char *pass, struct key **out)
{
	struct passphrase given = { pass, false };
	EVP_PKEY *pkey = NULL;
	BIO *bio;
	int r;

	if (content.len > INT_MAX)
		return ERR_LIMIT;
	bio = BIO_new_mem_buf(content.p, (int)content.len);
	if (bio == NULL)
		return ERR_NOMEM;
	pkey = PEM_read_bio_PrivateKey(bio, NULL, give_pass, &given);
	BIO_free(bio);
	ERR_clear_error();
	if (pkey == NULL)
		return given.wanted ? ERR_PASSPHRASE : ERR_FORMAT;
	r = key_from_pkey(pkey, true, out);
	EVP_PKEY_free(pkey);
	return r;
}

int
keyfile_pem_format(const struct key *k, enum keyfile_format format,
    const char *pass, struct buf *out)
{
	EVP_PKEY *pkey = key_identity(k)->pkey;
	EVP_CIPHER *cipher = NULL;
	const unsigned char *secret = NULL;
	char *data = NULL;
	size_t pass_len = pass != NULL ? strlen(pass) : 0;
	BIO *bio = BIO_new(BIO_s_secmem());
	long len;
	int ok, r = 0;

	if (bio == NULL)
		return ERR_NOMEM;
	if (!key_has_pem(k)) {
		r = ERR_KEY_TYPE; /* PEM has no form for this type */
		goto out;
	}
	if (pass_len > 0) {
		if (pass_len < PASS_MIN || pass_len > INT_MAX) {
			r = ERR_ARGUMENT;
			goto out;
		}
		secret = (const unsigned char *)pass;
		cipher = EVP_CIPHER_fetch(NULL,
		    format == KEYFILE_PEM ? "AES-128-CBC" : "AES-256-CBC",
		    NULL);
		if (cipher == NULL) {
			r = key_evp_failed();
			goto out;
		}
	}
	if (format == KEYFILE_PEM)
		ok = PEM_write_bio_PrivateKey_traditional(bio, pkey, cipher,
		    secret, (int)pass_len, NULL, NULL);
	else
		ok = PEM_write_bio_PKCS8PrivateKey(bio, pkey, cipher, pass,
		    (int)pass_len, NULL, NULL);
	len = BIO_get_mem_data(bio, &data);
	if (ok != 1 || len <= 0) {
		r = key_evp_failed();
		goto out;
	}
	buf_put(out, data, (size_t)len);
	r = buf_err(out);
out:
	EVP_CIPHER_free(cipher);
	BIO_free(bio);
	return r;
}
