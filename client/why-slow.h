/* SPDX-License-Identifier: ISC */
/*
 * Tells the user, at the end of a connection and with -v, why its transfer was
 * not faster: one paragraph that a user can act on, made of the numbers of both
 * kernels and of our own counters.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_WHY_SLOW_H
#define HPN_CLIENT_WHY_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/tcp.h"
#include "channels.h"
#include "packet.h"

/* The things that can hold a connection back. */
enum why_slow_kind {
	WHY_SLOW_PATH,		 /* the congestion window */
	WHY_SLOW_RECEIVE_BUFFER, /* buffer of TCP at the receiver */
	WHY_SLOW_SEND_BUFFER,	 /* buffer of TCP at the sender */
	WHY_SLOW_SSH_WINDOW,	 /* of the receiver */
	WHY_SLOW_SOURCE,	 /* the source of what is sent, here */
	WHY_SLOW_SINK,		 /* the sink of what is received, here */
	WHY_SLOW_CPU,		 /* processor time of the loop thread here */
	WHY_SLOW_KINDS,
};

struct why_slow {
	uint64_t elapsed_ms;
	uint64_t sent, received; /* bytes of payload since the login */
	uint64_t cpu_ms;	 /* CPU time of the loop thread in elapsed_ms */
	const char *cipher;
	bool fixed_windows; /* our SSH windows do not grow, because of
			     * HPNDisabled or TcpRcvBufPoll */
	struct channels_times times;
	/* The kernel's numbers about the connection, here and at the server;
	 * kernel 0: not known, as the server's if it was not asked; but here,
	 * where measured is true, those of another system than Linux, which
	 * tells windows and no times. */
	struct tcp_numbers local, remote;
	bool measured;
	uint64_t remote_ms; /* as elapsed_ms, when remote arrived */
	bool bbr; /* our kernel uses BBR as congestion control */
	/* Bytes; 0: not known. The settings name what changes the limits on
	 * this system; NULL: the names are Linux's. */
	uint64_t rcvbuf, rcvbuf_limit, sndbuf, sndbuf_limit;
	const char *rcvbuf_setting, *sndbuf_setting;
};

/* Appends the paragraph. Returns false, and appends nothing, if too little was
 * transferred, or in too short a time. */
bool why_slow_text(const struct why_slow *w, struct buf *out);

/* What to set the limit of TCP's buffers to, so that it is at least so many
 * bytes: a power of two, and at most what a system takes, as the number may
 * come from the server. */
uint64_t why_slow_buffer(uint64_t at_least);

/* Segments sent again, of a million that were sent; at most all of them. */
uint64_t why_slow_again(uint64_t again, uint64_t sent);

/* A kind in a few words. */
const char *why_slow_kind_text(enum why_slow_kind kind);
/* Percent of the time in which each kind held the connection back, as far as
 * counters tell. up: for data that is sent. */
void why_slow_shares(const struct why_slow *w, bool up,
    unsigned percent[WHY_SLOW_KINDS]);
/* The difference between two measurements of a connection. The server's
 * figures, which come at times of their own, are those of the later one. */
struct why_slow why_slow_since(const struct why_slow *later,
    const struct why_slow *earlier);
/* The difference between two sets of figures of TCP. */
struct tcp_numbers why_slow_tcp_since(const struct tcp_numbers *later,
    const struct tcp_numbers *earlier);

/* The counters as they were when the user was authenticated. why_slow_begin()
 * fills them in; at_ms 0: it was not called. */
struct why_slow_start {
	uint64_t at_ms, cpu_ms;
	uint64_t sent, received;
};
void why_slow_begin(struct why_slow_start *s, const struct packet *p);
/* Measures a connection. remote: the server's figures, which arrived at
 * remote_at_ms (clock_ms()); NULL: none. limits: also reads the limits of the
 * kernel's buffers, from files. False: why_slow_begin() was not called. */
bool why_slow_measure(struct why_slow *out, const struct why_slow_start *s,
    const struct packet *p, const struct channels *chs,
    const struct tcp_numbers *remote, uint64_t remote_at_ms, bool limits);
/* Logs the paragraph at level VERBOSE. */
void why_slow_log(const struct why_slow *w);

#endif
