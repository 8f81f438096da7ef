/* SPDX-License-Identifier: ISC */
#include "crypto/library.h"

#include <openssl/crypto.h>

const char *
crypto_library_version(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
