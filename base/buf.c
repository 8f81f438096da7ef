/* SPDX-License-Identifier: ISC */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "compat/bsd-mem.h"

enum { MIN_CAP = 256 };

void
buf_init(struct buf *b)
{
	*b = (struct buf){ .max = BUF_MAX_DEFAULT };
}

void
buf_init_secret(struct buf *b)
{
	*b = (struct buf){ .max = BUF_MAX_DEFAULT, .secret = true };
}

void
buf_set_max(struct buf *b, size_t max)
{
	b->max = max;
}

static size_t
limit(const struct buf *b)
{
	return b->max != 0 ? b->max : BUF_MAX_DEFAULT;
}

void
buf_clear(struct buf *b)
{
	if (b->secret && b->data != NULL)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	b->data = NULL;
	b->off = b->end = b->cap = 0;
	b->err = 0;
}

void
buf_reset(struct buf *b)
{
	if (b->secret && b->data != NULL)
		explicit_bzero(b->data, b->end);
	b->off = b->end = 0;
	b->err = 0;
}

const uint8_t *
buf_data(const struct buf *b)
{
	static const uint8_t nothing[1];

	return b->data != NULL ? b->data + b->off : nothing;
}

size_t
buf_len(const struct buf *b)
{
	return b->end - b->off;
}

int
buf_err(const struct buf *b)
{
	return b->err;
}

static void
set_err(struct buf *b, int err)
{
	if (b->err == 0)
		b->err = err;
}

static bool
grow(struct buf *b, size_t want)
{
	size_t len = buf_len(b), cap;
	uint8_t *data;

	/* Moves the content to the front of the buffer if at least as many
	 * bytes become free there as are moved. */
	if (b->data != NULL && b->off >= len && b->cap - len >= want) {
		memmove(b->data, b->data + b->off, len);
		if (b->secret)
			explicit_bzero(b->data + len, b->end - len);
		b->off = 0;
		b->end = len;
		return true;
	}
	cap = MAX(b->cap, (size_t)MIN_CAP);
	while (cap < len + want)
		cap *= 2;
	data = malloc(cap);
	if (data == NULL) {
		set_err(b, ERR_NOMEM);
		return false;
	}
	if (len > 0)
		memcpy(data, b->data + b->off, len);
	if (b->secret && b->data != NULL)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	b->data = data;
	b->cap = cap;
	b->off = 0;
	b->end = len;
	return true;
}

uint8_t *
buf_reserve(struct buf *b, size_t len)
{
	if (b->err != 0)
		return NULL;
	if (len > limit(b) || buf_len(b) > limit(b) - len) {
		set_err(b, ERR_LIMIT);
		return NULL;
	}
	if ((b->data == NULL || b->cap - b->end < len) && !grow(b, len))
		return NULL;
	return b->data + b->end;
}

void
buf_commit(struct buf *b, size_t len)
{
	ENSURE(len <= b->cap - b->end);
	b->end += len;
}

void
buf_consume(struct buf *b, size_t len)
{
	ENSURE(len <= buf_len(b));
	if (b->secret && len > 0)
		explicit_bzero(b->data + b->off, len);
	b->off += len;
	if (b->off == b->end)
		b->off = b->end = 0;
}

void
buf_truncate(struct buf *b, size_t new_len)
{
	ENSURE(new_len <= buf_len(b));
	if (b->secret)
		explicit_bzero(b->data + b->off + new_len,
		    buf_len(b) - new_len);
	b->end = b->off + new_len;
}

void
buf_put(struct buf *b, const void *p, size_t len)
{
	uint8_t *to;

	if (len == 0 || (to = buf_reserve(b, len)) == NULL)
		return;
	memcpy(to, p, len);
	b->end += len;
}

void
buf_put_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

void
buf_put_bool(struct buf *b, bool v)
{
	buf_put_u8(b, v ? 1 : 0);
}

void
buf_put_u16(struct buf *b, uint16_t v)
{
	uint8_t w[2];

	wire_put_u16(w, v);
	buf_put(b, w, sizeof w);
}

void
buf_put_u32(struct buf *b, uint32_t v)
{
	uint8_t w[4];

	wire_put_u32(w, v);
	buf_put(b, w, sizeof w);
}

void
buf_put_u64(struct buf *b, uint64_t v)
{
	uint8_t w[8];

	wire_put_u64(w, v);
	buf_put(b, w, sizeof w);
}

void
buf_put_string(struct buf *b, const void *p, size_t len)
{
	if (len > UINT32_MAX) {
		set_err(b, ERR_LIMIT);
		return;
	}
	buf_put_u32(b, (uint32_t)len);
	buf_put(b, p, len);
}

void
buf_put_cstring(struct buf *b, const char *s)
{
	buf_put_string(b, s, s != NULL ? strlen(s) : 0);
}

void
buf_put_buf(struct buf *b, const struct buf *src)
{
	if (src->err != 0)
		set_err(b, src->err);
	buf_put(b, buf_data(src), buf_len(src));
}

void
buf_put_string_buf(struct buf *b, const struct buf *src)
{
	if (src->err != 0)
		set_err(b, src->err);
	buf_put_string(b, buf_data(src), buf_len(src));
}

void
buf_put_mpint(struct buf *b, const void *be, size_t len)
{
	const uint8_t *p = be;
	bool pad;

	while (len > 0 && *p == 0) {
		p++;
		len--;
	}
	if (len >= UINT32_MAX) {
		set_err(b, ERR_LIMIT);
		return;
	}
	pad = len > 0 && (*p & 0x80) != 0;
	buf_put_u32(b, (uint32_t)(len + (pad ? 1 : 0)));
	if (pad)
		buf_put_u8(b, 0);
	buf_put(b, p, len);
}

static void
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	uint8_t *to;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0) {
		set_err(b, ERR_FORMAT);
		return;
	}
	if ((to = buf_reserve(b, (size_t)n + 1)) == NULL)
		return;
	vsnprintf((char *)to, (size_t)n + 1, fmt, ap);
	b->end += (size_t)n;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

size_t
buf_open_string(struct buf *b)
{
	buf_put_u32(b, 0);
	return buf_len(b);
}

void
buf_close_string(struct buf *b, size_t mark)
{
	if (b->err != 0)
		return;
	ENSURE(mark >= 4 && mark <= buf_len(b));
	wire_put_u32(b->data + b->off + mark - 4,
	    (uint32_t)(buf_len(b) - mark));
}

char *
buf_dup_string(const struct buf *b)
{
	char *s = malloc(buf_len(b) + 1);

	if (s == NULL)
		return NULL;
	memcpy(s, buf_data(b), buf_len(b));
	s[buf_len(b)] = '\0';
	return s;
}
