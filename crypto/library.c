/* SPDX-License-Identifier: ISC */
#include "crypto/library.h"

#include "config.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compat/bsd-mem.h"
#include "compat/libc.h"

/* Set during start(). OpenSSL 3.5 never returns from there when memory is out:
 * to report that, it waits for its own start. */
static bool starting;

static void *
take(size_t len, const char *file, int line)
{
	void *p = malloc(len);

	(void)file;
	(void)line;
	if (p == NULL && len > 0 && starting)
		fatal("out of memory");
	return p;
}

/* Wipes all of the allocated memory, also what is beyond the length that was
 * asked for: a realloc() to a shorter length may have left something there. */
static void
wipe_and_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	if (p != NULL)
		explicit_bzero(p, libc_memory_size(p));
	free(p);
}

/* Does not call realloc(3), which may move the memory and leave the old
 * copy. */
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

/* Initializes OpenSSL. It reads the file of --with-openssl-conf, unless the
 * user names another one in OPENSSL_CONF; setuid programs ignore that
 * variable. */
static void
start(uint64_t options)
{
	starting = true;
#ifdef OPENSSL_CONF_FILE
	OPENSSL_INIT_SETTINGS *settings = OPENSSL_INIT_new();

	if (settings != NULL && secure_getenv("OPENSSL_CONF") == NULL &&
	    OPENSSL_INIT_set_config_filename(settings, OPENSSL_CONF_FILE) == 1)
		options |= OPENSSL_INIT_LOAD_CONFIG;
	(void)OPENSSL_init_crypto(options, settings);
	OPENSSL_INIT_free(settings);
#else
	(void)OPENSSL_init_crypto(options, NULL);
#endif
	starting = false;
}

void
crypto_library_start(void)
{
	void *p = malloc(1);

	if (p == NULL)
		fatal("out of memory");
	/* This fails once the library has allocated memory, such as in a second
	 * call, and then the functions are set already. It is only done where
	 * the size of allocated memory is known. */
	if (libc_memory_size(p) > 0)
		(void)CRYPTO_set_mem_functions(take, take_again,
		    wipe_and_free);
	free(p);
	start(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS);
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

/* The first look-up of a kind (such as ciphers) makes OpenSSL's table of all
 * methods of that kind, and the table stays. */
void
crypto_library_warm(enum crypto_work work)
{
	EVP_MD_free(EVP_MD_fetch(NULL, "SHA2-256", NULL));
	EVP_KEYMGMT_free(EVP_KEYMGMT_fetch(NULL, "X25519", NULL));
	if (work == CRYPTO_SIGNATURES) {
		EVP_SIGNATURE_free(EVP_SIGNATURE_fetch(NULL, "ED25519", NULL));
		return;
	}
	EVP_CIPHER_free(EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL));
	EVP_KEYEXCH_free(EVP_KEYEXCH_fetch(NULL, "X25519", NULL));
}
