/* SPDX-License-Identifier: ISC */
/*
 * Pieces of JSON (RFC 8259), as events have them.
 *
 * Threads: any; a buffer is used by one at a time.
 */
#ifndef HPN_BASE_JSON_H
#define HPN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends text as a JSON string, in quotes. A byte that is no UTF-8 becomes the
 * surrogate U+DC00 + byte: so every name has one form, the output is valid
 * JSON, and Python's os.fsencode() gives the bytes back. Control characters and
 * all that is not ASCII below U+10000 are escaped, so that no text acts on a
 * terminal or turns the direction of a line.
 */
void json_put_string(struct buf *b, const char *text);
/* As json_put_string(), with at most `room` bytes, quotes included (room >= 2).
 * False: only the beginning of text fits. */
bool json_put_string_cut(struct buf *b, const char *text, size_t room);

/* Append a comma, and a key with its value. Keys need no escapes. */
void json_put_key(struct buf *b, const char *key);
void json_put_text(struct buf *b, const char *key, const char *text);
void json_put_number(struct buf *b, const char *key, uint64_t n);
void json_put_bool(struct buf *b, const char *key, bool v);
/* Seconds with three digits behind the point. */
void json_put_ms(struct buf *b, const char *key, uint64_t ms);

#endif
