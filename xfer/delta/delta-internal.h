/* SPDX-License-Identifier: ISC */
/*
 * The inside of the room of deltas.
 *
 * Threads: see each function.
 */
#ifndef HPN_XFER_DELTA_DELTA_INTERNAL_H
#define HPN_XFER_DELTA_DELTA_INTERNAL_H

#include "compat/queue.h"
#include "xfer/delta/delta-search.h"
#include "xfer/delta/delta.h"

struct ring;
struct worker_pool;

/* A request to come: the server copies bytes of the basis to the part. */
struct delta_copy {
	uint64_t at, from, len; /* at: offset in the new file; from: in the
				 * basis */
	TAILQ_ENTRY(delta_copy) entry;
};
TAILQ_HEAD(delta_copies, delta_copy);

/* The states of a delta; delta.c has the table of what may follow each. */
enum delta_state {
	DELTA_OPENING,	 /* the basis is open; the part is not open yet */
	DELTA_SUMS,	 /* sums are asked for */
	DELTA_SEARCHING, /* a file of this host is searched for blocks */
	DELTA_COPYING,	 /* all is searched; the server still copies blocks */
	DELTA_OVER,
};

/* The search of one file, as threads see it. While `posted` is set only the
 * thread may use it, except for the first four fields. */
struct delta_work {
	bool posted;
	bool up;
	int fd;	     /* owned; the file that is searched, on this host; -1:
		      * none */
	int part_fd; /* owned; for a download: the part, to which found blocks
		      * are written */
	uint64_t size;	/* bytes that are searched */
	struct delta_sums *sums;     /* owned */
	struct delta_search *search; /* owned */
	uint8_t *bytes; /* owned; buffer of the file: `have` bytes from `from`
			 * on */
	size_t room, from, have;
	uint64_t read_at; /* offset at which the file is read next */
	size_t step;	  /* bytes of a step */
	bool ended;	  /* all was searched, or the search has failed */
	bool *got;	  /* owned; for a download: blocks that are written */
	uint64_t wrote;	  /* bytes of blocks written in this step */
};

struct xfer_delta {
	struct xfer_file *file;
	enum delta_state state;
	/* The stream on which the basis is open. It is only compared with the
	 * streams of handles, because it may have been freed. */
	const struct xfer_stream *stream;
	struct sftp_handle basis;
	bool basis_open; /* the server has the basis open */
	bool refused;	 /* the server has refused the basis, the sums or a
			  * copy: no more is asked for */
	bool copied;	 /* the part has some data of the basis */
	bool changed;	 /* the loop has to be told that ranges were added */
	uint64_t summed; /* size of the file whose blocks have sums */
	uint32_t block;
	uint64_t asked;	 /* bytes of that file for which sums were asked */
	unsigned asks, copying; /* requests under way */
	uint64_t decided; /* for an upload: up to this offset all is in a range
			   * or to be copied */
	struct delta_copies copies; /* owned; copies that were not asked for
				     * yet */
	struct delta_work work;
	TAILQ_ENTRY(xfer_delta) entry;
};

TAILQ_HEAD(xfer_delta_list, xfer_delta);
struct xfer_deltas {
	struct xfer_delta_list active; /* the deltas that are not over */
	unsigned count;
	struct ring *jobs;
	struct worker_pool *pool; /* NULL: the loop does the steps itself */
};

/* delta-work.c */
struct xfer_deltas *delta_pool_new(void);
void delta_pool_free(struct xfer_deltas *p); /* NULL: nothing */
/* Prepares the search, once all sums are there. False: no memory. */
bool delta_work_begin(struct delta_work *w, const struct xfer_deltas *p);
void delta_work_clear(struct delta_work *w);
/* Gives the next step of a delta to a worker thread. */
void delta_work_post(struct xfer_deltas *p, struct xfer_delta *d);
/* Takes a delta whose step is done. NULL: no step is done, or, with wait, none
 * is under way. Without threads a step is done in this call. */
struct xfer_delta *delta_work_done(struct xfer_deltas *p, bool wait);
size_t delta_work_pending(const struct xfer_deltas *p);

#endif
