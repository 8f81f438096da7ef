/* SPDX-License-Identifier: ISC */
/*
 * Points in time as users write and read them: in certificates, and in lists
 * of signers.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_TIMESTAMP_H
#define HPN_KEYS_TIMESTAMP_H

#include <stdint.h>

#include "base/err.h"

/* Reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in local time, or in UTC if
 * "Z" or "UTC" follows. out: seconds since 1970. ERR_SYNTAX also if there is no
 * such day, or it is before 1970. */
int timestamp_parse(const char *text, uint64_t *out) must_check;

/* "2026-11-22T04:37:23" in local time, or the number of seconds if there is no
 * such year. Caller frees; NULL: out of memory. */
char *timestamp_format(uint64_t seconds);

#endif
