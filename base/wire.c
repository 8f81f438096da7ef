/* SPDX-License-Identifier: ISC */
#include "base/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static const uint8_t nothing[1];

struct rd
rd_from(const void *p, size_t len)
{
	return (struct rd){ .p = len > 0 ? p : nothing, .len = len };
}

struct rd
rd_from_span(struct span s)
{
	return rd_from(s.p, s.len);
}

struct rd
rd_from_buf(const struct buf *b)
{
	return rd_from(buf_data(b), buf_len(b));
}

void
rd_fail(struct rd *r, int err)
{
	if (r->err == 0)
		r->err = err;
	r->len = 0;
}

struct span
rd_bytes(struct rd *r, size_t len)
{
	struct span s = { nothing, 0 };

	if (len > r->len)
		rd_fail(r, ERR_TRUNCATED);
	if (r->err != 0)
		return s;
	s.p = r->p;
	s.len = len;
	r->p += len;
	r->len -= len;
	return s;
}

uint8_t
rd_u8(struct rd *r)
{
	struct span s = rd_bytes(r, 1);

	return s.len == 1 ? s.p[0] : 0;
}

bool
rd_bool(struct rd *r)
{
	return rd_u8(r) != 0;
}

uint16_t
rd_u16(struct rd *r)
{
	struct span s = rd_bytes(r, 2);

	return s.len == 2 ? wire_get_u16(s.p) : 0;
}

uint32_t
rd_u32(struct rd *r)
{
	struct span s = rd_bytes(r, 4);

	return s.len == 4 ? wire_get_u32(s.p) : 0;
}

uint64_t
rd_u64(struct rd *r)
{
	struct span s = rd_bytes(r, 8);

	return s.len == 8 ? wire_get_u64(s.p) : 0;
}

struct span
buf_span(const struct buf *b)
{
	return (struct span){ buf_data(b), buf_len(b) };
}

struct span
rd_rest(struct rd *r)
{
	return rd_bytes(r, r->len);
}

struct span
rd_string(struct rd *r)
{
	uint32_t len = rd_u32(r);

	return rd_bytes(r, len);
}

struct rd
rd_sub(struct rd *r)
{
	struct span s = rd_string(r);
	struct rd sub = rd_from_span(s);

	sub.err = r->err;
	return sub;
}

struct span
rd_mpint(struct rd *r)
{
	struct span s = rd_string(r);

	if (s.len == 0)
		return s;
	if ((s.p[0] & 0x80) != 0 ||
	    (s.p[0] == 0 && (s.len == 1 || (s.p[1] & 0x80) == 0))) {
		rd_fail(r, ERR_FORMAT);
		return (struct span){ nothing, 0 };
	}
	if (s.p[0] == 0) {
		s.p++;
		s.len--;
	}
	return s;
}

char *
rd_cstring(struct rd *r, size_t max)
{
	struct span s = rd_string(r);
	char *copy;

	if (r->err != 0)
		return NULL;
	if (s.len > max || memchr(s.p, '\0', s.len) != NULL) {
		rd_fail(r, s.len > max ? ERR_LIMIT : ERR_FORMAT);
		return NULL;
	}
	copy = span_dup(s);
	if (copy == NULL)
		rd_fail(r, ERR_NOMEM);
	return copy;
}

int
rd_err(const struct rd *r)
{
	return r->err;
}

int
rd_end(const struct rd *r)
{
	if (r->err != 0)
		return r->err;
	return r->len > 0 ? ERR_TRAILING : 0;
}

bool
span_equals(struct span s, const char *cstring)
{
	return s.len == strlen(cstring) && memcmp(s.p, cstring, s.len) == 0;
}

char *
span_dup(struct span s)
{
	char *copy;

	if (s.len > 0 && memchr(s.p, '\0', s.len) != NULL)
		return NULL;
	copy = malloc(s.len + 1);
	if (copy == NULL)
		return NULL;
	if (s.len > 0)
		memcpy(copy, s.p, s.len);
	copy[s.len] = '\0';
	return copy;
}

uint16_t
wire_get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

uint32_t
wire_get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

uint64_t
wire_get_u64(const uint8_t *p)
{
	return (uint64_t)wire_get_u32(p) << 32 | wire_get_u32(p + 4);
}

void
wire_put_u16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void
wire_put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void
wire_put_u64(uint8_t *p, uint64_t v)
{
	wire_put_u32(p, (uint32_t)(v >> 32));
	wire_put_u32(p + 4, (uint32_t)v);
}
