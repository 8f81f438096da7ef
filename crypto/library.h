/* SPDX-License-Identifier: ISC */
/*
 * The cryptographic library that is in use.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_LIBRARY_H
#define HPN_CRYPTO_LIBRARY_H

/*
 * Sets up the library so that it costs less. Programs that live for a short
 * time, run in many copies or use crypto/ in threads call this before anything
 * else of crypto/. OpenSSL then does not load its texts of errors, which we
 * never print, and does not clean up at exit(): that could happen while our
 * threads still run, and wipes no secret that we have not wiped ourselves.
 *
 * From then on all memory that the library frees is wiped. It does so itself
 * with the numbers of a key, but not with all that it makes of a key's file,
 * nor with all that is on the way to a signature.
 */
void crypto_library_start(void);
/* The same, and reads its configuration now, not when it is first needed: for
 * processes that change their root directory. */
void crypto_library_start_now(void);
/* For processes that wait before they have work: looks up what a key exchange
 * and a login need, so that this costs nothing later. */
void crypto_library_warm(void);
/* Name, version and date of the library that is loaded. Static. */
const char *crypto_library_version(void);

#endif
