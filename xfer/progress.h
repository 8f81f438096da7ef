/* SPDX-License-Identifier: ISC */
/*
 * The progress line of transfers: name, percent, bytes, rate, time left; and
 * when a file is done: mean rate, peak rate, time taken. Drawn on a terminal
 * at most ten times a second; its width is asked at each drawing, so no
 * signal is needed when it changes.
 *
 * Time comes from the caller (milliseconds, monotonic), output goes to a
 * function: both so that it can be tested.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_PROGRESS_H
#define HPN_XFER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct progress;

/* State of one file; embedded by its owner, zeroed before start. */
struct progress_item {
	char *name; /* owned, escaped */
	uint64_t size, done;
	uint64_t start_ms;
	uint64_t tick_ms, tick_done; /* last sample of the rate */
	double rate, peak;	     /* bytes a second: smoothed, best second */
};

/* NULL: out of memory. fd is borrowed; nothing is drawn if it is not a
 * terminal, or not ours in the foreground. */
struct progress *progress_new(int fd);
/* For tests: lines of width columns go to write. */
struct progress *progress_new_to(void (*write)(void *arg, const char *p,
    size_t len), void *arg, int width);
void progress_free(struct progress *p);

/* Files. p may be NULL: then nothing happens. */
void progress_start(struct progress *p, struct progress_item *item,
    const char *name, uint64_t size, uint64_t now_ms);
void progress_add(struct progress *p, struct progress_item *item,
    uint64_t bytes);
/* The last line of a file stays; if it failed, its line is left as is. */
void progress_finish(struct progress *p, struct progress_item *item, bool ok,
    uint64_t now_ms);
/* Draws the line of the file that was started first of those under way, if
 * it is time. */
void progress_tick(struct progress *p, struct progress_item *item,
    uint64_t now_ms);
/* Clears the line before other output. */
void progress_clear_line(struct progress *p);

/* Parts, for tests. "1.5MB", "12 KB"-like amounts of at most 6 columns. */
void progress_bytes_text(uint64_t bytes, char *out, size_t size);
void progress_time_text(uint64_t seconds, char *out, size_t size);

#endif
