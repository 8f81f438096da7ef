/* SPDX-License-Identifier: ISC */
/*
 * Addresses against lists of wildcard patterns and CIDR networks, as in
 * Match Address, from="..." and user@host patterns.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_ADDR_MATCH_H
#define HPN_CONF_ADDR_MATCH_H

#include <stdbool.h>

#include "base/err.h"

/* Comma list of patterns and networks, ! negates: 1 match, -1 negated match,
 * 0 none, ERR_SYNTAX (below -1) for a malformed network. addr NULL: the
 * list is only checked. */
int addr_match_list(const char *addr, const char *list) must_check;

/* A peer by its name or address (host may be NULL): as addr_match_list(),
 * but wildcards may match the name as well. */
int addr_match_host(const char *host, const char *addr,
    const char *list) must_check;

/* Comma list of nothing but addresses and networks, as certificates have it: 1
 * inside of one, 0 outside of all, ERR_SYNTAX if any of them is something else
 * or empty. addr NULL: the list is only checked. */
int addr_match_networks(const char *addr, const char *list) must_check;

#endif
