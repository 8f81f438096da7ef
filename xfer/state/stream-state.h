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
	/* Rates in bytes a second, and when they rose. */
	double best;	    /* the best rate of all samples */
	double mean;	    /* the mean rate of the last samples */
	uint64_t risen_ms;  /* time when best last rose by a quarter */
	/* The last step up, to more connections. had: connections before the
	 * step; 0: there was no step up. */
	unsigned had;
	double before;	    /* the best rate with these connections */
	uint64_t since_ms;  /* when the last new connection had moved data */
	/* The standing queue: round trips that stay long mean that data waits
	 * somewhere on the path. */
	uint64_t least_us;  /* the shortest round trip so far; 0: unknown */
	/* the highest rate since there is a standing queue; 0: there is none */
	double level;
	uint64_t level_ms;  /* time when level last rose by 10 % or more */
	double filled;	    /* the rate at the end of the last standing queue */
	uint64_t filled_ms; /* when that queue ended; 0: there was none */
	/* The last step down, to fewer connections. used: connections before
	 * the step; 0: there was no step down, or it was right. */
	unsigned used;
	double used_rate;   /* the rate with these connections */
	uint64_t used_ms;   /* when the step was taken */
	bool was_full;	    /* the path was full at that time */
	unsigned floor;	    /* fewer connections than these were too few */
};
struct xfer_sample {
	uint64_t now_ms, rtt_ms;
	/* Measures of the connections that take work; 0: unknown. */
	uint64_t least_us;  /* round trip without a queue */
	uint64_t trip_us;   /* round trip now */
	double rate;	    /* bytes a second, all streams */
	double in_trip; /* bytes that arrived in a round trip; 0: unknown */
	/* most bytes that a connection can have under way, by the hosts'
	 * buffers; 0: unknown */
	uint64_t tcp_window;
	bool window_bound; /* see xfer_window_bound() */
	double top;	    /* the fastest connection's share of rate */
	double seconds_left; /* until all work is done, at that rate */
	uint64_t bulk_left;  /* bytes left of the files that move */
	unsigned connections; /* connections that have moved data */
	unsigned ready;	      /* connections that can move data */
	/* limit for connections; 0: as many as make the transfer faster */
	unsigned max;
};

/* What all streams show together. */
struct xfer_streams_view {
	uint64_t rtt_ms;  /* the longest round trip */
	/* bytes a second of all, and of the fastest connection */
	uint64_t rate, top;
	/* bytes of the peer's channel windows, where work is taken */
	uint64_t windows;
	uint64_t arrived; /* bytes of all connections together */
	double in_trip;	  /* see xfer_sample */
	uint64_t busy; /* numbers of the connections that take work, as bits */
	uint64_t stalled_ms, bulk_left;
	unsigned connections, ready; /* see xfer_sample */
	/* an upload whose windows do not follow the path by themselves */
	bool fixed;
	bool widens; /* the peer is known to widen them later */
	bool held;  /* the windows hold an upload back */
	uint64_t least_us, trip_us, tcp_window; /* see xfer_sample */
};

/* Streams that were opened, and whether more are. */
struct xfer_grow {
	struct xfer_growth connections;
	unsigned to_open;      /* connections that are to be opened */
	unsigned channels;     /* channels, with the first one */
	bool channels_stopped;
};

/* What is known when all streams were lost, and are opened anew (--retry). */
struct xfer_retry {
	/* tries in a row that have moved no byte which is kept */
	unsigned used;
	uint64_t at_ms; /* time before which no stream is opened */
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
	struct xfer_pending_list unsent; /* requests that are not sent yet */
	size_t count; /* requests that are unsent or under way */
};

#endif
