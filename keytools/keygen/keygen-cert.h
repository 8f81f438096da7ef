/* SPDX-License-Identifier: ISC */
/* What the modes of hpnssh-keygen that make and show certificates share. */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_CERT_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_CERT_H

#include <time.h>

#include "keys/cert.h"
#include "keytools/keygen/keygen.h"

/* -V. NULL: for ever. Ends the program if it cannot be read. */
void keygen_validity_parse(const char *text, time_t now, uint64_t *after,
    uint64_t *before);
/* "forever", "from T to T"...; caller frees. */
char *keygen_validity(const struct cert *c);
/* The options of a certificate are all of -O, and what holds without any. Ends
 * the program if one is wrong. */
void keygen_cert_options(const struct keygen_options *o,
    struct cert_request *request);

#endif
