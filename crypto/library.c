/* SPDX-License-Identifier: ISC */
#include "crypto/library.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "compat/libc.h"

static void *
take(size_t len, const char *file, int line)
{
	(void)file;
	(void)line;
	return malloc(len);
}

/* All of it, also what was reserved beyond what was asked for: a shorter
 * realloc() may have left something there. */
static void
wipe_and_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	if (p != NULL)
		explicit_bzero(p, libc_memory_size(p));
	free(p);
}

/* Never by realloc(3), which leaves a copy where it moves. */
static void *
take_again(void *p, size_t len, const char *file, int line)
{
	size_t had = p != NULL ? libc_memory_size(p) : 0;
	void *q = NULL;

	if (len > 0 && (q = malloc(len)) == NULL)
		return NULL;
	if (had > 0 && len > 0)
		memcpy(q, p, had < len ? had : len);
	wipe_and_free(p, file, line);
	return q;
}

void
crypto_library_start(void)
{
	void *p = malloc(1);

	/* Not possible any more once the library has taken memory, as in
	 * a second call: then all is set already. */
	if (libc_memory_size(p) > 0)
		(void)CRYPTO_set_mem_functions(take, take_again,
		    wipe_and_free);
	free(p);
	/* It fails only when memory is out; the next call then fails too. */
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT |
		OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
	    NULL);
}

const char *
crypto_library_version(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
