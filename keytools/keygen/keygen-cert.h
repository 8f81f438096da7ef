/* SPDX-License-Identifier: ISC */
/* What the modes of hpnssh-keygen that make and show certificates share. */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_CERT_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_CERT_H

#include <time.h>

#include "keys/cert.h"
#include "keytools/keygen/keygen.h"

/* Parses the argument of -V into the seconds since 1970 from which and before
 * which a certificate is valid. text NULL: for ever. Ends the program if text
 * is invalid. */
void keygen_validity_parse(const char *text, time_t now, uint64_t *after,
    uint64_t *before);
/* The validity of a certificate as text: "forever", "from T to T"... Caller
 * frees. */
char *keygen_validity(const struct cert *c);
/* Sets the options of a certificate: those that it has without any -O, changed
 * by all -O. Ends the program if an -O is invalid. */
void keygen_cert_options(const struct keygen_options *o,
    struct cert_request *request);

#endif
