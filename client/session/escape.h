/* SPDX-License-Identifier: ISC */
/*
 * Escape sequences in what the user types: the escape character after a
 * line end, then one more character. Only recognises them; what they do is
 * in the caller's table.
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
	bool takes_line; /* what follows, to the end of its line, is for it */
};

struct escape {
	const struct escape_row *rows;
	size_t row_count;
	uint8_t ch;	    /* the escape character */
	bool at_line_start; /* it would be recognised now */
	bool pending;	    /* it was the last byte */
	bool in_line;	    /* of a row that takes one */
	/* Called for each sequence. It must not send anything, because a
	 * packet is just being made of these bytes. */
	void (*found)(void *arg, const struct escape_row *row);
	/* The bytes of a line, its end (CR, LF) or what gives it up (^C, ^D)
	 * among them. As found(). NULL: no row takes lines. */
	void (*typed)(void *arg, uint8_t ch);
	void *arg;
};

void escape_init(struct escape *e, const struct escape_row *rows,
    size_t row_count, uint8_t ch);
/* Removes the sequences from p in place; returns the new length, which may be
 * len + 1, so cap has to be greater than len. */
size_t escape_filter(struct escape *e, uint8_t *p, size_t len, size_t cap);
/* What "~?" shows, beginning with what was typed; without a row that takes a
 * line where none are taken. */
void escape_describe(const struct escape *e, struct buf *out);
/* "~" or "^A"; out has room for 3 bytes. */
void escape_char_name(uint8_t ch, char *out);

#endif
