/* SPDX-License-Identifier: ISC */
/* Inside of the progress display; nobody else includes it. */
#ifndef HPN_XFER_PROGRESS_INTERNAL_H
#define HPN_XFER_PROGRESS_INTERNAL_H

#include <signal.h>

#include "base/buf.h"
#include "xfer/progress.h"

TAILQ_HEAD(progress_items, progress_item);

struct progress_count {
	uint64_t files, done, failed;
	uint64_t size; /* bytes of all */
	uint64_t over, kept; /* those of files that are over */
};

/* The sums of all runs, for the last line. */
struct progress_total {
	uint64_t copied, there, verified, dropped;
};

struct progress {
	enum progress_style style;
	int fd; /* -1: to write */
	int width;
	void (*write)(void *arg, const char *p, size_t len);
	void *arg;
	volatile sig_atomic_t requested;
	uint64_t drawn_ms, sampled_ms;
	bool line_open;	    /* an unfinished line is on the screen */
	int line_width;	    /* that of the terminal when it was drawn */
	bool waits;
	struct buf pending; /* sent with the next drawing */
	struct progress_items moving;
	struct progress_count count;
	struct progress_total total;
	/* Bytes and rates of all; state MOVES from the first file on. */
	struct progress_item all;
	bool trees, listing;
	unsigned streams;
	unsigned long errors;
	int lost; /* errno of events that could not be written; 0: none */
};

/* The bytes of all, and their rate. */
void progress_sample(struct progress *p, uint64_t now_ms);
void progress_flush(struct progress *p);

/* The number without what is behind the point; as much as the type holds. */
uint64_t progress_whole(double v);

/* Did none of its bytes have to move? */
bool progress_is_there(const struct progress_item *item);

/* progress-rate.c */
/* Bytes of the item that moved. */
uint64_t progress_moved(const struct progress_item *item);
/* The item's rates are taken, if a second is over. */
void progress_sample_item(struct progress_item *item, uint64_t now_ms);
/* What the item owns for that. */
void progress_rates_free(struct progress_item *item);

/* progress-draw.c: appends to p->pending, or to b. */
/* An unfinished line is taken off the screen. */
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
