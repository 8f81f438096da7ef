/* SPDX-License-Identifier: ISC */
/*
 * What --check has measured, and what follows from it: the rate that a copy
 * will have, what limits it, and what to change. Numbers in, words out; rates
 * are bytes a second.
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

/* What the kernels know of the connection. 0, and "" for names: not known. */
struct check_path {
	bool known; /* a TCP connection of this process */
	uint64_t rtt_us, least_us;
	uint64_t mss, mtu;
	/* Segments with data that were sent, and sent again, from both ends. */
	uint64_t segments_up, again_up, segments_down, again_down;
	bool server_told; /* the server's kernel was asked */
	/* The sender's window shrinks with each loss (cubic and its kin), as
	 * its kernel shows after the first one. */
	bool up_backs_off, down_backs_off;
	char congestion[16]; /* here */
	/* Largest buffers of TCP here, bytes. */
	uint64_t send_limit, receive_limit;
	const char *send_setting, *receive_setting;
	uint64_t bdp; /* bytes under way at the best rate that was seen */
	/* Parts of the time, in percent, in which data was held back by the
	 * receiver's buffer, or by the sender's. */
	unsigned up_receiver, up_sender, down_receiver, down_sender;
};

struct check_ciphers {
	bool known;
	char up[64], down[64];		 /* of the connection */
	uint64_t encrypts, decrypts;	 /* one core here, that cipher */
	char best[64];	/* the fastest of this processor */
	uint64_t best_rate;
};

/* What moved in one direction, from memory to memory. */
struct check_moved {
	bool tried, known;
	uint64_t bytes, ms;
	uint64_t rate;	  /* bytes a second, after the slow start */
	uint64_t start_ms; /* what the slow start cost: ms, less the time that
			    * all bytes take at rate */
	unsigned connections, channels;
	bool refused; /* the host took no further connection */
	bool held;    /* the windows of the peer's channels were used up */
	bool queued;  /* packets waited in a queue of the path */
	bool filled;  /* packets waited in that queue, if only at times */
	/* Of all connections, once the start was over: segments that were sent,
	 * and sent again. 0: not known. */
	uint64_t late_segments, late_again;
	unsigned cpu; /* percent of a core that this process's loop took */
};

struct check_disk {
	bool tried, known, synced, reread;
	bool cached; /* what was read may have come from the host's memory */
	uint64_t bytes;
	/* bytes a second */
	uint64_t write; /* until the data was on the host's disk */
	uint64_t taken; /* until it was in the host's memory */
	uint64_t sync;	/* from memory to disk, in the host's fsync() */
	uint64_t read;
};

/* A point of a curve: bytes that had moved by then. */
struct check_point {
	uint64_t ms, bytes;
};

/* The rate after the start: that of the last two fifths, and of the time before
 * in which it was about the same. A start below it, or above it as on a path
 * that loses packets, does not count. 0: too few points. */
uint64_t check_steady_rate(const struct check_point *p, size_t n);
/* True if the last points show the same rate over spans of span_ms. */
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

/* A forecast for one direction. */
struct check_expected {
	uint64_t rate; /* 0: not known */
	enum check_limit limit;
	struct buf why, change; /* change is empty where nothing is to change */
};
/* The rate that congestion controls like cubic come to, in some seconds or in
 * minutes, where so many connections lose packets by chance. UINT64_MAX: there
 * is no such limit. */
uint64_t check_loss_rate(const struct check_path *path,
    const struct check_moved *moved, bool up);
void check_expect(const struct check_facts *f, struct check_expected *out);
void check_expected_clear(struct check_expected *e);

#endif
