/* SPDX-License-Identifier: ISC */
/*
 * Answers of the DNS that this program validates itself (DNSSEC), by libunbound
 * and the keys of the root that the system keeps.
 *
 * For a process that ends with the answer (base/dns.c): what the library holds
 * is not given back, and it waits as long as it likes.
 */
#ifndef HPN_BASE_DNS_VALIDATE_H
#define HPN_BASE_DNS_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Appends the message that answers. *secure: it is proven; else it lies in a
 * part of the DNS that is not signed, or nobody could be asked for the proof.
 * ERR_UNSUPPORTED: without the library or the keys nothing can be validated.
 * ERR_SIGNATURE: what came is not what the owner has signed, or came without
 * the signatures. ERR_SYSTEM: there is no answer.
 */
int dns_validate(const char *name, uint16_t type, struct buf *message,
    bool *secure) must_check;

#endif
