/* SPDX-License-Identifier: ISC */
/*
 * Recognises escape sequences in what the user types: after a line end the
 * escape character, then one more character. What a sequence does is in the
 * caller's table.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_ESCAPE_H
#define HPN_CLIENT_SESSION_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { ESCAPE_CTRL_C = 3, ESCAPE_CTRL_D = 4 };

struct escape_row {
	uint8_t ch;
	void (*run)(void *arg);
	const char *help;
	bool takes_line; /* the rest of the typed line belongs to this sequence
			  * (~C) */
};

struct escape {
	const struct escape_row *rows;
	size_t row_count;
	uint8_t ch;	    /* the escape character */
	bool at_line_start; /* the escape character would be recognised now */
	bool pending;	    /* the last byte was an escape character that
			     * counts */
	bool in_line;	    /* the bytes that follow belong to a sequence with
			     * takes_line */
	/* Called for each sequence. It must not send anything, because the
	 * packet with the typed bytes is just being made. */
	void (*found)(void *arg, const struct escape_row *row);
	/* Called for each byte that belongs to a sequence with takes_line, also
	 * for the line's end (CR, LF) or what gives the line up (^C, ^D). It
	 * must not send anything either. NULL: such sequences take no line. */
	void (*typed)(void *arg, uint8_t ch);
	void *arg;
};

void escape_init(struct escape *e, const struct escape_row *rows,
    size_t row_count, uint8_t ch);
/* Removes the sequences from p in place; returns the new length, which may be
 * len + 1, so cap has to be greater than len. */
size_t escape_filter(struct escape *e, uint8_t *p, size_t len, size_t cap);
/* Appends what "~?" shows, beginning with those two characters. Sequences with
 * takes_line are left out if typed is NULL. */
void escape_describe(const struct escape *e, struct buf *out);
/* Puts the character as text ("~", "^A") into out, which has room for 3
 * bytes. */
void escape_char_name(uint8_t ch, char *out);

#endif
