/* SPDX-License-Identifier: ISC */
/* The operations of -Y, and what they share. */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_SIG_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_SIG_H

#include "keys/sshsig.h"
#include "keytools/keygen/keygen.h"

/* keytools/keygen/keygen-sign.c */
int keygen_sign(const struct keygen_options *o);
/* keytools/keygen/keygen-verify.c */
int keygen_verify(const struct keygen_options *o);
int keygen_check_novalidate(const struct keygen_options *o);
int keygen_find_principals(const struct keygen_options *o);
int keygen_match_principals(const struct keygen_options *o);

/* keytools/keygen/keygen-verify.c. Hashes all bytes that can be read from fd,
 * up to end of file. */
int keygen_digest_fd(int fd, enum digest_alg alg, uint8_t *digest) must_check;

#endif
