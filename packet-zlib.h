/* SPDX-License-Identifier: ISC */
/*
 * zlib@openssh.com: compresses payloads (RFC 4253 section 6.2). A direction has
 * one stream for all its payloads, flushed after each packet.
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
/* Append the compressed (deflate) or the plain (inflate) form of the payload p
 * to out. ERR_LIMIT: the plain form is longer than max. */
int zstream_deflate(struct zstream *z, const void *p, size_t len,
    struct buf *out) must_check;
int zstream_inflate(struct zstream *z, const void *p, size_t len, size_t max,
    struct buf *out) must_check;
/* The bytes of all payloads so far, in compressed and in plain form. */
void zstream_totals(const struct zstream *z, uint64_t *compressed,
    uint64_t *inflated);

#endif
