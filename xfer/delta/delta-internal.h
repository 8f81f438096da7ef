/* SPDX-License-Identifier: ISC */
/* Inside of the room of deltas. Threads: see each function. */
#ifndef HPN_XFER_DELTA_DELTA_INTERNAL_H
#define HPN_XFER_DELTA_DELTA_INTERNAL_H

#include "compat/queue.h"
#include "xfer/delta/delta-search.h"
#include "xfer/delta/delta.h"

struct ring;
struct worker_pool;

/* Bytes that the server is to copy from the basis to the part. */
struct delta_copy {
	uint64_t at, from, len; /* in the new file, in the basis */
	TAILQ_ENTRY(delta_copy) entry;
};
TAILQ_HEAD(delta_copies, delta_copy);

/* delta.c has the table of what may follow what. */
enum delta_state {
	DELTA_OPENING,	 /* the basis is opened; the part is not, yet */
	DELTA_SUMS,	 /* sums are asked for */
	DELTA_SEARCHING, /* a file of this host is searched */
	DELTA_COPYING,	 /* all is searched; copies are under way */
	DELTA_OVER,
};

/* What a thread works on. While `posted` is set it is the thread's alone, but
 * for the first four fields. */
struct delta_work {
	bool posted;
	bool up;
	int fd;	     /* owned; the file that is searched; -1: none */
	int part_fd; /* owned; of a download: what is found goes there */
	uint64_t size;	/* bytes that are searched */
	struct delta_sums *sums;     /* owned */
	struct delta_search *search; /* owned */
	uint8_t *bytes; /* owned; what is read: from `from`, `have` bytes */
	size_t room, from, have;
	uint64_t read_at; /* offset of what is read next */
	size_t step;	  /* bytes of a step */
	bool ended;	  /* all was searched, or it cannot go on */
	bool *got;	  /* owned; of a download: blocks that are written */
	uint64_t wrote;	  /* bytes of them, in this step */
};

struct xfer_delta {
	struct xfer_file *file;
	enum delta_state state;
	/* The stream that the basis is open on; only compared with those of
	 * handles, since it may be gone. */
	const struct xfer_stream *stream;
	struct sftp_handle basis;
	bool basis_open; /* at the server */
	bool refused;	 /* the basis, sums, or a copy: no more of them */
	bool copied;	 /* the part has data of the basis */
	bool changed;	 /* the loop has to be told */
	uint64_t summed; /* bytes of the file that has the sums */
	uint32_t block;
	uint64_t asked;	 /* bytes of it that were asked for */
	unsigned asks, copying; /* requests under way */
	uint64_t decided; /* of an upload: before that offset all is a range, or
			   * to be copied */
	struct delta_copies copies; /* owned; not asked for yet */
	struct delta_work work;
	TAILQ_ENTRY(xfer_delta) entry;
};

TAILQ_HEAD(xfer_delta_list, xfer_delta);
struct xfer_deltas {
	struct xfer_delta_list active; /* all but those that are over */
	unsigned count;
	struct ring *jobs;
	struct worker_pool *pool; /* NULL: the loop does the work */
};

/* delta-work.c */
struct xfer_deltas *delta_pool_new(void);
void delta_pool_free(struct xfer_deltas *p); /* NULL: nothing */
/* Prepares the search: sums are all there. False: no memory. */
bool delta_work_begin(struct delta_work *w, const struct xfer_deltas *p);
void delta_work_clear(struct delta_work *w);
/* Has a step done. */
void delta_work_post(struct xfer_deltas *p, struct xfer_delta *d);
/* A delta whose step is done; NULL: there is none, or (wait) no step is under
 * way. Without threads a step is done here. */
struct xfer_delta *delta_work_done(struct xfer_deltas *p, bool wait);
size_t delta_work_pending(const struct xfer_deltas *p);

#endif
