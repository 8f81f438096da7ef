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

/* What can hold a connection back. */
enum why_slow_kind {
	WHY_SLOW_PATH,		 /* the congestion window */
	WHY_SLOW_RECEIVE_BUFFER, /* of TCP, at the receiver */
	WHY_SLOW_SEND_BUFFER,	 /* of TCP, at the sender */
	WHY_SLOW_SSH_WINDOW,	 /* of the receiver */
	WHY_SLOW_SOURCE,	 /* here, of what is sent */
	WHY_SLOW_SINK,		 /* here, of what is received */
	WHY_SLOW_CPU,		 /* of the loop thread here */
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
	/* Bytes; 0: not known. And what the limits are set with here; NULL: as
	 * on Linux. */
	uint64_t rcvbuf, rcvbuf_limit, sndbuf, sndbuf_limit;
	const char *rcvbuf_setting, *sndbuf_setting;
};

/* Appends the paragraph. Returns false, and appends nothing, if too little was
 * transferred, or in too short a time. */
bool why_slow_text(const struct why_slow *w, struct buf *out);

/* The kind in a few words. */
const char *why_slow_kind_text(enum why_slow_kind kind);
/* For how much of the time each kind held the connection back, in percent, as
 * far as counters tell. up: it sends. */
void why_slow_shares(const struct why_slow *w, bool up,
    unsigned percent[WHY_SLOW_KINDS]);
/* What has changed from an earlier measurement of a connection to a later one.
 * The server's numbers, which come in their own time, stay the later ones. */
struct why_slow why_slow_since(const struct why_slow *later,
    const struct why_slow *earlier);
/* `later` without what `earlier` has counted already. */
struct tcp_numbers why_slow_tcp_since(const struct tcp_numbers *later,
    const struct tcp_numbers *earlier);

/* The counters as they were when the user was authenticated. why_slow_begin()
 * fills them in; at_ms 0: it was not called. */
struct why_slow_start {
	uint64_t at_ms, cpu_ms;
	uint64_t sent, received;
};
void why_slow_begin(struct why_slow_start *s, const struct packet *p);
/* Measures a connection. remote: the server's numbers, which arrived at
 * remote_at_ms (clock_ms()); NULL: none. limits: those of the kernel's buffers,
 * too, which are read from files. False: why_slow_begin() was not called. */
bool why_slow_measure(struct why_slow *out, const struct why_slow_start *s,
    const struct packet *p, const struct channels *chs,
    const struct tcp_numbers *remote, uint64_t remote_at_ms, bool limits);
/* Logs the paragraph at level VERBOSE. */
void why_slow_log(const struct why_slow *w);

#endif
