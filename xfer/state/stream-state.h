/* SPDX-License-Identifier: ISC */
/* Streams: what is known of each, and of all. Threads: one at a time. */
#ifndef HPN_XFER_STATE_STREAM_STATE_H
#define HPN_XFER_STATE_STREAM_STATE_H

#include "xfer/sftp/sftp-engine.h"
#include "xfer/state/streams.h"
#include "xfer/state/transfer-limits.h"

/* What was learnt about more connections: transfer-growth.c. */
struct xfer_growth {
	bool stopped;	    /* no more are opened */
	bool enough;	    /* no more are taken into use */
	unsigned use;	    /* connections that take work, the others idle; 0:
			     * all do */
	unsigned asked;	    /* connections, with those being opened; 0: none
			     * was asked for */
	/* Rates, bytes a second. */
	double best;	    /* of all samples */
	double mean;	    /* of the last ones */
	uint64_t risen_ms;  /* when it rose by a quarter last */
	/* The last step up. */
	unsigned had;	    /* in use before; 0: there was none */
	double before;	    /* best rate with these */
	uint64_t since_ms;  /* when the last of the others had moved data */
	/* The queue. */
	uint64_t least_us;  /* the shortest round trip so far; 0: unknown */
	double level;	    /* the highest rate since it stands; 0: it does
			     * not */
	uint64_t level_ms;  /* since when there was none 10 % above it */
	double filled;	    /* the rate when it stood last */
	uint64_t filled_ms; /* when that was; 0: never */
	/* The last step down. */
	unsigned used;	    /* before; 0: there was none, or it was right */
	double used_rate;   /* with these */
	uint64_t used_ms;   /* when that was */
	bool was_full;	    /* the path, then */
	unsigned floor;	    /* fewer were too few */
};
struct xfer_sample {
	uint64_t now_ms, rtt_ms;
	uint64_t least_us;  /* round trip without a queue, and now; of the */
	uint64_t trip_us;   /* connections that take work; 0: unknown */
	double rate;	    /* bytes a second, all streams */
	double in_trip; /* bytes that arrived in a round trip; 0: unknown */
	double top;	    /* share of it that the fastest connection has */
	double seconds_left; /* of work, at that rate */
	uint64_t bulk_left;  /* bytes, of the files that move */
	unsigned connections; /* that have moved data */
	unsigned ready;	      /* that can */
	unsigned max;	    /* 0: as it pays */
};

/* What all streams show together. */
struct xfer_streams_view {
	uint64_t rtt_ms;  /* the longest */
	uint64_t rate, top; /* bytes a second; of the fastest connection */
	uint64_t windows; /* of the peer's channels, bytes */
	uint64_t arrived; /* bytes of all connections together */
	uint64_t stalled_ms, bulk_left;
	unsigned connections, ready; /* see xfer_sample */
	bool fixed; /* the windows do not follow the path by themselves */
	bool held;  /* they hold an upload back */
	uint64_t least_us, trip_us; /* see xfer_sample */
};

/* Streams that were opened, and whether more are. */
struct xfer_grow {
	struct xfer_growth connections;
	unsigned to_open;      /* connections */
	unsigned channels;     /* the first included */
	bool channels_stopped;
};

/* When all streams were lost. */
struct xfer_retry {
	unsigned used;	 /* tries, in a row without a byte that is kept */
	uint64_t at_ms; /* no stream is opened before */
	bool answered;	/* a server did, once */
	bool begun;	/* streams were opened anew, once */
	/* Bytes that no other try has to move again, and files and directories
	 * that are done; and that when all streams were lost the last time. */
	uint64_t kept, kept_before;
	uint64_t watched_ms; /* when it was last seen who is silent */
	bool in_doubt; /* files wait for any answer: see transfer-late.c */
};

/* Of a stream, as it was seen then. */
struct xfer_watch {
	uint64_t received, output, acked; /* bytes */
	bool up;
	uint64_t silent_ms; /* since it owes an answer, or has moved any */
	uint64_t unheard_ms; /* since anything came */
	uint64_t in_doubt; /* received when the last doubt began */
};

struct xfer_path_requests {
	struct xfer_pending_list unsent; /* those under way are in no list */
	size_t count; /* both */
};

#endif
