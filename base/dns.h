/* SPDX-License-Identifier: ISC */
/*
 * Records of the DNS other than addresses, by the system's resolver. An answer
 * that the resolver has not validated is validated here, where that is possible
 * (base/dns-validate.h). A child process asks, and reads the answer.
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
	/* records of an answer; with more it is refused */
	DNS_RECORDS_MAX = 32,
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
	/* The answer is validated (RFC 4035): by us; or by a resolver that says
	 * so and that, by the system's configuration, may be believed. */
	bool authentic;
};

/* Asks for records, and waits for the answer for DNS_WAIT_S seconds at most. 0:
 * there is an answer, perhaps that no such record exists (n is 0).
 * ERR_SIGNATURE: the owner of the name has signed something else. Other ERR_*:
 * there is no answer, or it is malformed. */
int dns_look_up(const char *name, uint16_t type,
    struct dns_answer *out) must_check;
/* Reads from a message the records of that type for the name, or for the name
 * of which it is an alias. */
int dns_read(const uint8_t *message, size_t len, const char *name,
    uint16_t type, struct dns_answer *out) must_check;

#endif
