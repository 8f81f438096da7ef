/* SPDX-License-Identifier: ISC */
/*
 * The progress of transfers, shown to people and written for programs.
 *
 * On a terminal there is a line for each file (name, percent, bytes, rate, rate
 * of the last second, time left; when it is done, mean rate, best second, time
 * taken), or, with directories or many files, one line for all of them. It is
 * drawn at most ten times a second, each time as wide as the terminal is then,
 * so no signal is needed when the width changes. Whoever else writes to the
 * terminal clears the line first (base/screen.h). Rates and the time left are
 * of bytes that moved, the latter from the last 30 s. Style PLAIN writes the
 * same in words, every few seconds; style JSON writes one object a line, see
 * hpnscp(1).
 *
 * The time comes from the caller (milliseconds, monotonic), and output goes to
 * a function, both so that it can be tested.
 *
 * Threads: one at a time; progress_request() in signal handlers too.
 */
#ifndef HPN_XFER_PROGRESS_H
#define HPN_XFER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "compat/queue.h"

struct progress;

enum progress_style {
	PROGRESS_NONE, /* only after progress_request() */
	PROGRESS_TTY,
	PROGRESS_PLAIN,
	PROGRESS_JSON,
};

/* State of one file; embedded by its owner, zeroed before first use. */
struct progress_item {
	enum { PROGRESS_NEW, PROGRESS_FOUND, PROGRESS_MOVES,
		PROGRESS_OVER } state;
	char *name; /* owned, not escaped; NULL: it is not being moved */
	uint64_t size, done;
	uint64_t kept; /* the bytes of done that were there, or are a hole: no
			* rate counts them */
	uint64_t start_ms;
	uint64_t tick_ms, tick_moved; /* at the last sample of the rate */
	uint64_t stir_ms, stir_done;  /* last change of done; its value then */
	double rate, last, peak;      /* bytes a second that moved: of the last
				       * half minute, of the last second, the
				       * best one */
	struct progress_window *window; /* owned; NULL: no sample yet */
	const char *doing; /* a literal that is shown in place of the time left
			    * when all bytes have moved; NULL: the time left is
			    * shown */
	bool begin_written;	     /* JSON: its first event was written */
	TAILQ_ENTRY(progress_item) entry;
};

/* Callbacks for a watcher that wants the facts of the progress in any style. */
struct progress_watch {
	/* A sample was taken; moved: bytes since the run began. A later sample
	 * may have less, because files, and whole runs, begin anew. */
	void (*sampled)(void *arg, uint64_t moved, uint64_t now_ms);
	/* A file has ended; its name is not escaped. */
	void (*finished)(void *arg, const struct progress_item *item,
	    uint64_t now_ms);
	/* Is called by progress_error(), with its path and text. */
	void (*failed)(void *arg, const char *path, const char *text);
	void *arg;
};

/* Progress that is written to fd, which is borrowed. The style is that of a
 * terminal, or NONE if fd is not one. Nothing is drawn while this process is
 * not in the terminal's foreground. NULL when out of memory. */
struct progress *progress_new(int fd);
void progress_set_style(struct progress *p, enum progress_style style);
enum progress_style progress_style_of(const struct progress *p);
/* Sets the watcher; watch is borrowed. NULL: there is none any more. */
void progress_set_watch(struct progress *p, const struct progress_watch *watch);
/* For tests: progress on a terminal of width columns, whose output goes to
 * write. */
struct progress *progress_new_to(void (*write)(void *arg, const char *p,
    size_t len), void *arg, int width);
void progress_free(struct progress *p);

/*
 * Progress of single files; with p NULL nothing happens. A file is found (this
 * may be left out), starts, and finishes; or it is forgotten, in any state. Its
 * size may have changed when it starts.
 */
void progress_found(struct progress *p, struct progress_item *item,
    uint64_t size);
void progress_start(struct progress *p, struct progress_item *item,
    const char *name, uint64_t size, uint64_t now_ms);
void progress_add(struct progress *p, struct progress_item *item,
    uint64_t bytes);
/* Counts bytes that did not have to move. */
void progress_keep(struct progress_item *item, uint64_t bytes);
/* Takes back bytes that progress_keep() counted, but that turned out to be
 * different. */
void progress_unkeep(struct progress_item *item, uint64_t bytes);
/* The file begins anew: no byte of it has moved. */
void progress_restart(struct progress_item *item);
void progress_verified(struct progress *p);
/* The file's last line stays on the screen; that of a failed file unchanged. */
void progress_finish(struct progress *p, struct progress_item *item, bool ok,
    uint64_t now_ms);
void progress_forget(struct progress *p, struct progress_item *item);
/* Forgets a file that is not copied because the copy is stopped before it. The
 * summary counts it. */
void progress_drop(struct progress *p, struct progress_item *item);

/* While waits is true nothing is drawn, because nobody has logged in yet.
 * Events are still written. */
void progress_wait(struct progress *p, bool waits);

/* The transfer lists directories. more: some have not been listed to the end,
 * so the totals may still grow. */
void progress_listing(struct progress *p, bool more);
void progress_streams(struct progress *p, unsigned streams);
/* Draws or writes the progress, if enough time has passed. item: the file to
 * show where each file has a line of its own; may be NULL. */
void progress_tick(struct progress *p, struct progress_item *item,
    uint64_t now_ms);
/* Ends a run, when all files that were started are done: draws the last line of
 * all, if there was one, and resets the sums. */
void progress_end(struct progress *p, uint64_t now_ms);
/* Clears the line on the screen, before other output. */
void progress_clear_line(struct progress *p);

/* The next tick writes the state to standard error, in any style. */
void progress_request(struct progress *p);

/* The sums of a copy that another program makes, and tells of. */
struct progress_told {
	uint64_t files, done; /* found; complete */
	uint64_t size, bytes; /* of all files; that are there */
	bool listing;	      /* there may be more files */
};
void progress_sums(const struct progress *p, struct progress_told *out);
/* Counts what was told since the last time (before), and draws or writes it as
 * progress_tick() does. */
void progress_tell(struct progress *p, const struct progress_told *before,
    const struct progress_told *now, uint64_t now_ms);
/* A file is complete there; in style JSON that is an event. */
void progress_tell_file(struct progress *p, const char *name, uint64_t size,
    uint64_t ms);

/* For programs: writes the first event of the whole run, in style JSON only. */
void progress_begin_events(struct progress *p, uint64_t now_ms);
/* In style JSON, writes an event, a whole line, that another part of the
 * program has made. */
void progress_event(struct progress *p, const void *line, size_t len);
/* Counts a failure; style JSON also writes an event for it. kind: a word for
 * programs (hpnscp(1) lists them). */
void progress_error(struct progress *p, const char *kind, const char *path,
    const char *text);
/* The errno with which events could not be written; 0: all were written, or
 * their reader is gone. */
int progress_lost(const struct progress *p);
/* Number of files of all runs that were compared with --verify. */
uint64_t progress_verified_files(const struct progress *p);
/* How often progress_error() was called. */
unsigned long progress_errors(const struct progress *p);
/* Writes the result of all runs to out: "4 copied, 1 not copied (listed
 * above)". False if only one file or none was copied, so that a summary would
 * tell nothing new. */
bool progress_summary(const struct progress *p, char *out, size_t size);
void progress_end_events(struct progress *p, uint64_t now_ms);

/* Parts of a line, for tests. An amount of at most 6 columns, such as
 * "1.5MB". */
void progress_bytes_text(uint64_t bytes, char *out, size_t size);
void progress_time_text(uint64_t seconds, char *out, size_t size);

#endif
