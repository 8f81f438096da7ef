/* SPDX-License-Identifier: ISC */
/* The numbers of the KRL format, for those who read and write it, and how
 * serial numbers are written. */
#ifndef HPN_KEYS_KRL_INTERNAL_H
#define HPN_KEYS_KRL_INTERNAL_H

#include "base/buf.h"

#define KRL_MAGIC "SSHKRL\n" /* with its NUL */
enum { KRL_MAGIC_LEN = 8, KRL_FORMAT = 1 };

enum {
	KRL_SECTION_CERTS = 1,
	KRL_SECTION_KEYS = 2,
	KRL_SECTION_SHA1 = 3,
	KRL_SECTION_SIGNATURE = 4,
	KRL_SECTION_SHA256 = 5,
	KRL_SECTION_EXTENSION = 255,
};

enum {
	KRL_CERT_LIST = 0x20,
	KRL_CERT_RANGE = 0x21,
	KRL_CERT_BITMAP = 0x22,
	KRL_CERT_IDS = 0x23,
	KRL_CERT_EXTENSION = 0x39,
};

/* A range of serial numbers, from first to last. */
struct krl_range {
	uint64_t first, last;
};

/* Appends sections with the serial numbers of the ranges, as short as possible.
 * The ranges are sorted and do not touch each other. */
int krl_put_serials(struct buf *out, const struct krl_range *v,
    size_t n) must_check;

#endif
