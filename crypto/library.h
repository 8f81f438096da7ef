/* SPDX-License-Identifier: ISC */
/*
 * Setting up OpenSSL.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_LIBRARY_H
#define HPN_CRYPTO_LIBRARY_H

/*
 * Sets up the library so that it costs less. Programs that live for a short
 * time, run in many copies or use crypto/ in threads call this before anything
 * else of crypto/. OpenSSL then does not load its error texts, which we never
 * print. It also does not clean up at exit(): the clean-up could run while our
 * threads still work, and it wipes no secret that we have not wiped.
 *
 * From this call on, all memory that the library frees is wiped. Without it,
 * the library wipes the numbers of a key, but not all copies that it makes when
 * it parses a key or signs.
 */
void crypto_library_start(void);
/* Makes OpenSSL read its configuration file now instead of at the first need.
 * It is for processes that change their root directory later. */
void crypto_library_start_now(void);
/* Looks up the methods that the work needs, for processes that wait before they
 * have any: the look-up then costs no time later. Methods that are not needed
 * are not looked up, since their tables cost time and memory. */
enum crypto_work {
	CRYPTO_KEY_EXCHANGE, /* without signatures */
	CRYPTO_SIGNATURES,
};
void crypto_library_warm(enum crypto_work work);
/* Name, version and date of the library that is loaded. Static. */
const char *crypto_library_version(void);

#endif
