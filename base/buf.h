/* SPDX-License-Identifier: ISC */
/*
 * A growable byte buffer: appended at the end, consumed from the front.
 * Writing SSH types (RFC 4251 section 5) has a sticky error that is asked
 * once, with buf_err(), so that composing a message reads like the RFC.
 *
 * Threads: a buffer belongs to one thread at a time.
 */
#ifndef HPN_BASE_BUF_H
#define HPN_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { BUF_MAX_DEFAULT = 0x8000000 }; /* bytes a buffer may hold: 128 MiB */

/* Embedded by value; fields are private to buf.c. */
struct buf {
	uint8_t *data;	  /* owned */
	size_t off, end;  /* content is data[off..end) */
	size_t cap, max;  /* bytes allocated; limit on the content */
	int err;	  /* sticky: 0 or the first ERR_* of a put */
	bool secret;	  /* wiped on growth, consumption and free */
};

/* Make an empty buffer. A zeroed struct buf is one, too. */
void buf_init(struct buf *b);
void buf_init_secret(struct buf *b);
void buf_set_max(struct buf *b, size_t max);
void buf_clear(struct buf *b); /* empties and frees; usable again */
void buf_reset(struct buf *b); /* empties, clears the error, keeps memory */

/* The content, its length, and the error. The pointer is valid until the next
 * call that changes the buffer. */
const uint8_t *buf_data(const struct buf *b);
size_t buf_len(const struct buf *b);
int buf_err(const struct buf *b) must_check;

/* Writing without a copy: buf_reserve() makes room for len bytes at the end
 * (NULL on an error, which the buffer keeps), the caller writes there, and
 * buf_commit() appends as many as were written. */
uint8_t *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t len);
void buf_consume(struct buf *b, size_t len);	  /* from the front */
void buf_truncate(struct buf *b, size_t new_len); /* from the end */

/* Append values in their wire forms. Lengths over UINT32_MAX set ERR_LIMIT. */
void buf_put(struct buf *b, const void *p, size_t len);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_bool(struct buf *b, bool v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_string(struct buf *b, const void *p, size_t len);
void buf_put_cstring(struct buf *b, const char *s); /* NULL: empty string */
void buf_put_buf(struct buf *b, const struct buf *src);	      /* raw */
void buf_put_string_buf(struct buf *b, const struct buf *src); /* string */
/* RFC 4251 mpint from an unsigned big-endian number. */
void buf_put_mpint(struct buf *b, const void *be, size_t len);
void buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
/* A string that is appended in pieces: buf_open_string() makes room for its
 * length, which buf_close_string() fills in. The mark connects the two
 * calls. */
size_t buf_open_string(struct buf *b);
void buf_close_string(struct buf *b, size_t mark);

/* Content as a NUL-terminated copy; caller frees; NULL when out of memory. */
char *buf_dup_string(const struct buf *b);

#endif
