/* SPDX-License-Identifier: ISC */
/*
 * A host in memory, for tests of transfers: a server engine for each stream, in
 * a directory of the test's own, with replies that come in any order and in
 * any pieces.
 */
#ifndef HPN_TRANSFER_HOST_H
#define HPN_TRANSFER_HOST_H

#include "regress/unit/hex.h"

#include "base/buf.h"
#include "base/str.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/transfer-internal.h"

enum { HOST_STREAMS = 24 };

struct host_stream {
	struct sftp *client;
	struct sftp_serve *server; /* NULL: dead */
	struct buf taken;	   /* requests on their way */
	struct buf chosen;	   /* unordered: the one that is next */
	struct buf wire;	   /* replies on their way */
	bool begun;
	bool stopped;		   /* takes what fits on the way, and does
				    * nothing */
};

struct host {
	struct host_stream streams[HOST_STREAMS];
	unsigned seed, idle;
	unsigned deadly;   /* one turn in so many ends a stream; 0: none */
	unsigned fatal;	   /* turns until the program is killed; 0: never */
	unsigned refuse;   /* streams that are opened and end at once */
	bool refuses[2];   /* all of that kind do */
	unsigned asked[2]; /* streams of that kind */
	bool was_cut;    /* by a test's watch */
	uint64_t cut_at; /* bytes of requests until all streams end; 0: never */
	uint64_t gap; /* bytes, both ways, until all streams end, again and
		       * again; 0: never */
	uint64_t gap_left, moved;
	/* Servers whose stream was closed while they were stopped. */
	struct host_stream late[HOST_STREAMS];
	struct xfer_stream_stats
	    path; /* told of every stream; connection is its own */
	unsigned opened;
	bool no_digests, old_rename, no_small, no_stat_ns, no_limits;
	bool stock;	   /* offers what OpenSSH does, and no more */
	bool unordered;	   /* does requests of handles in any order, but that
			    * CLOSE waits for those before it; offers only the
			    * oldest extensions */
	int handles;	   /* that a server gives, and says; 0: all it can */
	int handles_later; /* the same, but it has told more */
	bool in_order;	   /* replies come as requests do */
	bool odd_handles;  /* the first is not 0, which stays open */
	bool greeted;	   /* what it can is known before the run */
	bool is_new;	   /* an upload is told that its target is not there */
	bool steady;	   /* a turn is a round trip of all there is */
	unsigned turns;	   /* so far */
	bool uneven;	   /* some streams are much slower than others */
	struct {
		bool small; /* some of what get-file gives is damaged */
		/* Of block-sums: 1: they are none of this file's; 2: there are
		 * fewer bytes; 3: more. */
		unsigned sums;
		uint64_t size; /* of what is downloaded; 0: what it is */
	} lies;
	unsigned corrupt;  /* DATA replies until one is damaged; 0: none */
	void (*added)(void);  /* called when the source is known */
	/* Called before each turn of the run. */
	void (*watch)(struct host *h, struct xfer *x);
	struct xfer *run;
	size_t most; /* for what watches */
	void (*second)(void); /* before a second stream is opened */
	const char *shrink; /* a file that becomes shorter when it is sent */
};

extern char host_dir[64];
/* What runs have told, as "path: text". */
extern struct strlist host_reports;

/* For cmocka: makes the directory and goes there; removes it. */
int host_setup(void **state);
int host_teardown(void **state);

/* The session of that client is lost. */
void host_lose(struct host *h, const struct sftp *s);
unsigned host_random(struct host *h, unsigned below);
/* Content that depends on the seed. */
void host_make_file(const char *name, size_t len, unsigned seed);
bool host_same(const char *one, const char *two);
/* Stopped servers do what they were sent. */
void host_do_late(struct host *h);
/* Was this line told? Forgets all lines. */
bool host_reported(const char *line);
/* One run, as of a program: its result, or -1 for failures of files. */
int host_copy(struct host *h, bool up, const char *from, const char *to,
    struct xfer_opts opts);
/* The same, of a plan. */
int host_follow(struct host *h, bool up, const struct xfer_orders *orders,
    struct xfer_opts opts);

#endif
