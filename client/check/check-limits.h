/* SPDX-License-Identifier: ISC */
/*
 * The conclusions of --check: from what was measured follow the rate that a
 * copy will have, what limits it, and what to change. Numbers in, words out;
 * rates are bytes a second.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_CHECK_CHECK_LIMITS_H
#define HPN_CLIENT_CHECK_CHECK_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { CHECK_POINTS = 256 };

/* The kernels' figures of the connection. 0, or "" for names: not known. */
struct check_path {
	bool known; /* false: the connection is not TCP, or another process's */
	uint64_t rtt_us, least_us;
	uint64_t mss, mtu;
	/* Segments with data that each end has sent, and sent again. */
	uint64_t segments_up, again_up, segments_down, again_down;
	bool server_told; /* the server's kernel has answered */
	/* The sender's congestion control narrows its window at each loss (as
	 * cubic and its kin), which its kernel shows after the first one. */
	bool up_backs_off, down_backs_off;
	char congestion[16]; /* here */
	/* Largest buffers of TCP on this host, bytes. */
	uint64_t send_limit, receive_limit;
	const char *send_setting, *receive_setting;
	uint64_t bdp; /* bytes that are under way at the best rate that was
		       * seen */
	/* Percent of the time in which the buffer of the receiver, or of the
	 * sender, has held data back. */
	unsigned up_receiver, up_sender, down_receiver, down_sender;
};

struct check_ciphers {
	bool known;
	char up[64], down[64];		 /* of the connection */
	uint64_t encrypts, decrypts;	 /* rates of one core here with that
					  * cipher */
	char best[64];	/* name of the fastest cipher of this processor */
	uint64_t best_rate;
};

/* Data that was moved in one direction, from memory to memory. */
struct check_moved {
	bool tried, known;
	uint64_t bytes, ms;
	uint64_t rate;	  /* bytes a second after the slow start */
	uint64_t start_ms; /* milliseconds lost by the slow start: its
			    * length, less the time that its bytes take at
			    * the full rate */
	unsigned connections, channels;
	bool refused; /* the host accepted no further connection */
	bool held;    /* the peer's channel windows were used up */
	bool queued;  /* many samples show packets that wait in a queue of the
		       * path (QUEUE_PART in check-move.c) */
	bool filled;  /* at least a few samples show that (FILLED_PART) */
	/* Segments that all connections have sent, and sent again, after the
	 * slow start. 0: not known. */
	uint64_t late_segments, late_again;
	unsigned cpu; /* processor time of this process's loop, percent of a
		       * core */
};

struct check_disk {
	bool tried, known, synced, reread;
	bool cached; /* the data that was read may have come from the host's
		      * memory */
	uint64_t bytes;
	/* bytes a second */
	uint64_t write; /* rate of writing until the data was on the host's
			 * disk */
	uint64_t taken; /* rate of writing until the data was in the host's
			 * memory */
	uint64_t sync;	/* rate from memory to disk, in the host's fsync() */
	uint64_t read;
};

/* A point of a curve: bytes moved up to a time. */
struct check_point {
	uint64_t ms, bytes;
};

/* The rate after the slow start: that of the last two fifths of the curve, and
 * of the time before in which it was about the same. A beginning that was
 * slower, or faster as on a path that loses packets, does not count. 0: there
 * are too few points. */
uint64_t check_steady_rate(const struct check_point *p, size_t n);
/* True if the end of the curve has the same rate in spans of span_ms. */
bool check_is_steady(const struct check_point *p, size_t n, uint64_t span_ms);

enum check_limit {
	CHECK_LIMIT_UNKNOWN,
	CHECK_LIMIT_DISK,
	CHECK_LIMIT_CPU,
	CHECK_LIMIT_RECEIVE_BUFFER,
	CHECK_LIMIT_SEND_BUFFER,
	CHECK_LIMIT_WINDOW,
	CHECK_LIMIT_LOSS,
	CHECK_LIMIT_PATH,
	CHECK_LIMIT_SERVER,
	CHECK_LIMITS,
};
const char *check_limit_name(enum check_limit l);

struct check_facts {
	const struct check_path *path;
	const struct check_ciphers *ciphers;
	const struct check_moved *moved;
	const struct check_disk *disk;
	bool up;
};

/* The forecast for one direction. */
struct check_expected {
	uint64_t rate; /* 0: not known */
	enum check_limit limit;
	struct buf why, change; /* change is empty if there is nothing to
				 * change */
};
/* The rate to which congestion controls like cubic come, in seconds or in
 * minutes, if so many connections lose packets by chance. UINT64_MAX: there is
 * no such limit. */
uint64_t check_loss_rate(const struct check_path *path,
    const struct check_moved *moved, bool up);
void check_expect(const struct check_facts *f, struct check_expected *out);
void check_expected_clear(struct check_expected *e);

#endif
