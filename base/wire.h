/* SPDX-License-Identifier: ISC */
/*
 * Reading the wire types of RFC 4251 section 5: a by-value cursor that
 * borrows its bytes, checks every length and keeps the first error. Read
 * the fields, then ask rd_end() (or rd_err() if more may follow) once.
 * After an error every read gives zero or nothing.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_WIRE_H
#define HPN_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Borrowed bytes. */
struct span {
	const uint8_t *p;
	size_t len;
};

struct rd {
	const uint8_t *p;
	size_t len; /* bytes left */
	int err;    /* sticky */
};

struct buf;

struct rd rd_from(const void *p, size_t len);
struct rd rd_from_span(struct span s);
struct rd rd_from_buf(const struct buf *b);

uint8_t rd_u8(struct rd *r);
bool rd_bool(struct rd *r);
uint16_t rd_u16(struct rd *r);
uint32_t rd_u32(struct rd *r);
uint64_t rd_u64(struct rd *r);
struct span rd_bytes(struct rd *r, size_t len);
struct span rd_rest(struct rd *r);
struct span rd_string(struct rd *r);
struct rd rd_sub(struct rd *r); /* a string as a cursor of its own */
/* A non-negative mpint: its bytes without leading zeros; ERR_FORMAT if it
 * is negative or not minimal. */
struct span rd_mpint(struct rd *r);
/* A string without NUL in it, as a NUL-terminated copy that the caller
 * frees; NULL on error. max bounds its length. */
char *rd_cstring(struct rd *r, size_t max);

/* 0, or the sticky error. */
int rd_err(const struct rd *r) must_check;
/* As rd_err(), and ERR_TRAILING if bytes are left. */
int rd_end(const struct rd *r) must_check;
/* Sets the sticky error if there is none. */
void rd_fail(struct rd *r, int err);

/* All bytes of b; valid until b changes. */
struct span buf_span(const struct buf *b);
bool span_equals(struct span s, const char *cstring);
/* NUL-terminated copy, caller frees; NULL if memory is out or s holds NUL. */
char *span_dup(struct span s);

/* Big-endian numbers at a place that the caller knows to be large enough. */
uint16_t wire_get_u16(const uint8_t *p);
uint32_t wire_get_u32(const uint8_t *p);
uint64_t wire_get_u64(const uint8_t *p);
void wire_put_u16(uint8_t *p, uint16_t v);
void wire_put_u32(uint8_t *p, uint32_t v);
void wire_put_u64(uint8_t *p, uint64_t v);

#endif
