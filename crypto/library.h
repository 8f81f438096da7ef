/* SPDX-License-Identifier: ISC */
/*
 * The cryptographic library that is in use.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_LIBRARY_H
#define HPN_CRYPTO_LIBRARY_H

/* Name, version and date, as the library itself tells. Static. */
const char *crypto_library_version(void);

#endif
