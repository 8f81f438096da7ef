/* SPDX-License-Identifier: ISC */
#include "crypto/library.h"

#include <openssl/crypto.h>

void
crypto_library_start(void)
{
	/* It fails only when memory is out; the next call then fails too. */
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT |
		OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
	    NULL);
}

void
crypto_library_start_now(void)
{
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT |
		OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
		OPENSSL_INIT_LOAD_CONFIG,
	    NULL);
}

const char *
crypto_library_version(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
