/* SPDX-License-Identifier: ISC */
#include "packet-zlib.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum { LEVEL = 6, STEP = 16 * 1024 };

struct zstream {
	z_stream z;
	bool deflates;
};

int
zstream_new(struct zstream **out, bool deflates)
{
	struct zstream *z = calloc(1, sizeof *z);
	int r;

	if (z == NULL)
		return ERR_NOMEM;
	z->deflates = deflates;
	r = deflates ? deflateInit(&z->z, LEVEL) : inflateInit(&z->z);
	if (r != Z_OK) {
		free(z);
		return ERR_NOMEM;
	}
	*out = z;
	return 0;
}

void
zstream_free(struct zstream *z)
{
	if (z == NULL)
		return;
	if (z->deflates)
		deflateEnd(&z->z);
	else
		inflateEnd(&z->z);
	free(z);
}

static int
run(struct zstream *z, const void *p, size_t len, size_t max,
    struct buf *out)
{
	size_t before = buf_len(out), made;
	uint8_t *to;
	int r;

	z->z.next_in = (Bytef *)(uintptr_t)p;
	z->z.avail_in = (uInt)len;
	do {
		if ((to = buf_reserve(out, STEP)) == NULL)
			return buf_err(out);
		z->z.next_out = to;
		z->z.avail_out = STEP;
		r = z->deflates ? deflate(&z->z, Z_PARTIAL_FLUSH) :
				  inflate(&z->z, Z_SYNC_FLUSH);
		made = STEP - z->z.avail_out;
		buf_commit(out, made);
		if (buf_len(out) - before > max)
			return ERR_LIMIT;
		/* Z_BUF_ERROR: no input is left, the normal end. */
		if (r == Z_BUF_ERROR)
			break;
		if (r != Z_OK)
			return ERR_COMPRESSION;
	} while (z->z.avail_out == 0);
	return z->z.avail_in == 0 ? 0 : ERR_COMPRESSION;
}

int
zstream_deflate(struct zstream *z, const void *p, size_t len,
    struct buf *out)
{
	ENSURE(z->deflates);
	return run(z, p, len, SIZE_MAX, out);
}

int
zstream_inflate(struct zstream *z, const void *p, size_t len, size_t max,
    struct buf *out)
{
	ENSURE(!z->deflates);
	return run(z, p, len, max, out);
}

void
zstream_totals(const struct zstream *z, uint64_t *compressed,
    uint64_t *inflated)
{
	*compressed = z->deflates ? z->z.total_out : z->z.total_in;
	*inflated = z->deflates ? z->z.total_in : z->z.total_out;
}
