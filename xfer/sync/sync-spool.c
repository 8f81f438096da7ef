/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/unnamed.h"

/* A record stands between its length and its length, so that it can be read
 * from both sides. */
enum { LEN = 4 };

void
sync_spool_init(struct sync_spool *s)
{
	*s = (struct sync_spool){ .fd = -1 };
	buf_init(&s->tail);
	s->record = xmalloc(SYNC_SPOOL_RECORD_MAX);
}

void
sync_spool_clear(struct sync_spool *s)
{
	buf_clear(&s->tail);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	free(s->record);
	s->record = NULL;
}

static int
move_to_file(struct sync_spool *s)
{
	int r;

	if (s->fd < 0 && (s->fd = unnamed_file("hpnsync")) < 0)
		return ERR_SYSTEM;
	r = fd_pwrite_all(s->fd, buf_data(&s->tail), buf_len(&s->tail),
	    s->in_file);
	if (r != 0)
		return ERR_SYSTEM;
	s->in_file += buf_len(&s->tail);
	buf_reset(&s->tail);
	return 0;
}

int
sync_spool_put(struct sync_spool *s, const void *p, size_t len)
{
	if (len > SYNC_SPOOL_RECORD_MAX)
		return ERR_LIMIT;
	buf_put_u32(&s->tail, (uint32_t)len);
	buf_put(&s->tail, p, len);
	buf_put_u32(&s->tail, (uint32_t)len);
	if (buf_err(&s->tail) < 0)
		return buf_err(&s->tail);
	s->count++;
	return buf_len(&s->tail) < SYNC_SPOOL_MEMORY ? 0 : move_to_file(s);
}

/* Reads len bytes from a place of the whole list: file, then tail. */
static int
read_at(const struct sync_spool *s, uint64_t at, void *out, size_t len)
{
	if (at >= s->in_file) {
		memcpy(out, buf_data(&s->tail) + (at - s->in_file), len);
		return 0;
	}
	return fd_pread_all(s->fd, out, len, at) == (ssize_t)len ? 0 :
								   ERR_SYSTEM;
}

static int
read_len(const struct sync_spool *s, uint64_t at, uint32_t *len)
{
	uint8_t raw[LEN];
	int r = read_at(s, at, raw, LEN);

	*len = (uint32_t)raw[0] << 24 | (uint32_t)raw[1] << 16 |
	    (uint32_t)raw[2] << 8 | raw[3];
	return r == 0 && *len > SYNC_SPOOL_RECORD_MAX ? ERR_SYSTEM : r;
}

uint64_t
sync_spool_end(const struct sync_spool *s)
{
	return s->in_file + buf_len(&s->tail);
}

int
sync_spool_read(struct sync_spool *s, uint64_t at, const uint8_t **p,
    size_t *len)
{
	uint32_t n;
	int r;

	if ((r = read_len(s, at, &n)) != 0 ||
	    (r = read_at(s, at + LEN, s->record, n)) != 0)
		return r;
	*p = s->record;
	*len = n;
	return 0;
}

int
sync_spool_take_last(struct sync_spool *s, const uint8_t **p, size_t *len)
{
	uint64_t end = s->in_file + buf_len(&s->tail), start;
	uint32_t n;
	int r;

	if (s->count == 0)
		return 0;
	if ((r = read_len(s, end - LEN, &n)) != 0)
		return r;
	start = end - LEN - n;
	if ((r = read_at(s, start, s->record, n)) != 0)
		return r;
	start -= LEN;
	if (start >= s->in_file) {
		buf_truncate(&s->tail, (size_t)(start - s->in_file));
	} else {
		buf_reset(&s->tail);
		s->in_file = start;
	}
	s->count--;
	*p = s->record;
	*len = n;
	return 1;
}

int
sync_spool_take_first(struct sync_spool *s, const uint8_t **p, size_t *len)
{
	uint32_t n;
	int r;

	if (s->count == 0)
		return 0;
	if ((r = read_len(s, s->first, &n)) != 0 ||
	    (r = read_at(s, s->first + LEN, s->record, n)) != 0)
		return r;
	s->first += 2 * LEN + n;
	s->count--;
	*p = s->record;
	*len = n;
	return 1;
}
