/* SPDX-License-Identifier: ISC */
/*
 * Inside of keys/: reading a known_hosts file line by line, and changing it
 * (knownhosts-file.c).
 *
 * Threads: any.
 */
#ifndef HPN_KEYS_KNOWNHOSTS_INTERNAL_H
#define HPN_KEYS_KNOWNHOSTS_INTERNAL_H

#include "keys/knownhosts.h"

enum { KNOWNHOSTS_FILE_MAX = 64 * 1024 * 1024 }; /* bytes */

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

/* A line in two steps. The first: marker and hosts; *s is left behind them. The
 * second: key and comment. Clear the line after each. */
int knownhosts_parse_hosts(const char **s,
    struct knownhosts_line *l) must_check;
int knownhosts_parse_key(const char *s, struct knownhosts_line *l) must_check;

/* Appends whole lines; makes the file (0600) and its directory (0700). */
int knownhosts_append(const char *path, struct span text) must_check;
/* A file that is to be replaced: what it had when it was locked. Release it
 * also after an error. */
struct knownhosts_held {
	int fd;
	struct buf content;
};
int knownhosts_hold(struct knownhosts_held *h, const char *path) must_check;
/* Puts this in place of the held content, with what was appended meanwhile.
 * ERR_AGAIN: it was changed in another way, and is left alone. */
int knownhosts_replace(const struct knownhosts_held *h, const char *path,
    const struct buf *content) must_check;
void knownhosts_release(struct knownhosts_held *h);

bool knownhosts_is_hashed(const char *hosts);
/* Appends a whole line. */
int knownhosts_format(const char *name, const struct key *k, bool hash,
    struct buf *out) must_check;

#endif
