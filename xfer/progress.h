/* SPDX-License-Identifier: ISC */
/*
 * Where transfers stand, for people and for programs.
 *
 * On a terminal: a line for each file (name, percent, bytes, rate, rate of
 * the last second, time left; when it is done, mean rate, best second, time
 * taken), or, with directories or many files, one line for all of them.
 * Drawn at most ten times a second; its width is asked at each drawing, so no
 * signal is needed when it changes. Plain: the same in words, every few
 * seconds. JSON: one object a line, see hpnscp(1).
 *
 * Time comes from the caller (milliseconds, monotonic), output goes to a
 * function: both so that it can be tested.
 *
 * Threads: one at a time; progress_ask() in signal handlers too.
 */
#ifndef HPN_XFER_PROGRESS_H
#define HPN_XFER_PROGRESS_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct progress;

enum progress_style {
	PROGRESS_NONE, /* but when asked */
	PROGRESS_TTY,
	PROGRESS_PLAIN,
	PROGRESS_JSON,
};

/* State of one file; embedded by its owner, zeroed before first use. */
struct progress_item {
	enum { PROGRESS_NEW, PROGRESS_FOUND, PROGRESS_MOVES,
		PROGRESS_OVER } state;
	char *name; /* owned, not escaped; NULL: it does not move */
	uint64_t size, done;
	uint64_t start_ms;
	uint64_t tick_ms, tick_done; /* last sample of the rate */
	double rate, last, peak;     /* bytes a second: smoothed, that of the
				      * last second, the best one */
	bool told;		     /* its beginning, in JSON */
	TAILQ_ENTRY(progress_item) entry;
};

/* NULL: out of memory. fd is borrowed; the style is that of a terminal, or
 * NONE if it is not one. Nothing is drawn on a terminal that is not ours in
 * the foreground. */
struct progress *progress_new(int fd);
void progress_set_style(struct progress *p, enum progress_style style);
/* For tests: a terminal of width columns; all goes to write. */
struct progress *progress_new_to(void (*write)(void *arg, const char *p,
    size_t len), void *arg, int width);
void progress_free(struct progress *p);

/*
 * Files; p may be NULL: then nothing happens. One is found (which may be left
 * out), starts, and finishes; or it is forgotten, whatever became of it. Its
 * size may be another one when it starts.
 */
void progress_found(struct progress *p, struct progress_item *item,
    uint64_t size);
void progress_start(struct progress *p, struct progress_item *item,
    const char *name, uint64_t size, uint64_t now_ms);
void progress_add(struct progress *p, struct progress_item *item,
    uint64_t bytes);
/* A file's last line stays; if it failed, its line is left as it is. */
void progress_finish(struct progress *p, struct progress_item *item, bool ok,
    uint64_t now_ms);
void progress_forget(struct progress *p, struct progress_item *item);

/* Of all: there are directories, and perhaps (more) still to be read. */
void progress_listing(struct progress *p, bool more);
void progress_streams(struct progress *p, unsigned streams);
/* Tells what there is to tell, if it is time. item: the file whose line it
 * is, if each has its own; may be NULL. */
void progress_tick(struct progress *p, struct progress_item *item,
    uint64_t now_ms);
/* What was begun is done: a line of all, if there was one. What follows is
 * counted anew. */
void progress_end(struct progress *p, uint64_t now_ms);
/* Clears the line before other output. */
void progress_clear_line(struct progress *p);

/* The next tick tells on standard error where it stands, in any style. */
void progress_ask(struct progress *p);

/* For programs: events of the whole, in style JSON only. */
void progress_begin_events(struct progress *p, uint64_t now_ms);
void progress_error(struct progress *p, const char *path, const char *text);
void progress_end_events(struct progress *p, uint64_t now_ms);

/* Parts, for tests. "1.5MB", "12 KB"-like amounts of at most 6 columns. */
void progress_bytes_text(uint64_t bytes, char *out, size_t size);
void progress_time_text(uint64_t seconds, char *out, size_t size);

#endif
