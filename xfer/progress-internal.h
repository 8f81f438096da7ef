/* SPDX-License-Identifier: ISC */
/* Internals of the progress display, for its own files only. */
#ifndef HPN_XFER_PROGRESS_INTERNAL_H
#define HPN_XFER_PROGRESS_INTERNAL_H

#include <signal.h>

#include "base/buf.h"
#include "xfer/progress.h"

TAILQ_HEAD(progress_items, progress_item);

struct progress_count {
	uint64_t files, done, failed;
	uint64_t size; /* bytes of all files */
	uint64_t over, kept; /* bytes of files that are over */
};

/* Numbers of files of all runs, for the last line. */
struct progress_total {
	uint64_t copied, there, verified, dropped;
};

struct progress {
	enum progress_style style;
	int fd; /* -1: output goes to write() */
	int width;
	void (*write)(void *arg, const char *p, size_t len);
	void *arg;
	volatile sig_atomic_t requested;
	uint64_t drawn_ms, sampled_ms;
	bool line_open;	    /* an unfinished line is on the screen */
	int line_width;	    /* width of the terminal when the line was drawn */
	bool waits;
	struct buf pending; /* sent with the next drawing */
	struct progress_items moving;
	struct progress_count count;
	struct progress_total total;
	/* Bytes and rates of all; state MOVES from the first file on. */
	struct progress_item all;
	bool trees, listing;
	unsigned streams;
	const struct progress_watch *watch; /* borrowed; may be NULL */
	unsigned long errors;
	int lost; /* errno of events that could not be written; 0: none */
};

/* Sums up the bytes of all files in p->all, and takes a sample of their
 * rate. */
void progress_sample(struct progress *p, uint64_t now_ms);
void progress_flush(struct progress *p);

/* v without what is behind the point; at most what the type holds. */
uint64_t progress_whole(double v);

/* Was the file complete before, so that none of its bytes had to move? */
bool progress_is_there(const struct progress_item *item);

/* progress-rate.c */
/* Bytes of the item that moved. */
uint64_t progress_moved(const struct progress_item *item);
/* Takes a sample of the item's rates, if a second is over. */
void progress_sample_item(struct progress_item *item, uint64_t now_ms);
/* Frees what the item owns for its rates. */
void progress_rates_free(struct progress_item *item);

/* progress-draw.c: appends to p->pending, or to b. */
/* Clears an unfinished line off the screen. */
void progress_erase(struct progress *p);
void progress_draw(struct progress *p, const struct progress_item *item,
    bool finished, uint64_t now_ms);
void progress_words(const struct progress *p, struct buf *b,
    const struct progress_item *item, bool finished, uint64_t now_ms);

/* progress-json.c */
void progress_json_file(struct progress *p, const char *event,
    const struct progress_item *item, uint64_t now_ms);
void progress_json_all(struct progress *p, const char *event,
    uint64_t now_ms);

#endif
