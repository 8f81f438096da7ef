/* SPDX-License-Identifier: ISC */
/*
 * Values of UserRateMax, GroupRateMax and TransferCapacity: numbers with a unit
 * that says bits or bytes.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_CONF_RATES_H
#define HPN_CONF_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define RATE_NONE UINT64_MAX

/* Bytes a second of a value such as 500Mbit or 60MB; NULL: RATE_NONE.
 * ERR_FORMAT. */
int rate_read(const char *value, uint64_t *bytes) must_check;
/* What is wrong with one; NULL: nothing. For the table of keywords. */
const char *rate_check(const char *value);

/* Of GROUP=RATE: the length of the group's name, and the rate. */
int rate_read_group(const char *item, size_t *name_len,
    uint64_t *bytes) must_check;
const char *rate_check_group(const char *item);
/* The first item for one of these groups; -1: there is none. */
int rate_of_groups(const struct strlist *items, const struct strlist *groups);

#endif
