/* SPDX-License-Identifier: ISC */
/*
 * TCP_INFO on the wire, as HPN-SSH sends it: a "binn" object, which is
 * u8 0xe2, size of the whole, number of entries, then the entries: u8 length
 * of the key, key, u8 type, number (big-endian). Sizes and numbers of
 * entries are one byte up to 127, else four with the highest bit set.
 */
#include <string.h>

#include "base/tcp.h"

enum {
	BINN_OBJECT = 0xe2,
	BINN_STORAGE = 0xe0, /* bits of a type that say how many bytes follow */
	BINN_U8 = 0x20,
	BINN_U16 = 0x40,
	BINN_U32 = 0x60,
	BINN_U64 = 0x80,
	BINN_SHORT_MAX = 127,
	ENTRIES_MAX = 1024, /* entries of an object from the peer */
};

#define BINN_LONG ((uint32_t)1 << 31)

static const char kernel_key[] = "kernel_version";

static void
put_size(struct buf *b, size_t n)
{
	if (n <= BINN_SHORT_MAX)
		buf_put_u8(b, (uint8_t)n);
	else
		buf_put_u32(b, (uint32_t)n | BINN_LONG);
}

/* Appends an entry, with its number in as few bytes as possible. */
static void
put_entry(struct buf *b, const char *key, uint64_t v)
{
	buf_put_u8(b, (uint8_t)strlen(key));
	buf_put(b, key, strlen(key));
	if (v <= UINT8_MAX) {
		buf_put_u8(b, BINN_U8);
		buf_put_u8(b, (uint8_t)v);
	} else if (v <= UINT16_MAX) {
		buf_put_u8(b, BINN_U16);
		buf_put_u16(b, (uint16_t)v);
	} else if (v <= UINT32_MAX) {
		buf_put_u8(b, BINN_U32);
		buf_put_u32(b, (uint32_t)v);
	} else {
		buf_put_u8(b, BINN_U64);
		buf_put_u64(b, v);
	}
}

void
tcp_numbers_put(struct buf *out, const struct tcp_numbers *t)
{
	struct buf entries = { 0 }, count = { 0 };
	size_t n = 1, size;

	put_entry(&entries, kernel_key, t->kernel);
	for (int i = 0; i < TCP_FIELD_COUNT; i++) {
		if (!tcp_field_in((enum tcp_field)i, t->kernel))
			continue;
		put_entry(&entries, tcp_field_key((enum tcp_field)i),
		    t->v[i]);
		n++;
	}
	put_size(&count, n);
	/* The object's size includes the bytes of the size itself. */
	size = 1 + 1 + buf_len(&count) + buf_len(&entries);
	if (size > BINN_SHORT_MAX)
		size += 3;
	buf_put_u8(out, BINN_OBJECT);
	put_size(out, size);
	buf_put_buf(out, &count);
	buf_put_buf(out, &entries);
	if (buf_err(&entries) != 0 || buf_err(&count) != 0)
		out->err = ERR_NOMEM;
	buf_clear(&entries);
	buf_clear(&count);
}

static uint32_t
take_size(struct rd *r)
{
	uint32_t v;

	if (r->len == 0 || r->p[0] <= BINN_SHORT_MAX)
		return rd_u8(r);
	v = rd_u32(r);
	return v & ~BINN_LONG;
}

/* Reads a number. A signed type has the same size as the unsigned one, and its
 * number is not negative here. */
static uint64_t
take_number(struct rd *r)
{
	switch (rd_u8(r) & BINN_STORAGE) {
	case 0:
		return 0;
	case BINN_U8:
		return rd_u8(r);
	case BINN_U16:
		return rd_u16(r);
	case BINN_U32:
		return rd_u32(r);
	case BINN_U64:
		return rd_u64(r);
	default:
		rd_fail(r, ERR_FORMAT);
		return 0;
	}
}

static void
take_entry(struct rd *r, struct tcp_numbers *t)
{
	struct span key = rd_bytes(r, rd_u8(r));
	uint64_t v = take_number(r);

	if (rd_err(r) != 0)
		return;
	if (span_equals(key, kernel_key))
		t->kernel = v <= UINT32_MAX ? (uint32_t)v : 0;
	for (int i = 0; i < TCP_FIELD_COUNT; i++)
		if (span_equals(key, tcp_field_key((enum tcp_field)i)))
			t->v[i] = v;
}

int
tcp_numbers_get(struct rd *in, struct tcp_numbers *t)
{
	size_t whole = in->len;
	uint32_t size, n;

	memset(t, 0, sizeof *t);
	if (rd_u8(in) != BINN_OBJECT)
		rd_fail(in, ERR_FORMAT);
	size = take_size(in);
	n = take_size(in);
	if (size != whole || n > ENTRIES_MAX)
		rd_fail(in, ERR_FORMAT);
	for (uint32_t i = 0; i < n && rd_err(in) == 0; i++)
		take_entry(in, t);
	return rd_end(in);
}
