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

/* Reads a value such as 500Mbit or 60MB as bytes a second; NULL gives
 * RATE_NONE. ERR_FORMAT. */
int rate_read(const char *value, uint64_t *bytes) must_check;
/* For the table of keywords: the reason why a value is wrong; NULL: it is
 * right. */
const char *rate_check(const char *value);

/* Reads GROUP=RATE: the length of the group's name, and the rate. */
int rate_read_group(const char *item, size_t *name_len,
    uint64_t *bytes) must_check;
const char *rate_check_group(const char *item);
/* The index of the first item that names one of the groups; -1: none does. */
int rate_of_groups(const struct strlist *items, const struct strlist *groups);

#endif
