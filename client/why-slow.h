/* SPDX-License-Identifier: ISC */
/*
 * Why was it not faster? At the end of a connection, one paragraph that a user
 * can act on, made of the counters of the kernel and our own.
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
	uint64_t sent, received; /* bytes of payload */
	uint64_t cpu_ms;	 /* of the loop thread in that time */
	const char *cipher;
	bool fixed_windows; /* by our own configuration */
	struct channels_times times;
	/* Ours, and the server's if they were requested; kernel 0: not
	 * known. */
	struct tcp_numbers local, remote;
	uint64_t remote_ms; /* elapsed when the server sent them */
	bool bbr; /* is our congestion control */
	uint64_t rcvbuf, rcvbuf_limit, sndbuf_limit; /* bytes; 0: not known */
};

/* Appends the paragraph; false, and nothing is appended, if too little was
 * transferred. */
bool why_slow_text(const struct why_slow *w, struct buf *out);

/* The collector. start: when the session begins. */
struct why_slow_start {
	uint64_t at_ms, cpu_ms;
	uint64_t sent, received;
};
void why_slow_begin(struct why_slow_start *s, const struct packet *p);
/* Logs the paragraph (VERBOSE). remote, of remote_at_ms, may be NULL. */
void why_slow_log(const struct why_slow_start *s, const struct packet *p,
    const struct channels *chs, const struct tcp_numbers *remote,
    uint64_t remote_at_ms, bool fixed_windows);

#endif
