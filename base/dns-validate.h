/* SPDX-License-Identifier: ISC */
/* Answers of the DNS that this program validates itself (DNSSEC), by libunbound
 * and the keys of the root that the system keeps. It is for a process that ends
 * with the answer (base/dns.c): the library's memory is not freed, and there is
 * no limit for the time that it takes. */
#ifndef HPN_BASE_DNS_VALIDATE_H
#define HPN_BASE_DNS_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Asks for the records of that type, and appends the message of the answer.
 * *secure: signatures prove the answer. Otherwise the name is in a part of the
 * DNS that is not signed, or nobody could be asked for the proof.
 * ERR_UNSUPPORTED: the library or the keys are missing. ERR_SIGNATURE: the
 * answer is not what the owner of the name has signed, or lacks the signatures.
 * ERR_SYSTEM: there is no answer. */
int dns_validate(const char *name, uint16_t type, struct buf *message,
    bool *secure) must_check;

#endif
