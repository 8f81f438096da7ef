/* SPDX-License-Identifier: ISC */
/*
 * A bucket of bytes that fills at a rate, and holds what the rate gives in some
 * milliseconds. Taking may leave it in debt, which the rate then pays: so a
 * message need not be cut, and the rate holds over time all the same.
 *
 * Threads: any; pure functions, to which the caller passes the time.
 */
#ifndef HPN_BASE_BUCKET_H
#define HPN_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_NO_LIMIT UINT64_MAX

enum {
	BUCKET_MS = 20,		 /* a bucket holds the bytes of this time */
	BUCKET_LEAST = 16 * 1024, /* bytes that even the bucket of a low rate
				   * holds */
};

struct bucket {
	uint64_t rate; /* bytes a second */
	int64_t left;
	uint64_t filled_us; /* the time up to which it was filled; 0: never */
};

/* Sets another rate. Bytes that are left stay, up to what a bucket of that rate
 * holds; a debt stays, up to what the rate pays in DEBT_S. */
void bucket_set(struct bucket *b, uint64_t rate, uint64_t now_us);
/* True if bytes may be taken now. */
bool bucket_may(struct bucket *b, uint64_t now_us);
void bucket_take(struct bucket *b, uint64_t bytes);
/* Gives back bytes that were taken and not used. */
void bucket_give(struct bucket *b, uint64_t bytes);
/* Microseconds after which bytes may be taken again; 0: now. */
uint64_t bucket_wait_us(const struct bucket *b);

#endif
