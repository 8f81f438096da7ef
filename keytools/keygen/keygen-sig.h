/* SPDX-License-Identifier: ISC */
/* The operations of -Y, and what they share. */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_SIG_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_SIG_H

#include "keys/sshsig.h"

/* keytools/keygen/keygen-sign.c */
int keygen_sign(void);
/* keytools/keygen/keygen-verify.c */
int keygen_verify(void);
int keygen_check_novalidate(void);
int keygen_find_principals(void);
int keygen_match_principals(void);

/* keytools/keygen/keygen-verify.c. The hash of what fd gives up to its end. */
int keygen_digest_fd(int fd, enum digest_alg alg, uint8_t *digest) must_check;

#endif
