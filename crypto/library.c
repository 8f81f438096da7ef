/* SPDX-License-Identifier: ISC */
#include "crypto/library.h"

#include <openssl/crypto.h>

void
crypto_library_start(void)
{
	/* It can only fail without memory, which the next call meets too. */
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT |
		OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
	    NULL);
}

const char *
crypto_library_version(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
