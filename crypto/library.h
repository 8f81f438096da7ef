/* SPDX-License-Identifier: ISC */
/*
 * The cryptographic library that is in use.
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_LIBRARY_H
#define HPN_CRYPTO_LIBRARY_H

/* To be called before anything else of crypto/, by programs that live for a
 * short time or in many copies, or whose threads use it: texts of errors,
 * which nobody here asks for, are not loaded, and the library is not taken
 * down at exit, which wipes nothing that its owner does not, and may come
 * before the threads end. */
void crypto_library_start(void);
/* Name, version and date, as the library itself tells. Static. */
const char *crypto_library_version(void);

#endif
