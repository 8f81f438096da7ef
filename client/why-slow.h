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

/* The counters as they were when the user was authenticated. why_slow_begin()
 * fills them in; at_ms 0: it was not called. */
struct why_slow_start {
	uint64_t at_ms, cpu_ms;
	uint64_t sent, received;
};
void why_slow_begin(struct why_slow_start *s, const struct packet *p);
/* Logs the paragraph at level VERBOSE. remote: the server's numbers, which
 * arrived at remote_at_ms (clock_ms()); NULL: none. */
void why_slow_log(const struct why_slow_start *s, const struct packet *p,
    const struct channels *chs, const struct tcp_numbers *remote,
    uint64_t remote_at_ms, bool fixed_windows);

#endif
