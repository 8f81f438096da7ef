/* SPDX-License-Identifier: ISC */
/*
 * Records of the DNS that are not addresses, through the system's resolver;
 * what it has not validated is by this program where it can
 * (base/dns-validate.h). Asking and reading are the work of a child.
 *
 * Threads: loop thread only; dns_read(): any.
 */
#ifndef HPN_BASE_DNS_H
#define HPN_BASE_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	DNS_TYPE_SSHFP = 44, /* RFC 4255 */
	DNS_RECORDS_MAX = 32, /* of an answer; with more it is refused */
	DNS_DATA_MAX = 256,   /* bytes of a record; longer ones are refused */
	DNS_WAIT_S = 10,
};

struct dns_record {
	size_t len;
	uint8_t data[DNS_DATA_MAX];
};

struct dns_answer {
	struct dns_record v[DNS_RECORDS_MAX];
	size_t n;
	/* It is validated (RFC 4035): by us, or the resolver says so, and the
	 * system's configuration says that it may be believed. */
	bool authentic;
};

/* Waits for the resolver, DNS_WAIT_S seconds at most. No such record: 0, with
 * n = 0. ERR_SIGNATURE: the owner has signed something else. Other ERR_*:
 * there is no answer, or one that makes no sense. */
int dns_look_up(const char *name, uint16_t type,
    struct dns_answer *out) must_check;
/* The part that reads: the records of that type which the message has for the
 * name, or for what the name is an alias of. */
int dns_read(const uint8_t *message, size_t len, const char *name,
    uint16_t type, struct dns_answer *out) must_check;

#endif
