/* SPDX-License-Identifier: ISC */
/*
 * A list of records that is written to its end, and then read from either end.
 * It is kept in memory while it is short, and else in an unnamed file: a plan
 * may have millions of deletes.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SYNC_SYNC_SPOOL_H
#define HPN_XFER_SYNC_SYNC_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
	SYNC_SPOOL_RECORD_MAX = 16384, /* bytes of a record */
	SYNC_SPOOL_MEMORY = 4 * 1024 * 1024,
};

struct sync_spool {
	struct buf tail;  /* what is not in the file */
	int fd;		  /* of the unnamed file; -1: there is none */
	uint64_t in_file; /* bytes of it that count */
	uint64_t first;	  /* where the first record is that was not taken */
	uint64_t count;	  /* records that were not taken */
	uint8_t *record;  /* owned: the one that was taken last */
};

void sync_spool_init(struct sync_spool *s);
void sync_spool_clear(struct sync_spool *s);
/* Appends a record. ERR_LIMIT: the record is too long; ERR_SYSTEM: the file
 * cannot be written. */
int sync_spool_put(struct sync_spool *s, const void *p,
    size_t len) must_check;
/* sync_spool_end() returns the place of the next record. sync_spool_read()
 * reads the record at a place: 0, and *p is valid until the next call;
 * ERR_SYSTEM. A record that was taken off the list cannot be read. */
uint64_t sync_spool_end(const struct sync_spool *s);
int sync_spool_read(struct sync_spool *s, uint64_t at, const uint8_t **p,
    size_t *len) must_check;
/* Take the last or the first record off the list: 1, and *p is valid until the
 * next call. 0: there is none. ERR_SYSTEM: the file cannot be read. */
int sync_spool_take_last(struct sync_spool *s, const uint8_t **p,
    size_t *len) must_check;
int sync_spool_take_first(struct sync_spool *s, const uint8_t **p,
    size_t *len) must_check;

#endif
