/* SPDX-License-Identifier: ISC */
/*
 * Match blocks of the server: what server-conf.c and server-match.c share.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONF_SERVER_MATCH_H
#define HPN_CONF_SERVER_MATCH_H

#include "conf/server-conf.h"

struct server_block {
	struct strlist criteria;    /* the words of the Match line */
	size_t parent;		    /* 0, or 1 + index of the block around it */
	struct server_conf *values; /* owned; rows without defaults */
};

/* The new block is the last one. criteria is copied. */
int server_conf_add_block(struct server_conf *c,
    const struct strlist *criteria, size_t parent) must_check;

/* Do the criteria match? 1 or 0. ERR_SYNTAX: a criterion is malformed; this is
 * logged with the location, unless that is NULL. */
int server_conf_match(const struct strlist *criteria,
    const struct server_conf_spec *spec,
    const struct conf_location *at) must_check;

#endif
