/* SPDX-License-Identifier: ISC */
/*
 * Inside of keys/: reading a known_hosts file line by line.
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KNOWNHOSTS_INTERNAL_H
#define HPN_KEYS_KNOWNHOSTS_INTERNAL_H

#include "keys/knownhosts.h"

struct knownhosts_lines {
	struct buf content; /* the whole file */
	struct span left;   /* what is still to be read of it */
	char *text;	    /* owned: this line, without its end */
	struct span raw;    /* the same bytes, before they were cleaned */
	unsigned number;    /* from 1 */
};

/* Close also after an error of open. */
int knownhosts_lines_open(struct knownhosts_lines *l,
    const char *path) must_check;
/* The same with the content of a file, which is copied. */
int knownhosts_lines_begin(struct knownhosts_lines *l,
    struct span content) must_check;
/* 1: text and raw are the next line's; 0: there is none. */
int knownhosts_lines_next(struct knownhosts_lines *l) must_check;
void knownhosts_lines_close(struct knownhosts_lines *l);

bool knownhosts_is_hashed(const char *hosts);
/* Appends a whole line. */
int knownhosts_format(const char *name, const struct key *k, bool hash,
    struct buf *out) must_check;

#endif
