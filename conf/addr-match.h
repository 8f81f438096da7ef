/* SPDX-License-Identifier: ISC */
/*
 * Compares addresses with lists of addresses, CIDR networks and wildcard
 * patterns, as in Match Address, from="..." and user@host patterns.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_ADDR_MATCH_H
#define HPN_CONF_ADDR_MATCH_H

#include <stdbool.h>

#include "base/err.h"

/* Compares addr with a comma list of addresses, networks and patterns, of which
 * ! negates one. 1: a match; -1: a negated match; 0: no match; ERR_SYNTAX
 * (below -1): a network is malformed, or an item is empty. An address in the
 * list means all texts of it. A network without a scope ("%eth0") is that of
 * all scopes. addr NULL: only checks the list. */
int addr_match_list(const char *addr, const char *list) must_check;

/* Like addr_match_list(), for a peer with an address and a name (host, may be
 * NULL): wildcards may match the name as well. */
int addr_match_host(const char *host, const char *addr,
    const char *list) must_check;

/* Compares addr with a comma list that has only addresses and networks, as in
 * certificates. 1: addr is in one of them; 0: in none; ERR_SYNTAX: an entry is
 * something else, or empty. addr NULL: only checks the list. */
int addr_match_networks(const char *addr, const char *list) must_check;

#endif
