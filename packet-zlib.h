/* SPDX-License-Identifier: ISC */
/*
 * zlib@openssh.com: the payload streams of RFC 4253 section 6.2, one stream
 * a direction, flushed after each packet.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_PACKET_ZLIB_H
#define HPN_PACKET_ZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct zstream;

int zstream_new(struct zstream **out, bool deflates) must_check;
void zstream_free(struct zstream *z);
/* Appends the other form of the payload to out; ERR_LIMIT over max bytes. */
int zstream_deflate(struct zstream *z, const void *p, size_t len,
    struct buf *out) must_check;
int zstream_inflate(struct zstream *z, const void *p, size_t len, size_t max,
    struct buf *out) must_check;
/* Bytes that have passed, in both forms. */
void zstream_totals(const struct zstream *z, uint64_t *compressed,
    uint64_t *inflated);

#endif
