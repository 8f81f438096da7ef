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
	uint64_t risen_ms;  /* when best rose by a quarter last */
	/* The last step up, to more connections. */
	unsigned had;	    /* connections before it; 0: there was none */
	double before;	    /* best rate with these */
	uint64_t since_ms;  /* when the last new one had moved data */
	/* The queue on the path, which stands when round trips are long. */
	uint64_t least_us;  /* the shortest round trip so far; 0: unknown */
	double level;	    /* the highest rate since the queue stands; 0: it
			     * does not stand */
	uint64_t level_ms;  /* when level was raised last, by 10 % or more */
	double filled;	    /* the rate when the queue stood last */
	uint64_t filled_ms; /* when that was; 0: never */
	/* The last step down, to fewer connections. */
	unsigned used;	    /* connections before it; 0: there was no step
			     * down, or it was right */
	double used_rate;   /* the rate with these */
	uint64_t used_ms;   /* when the step was taken */
	bool was_full;	    /* the path was full then */
	unsigned floor;	    /* fewer connections than these were too few */
};
struct xfer_sample {
	uint64_t now_ms, rtt_ms;
	/* Of the connections that take work, 0: unknown. */
	uint64_t least_us;  /* round trip without a queue */
	uint64_t trip_us;   /* round trip now */
	double rate;	    /* bytes a second, all streams */
	double in_trip; /* bytes that arrived in a round trip; 0: unknown */
	double top;	    /* the fastest connection's share of rate */
	double seconds_left; /* until all work is done, at that rate */
	uint64_t bulk_left;  /* bytes left of the files that move */
	unsigned connections; /* those that have moved data */
	unsigned ready;	      /* those that can move data */
	unsigned max;	    /* most connections; 0: as it pays */
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
	bool held;  /* the windows hold an upload back */
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
	bool answered;	/* a server has answered at least once */
	bool begun;	/* streams were opened anew at least once */
	/* Bytes that no later try has to move again, and files and directories
	 * that are done; and the same sum when all streams were lost last. */
	uint64_t kept, kept_before;
	uint64_t watched_ms; /* when the streams were last looked at */
	bool in_doubt; /* files wait for any answer: see transfer-late.c */
};

/* A stream, as it was when the streams were last looked at. */
struct xfer_watch {
	uint64_t received, output, acked; /* bytes */
	bool up;
	uint64_t silent_ms; /* for how long it has owed an answer, and moved
			     * nothing */
	uint64_t unheard_ms; /* for how long nothing has come */
	uint64_t in_doubt; /* `received` when the last doubt began */
};

struct xfer_path_requests {
	struct xfer_pending_list unsent; /* those under way are in no list */
	size_t count; /* unsent ones, and those under way */
};

#endif
