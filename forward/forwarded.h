/* SPDX-License-Identifier: ISC */
/*
 * Forwarded connections: each is a channel tied to a socket of this host.
 * Either the socket was accepted here, and we open the channel; or the peer
 * opened the channel, and we connect the socket (RFC 4254 section 7.2). Client
 * and server both use this.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_FORWARD_FORWARDED_H
#define HPN_FORWARD_FORWARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "channels.h"

/* What forwarded connections of the same channel type have in common. Const and
 * static. */
struct forwarded_kind {
	const char *type; /* type of the channel */
	uint32_t window, max_packet; /* what we offer to the peer */
	/* The peer's EOF ends the other direction, too, because the program at
	 * the peer reads no answer after it. */
	bool eof_ends;
};

/* The channel types of RFC 4254 section 7.2, direct-tcpip and forwarded-tcpip,
 * and those for Unix-domain sockets (OpenSSH's PROTOCOL file). */
extern const struct forwarded_kind forwarded_direct_tcp; /* direct-tcpip */
extern const struct forwarded_kind forwarded_direct_path;
extern const struct forwarded_kind forwarded_listened_tcp; /* forwarded-tcpip */
extern const struct forwarded_kind forwarded_listened_path;

/* The originator that is sent for a connection without an address (RFC 4254
 * section 7.2). */
#define FORWARDED_NO_ADDRESS "127.0.0.1"
enum { FORWARDED_NO_PORT = 65535 };

/* The forwarded connections of one SSH connection. */
struct forwarded_list;

/* All is borrowed, and outlives the list. */
struct forwarded_params {
	struct loop *loop;
	struct channels *channels;
	/* family of addresses to connect to: AF_UNSPEC, AF_INET... */
	int family;
	void *arg;
	/* The number of tied connections changes: by 1, or by -1 when one ends.
	 * May be NULL. */
	void (*count)(void *arg, int change);
};

int forwarded_list_new(struct forwarded_list **out,
    const struct forwarded_params *params) must_check;
/* Closes the sockets, leaves the channels (channel_leave()), and frees the
 * list. NULL is fine. */
void forwarded_list_free(struct forwarded_list *l);

/* What a channel of the peer is to be connected to: a host and port, or the
 * path of a Unix-domain socket. */
struct forwarded_target {
	const char *host;
	uint16_t port;
	const char *path; /* NULL: host and port */
	/* Bytes that are written to the socket before the peer's data, for
	 * small messages of ours; usually empty. */
	struct span first;
};

/* For a channel that the peer opens: connects to the target, then accepts c, or
 * refuses it. Returns an enum channel_answer, for the caller's
 * channel_open_fn. */
int forwarded_connect(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c,
    const struct forwarded_target *target);
/* Connects to the target of a channel that was accepted already; if that fails
 * later, the channel is closed. If c has a struct channel_io, that must not be
 * needed any more. After success the list owns c. */
int forwarded_connect_accepted(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c,
    const struct forwarded_target *target) must_check;
/* Opens a channel for fd, a connected, non-blocking socket, which the list owns
 * from here on, also if this fails. extra: the type-specific fields of the
 * OPEN. first (may be empty) is sent before what is read from fd. out may be
 * NULL. */
int forwarded_open(struct forwarded_list *l,
    const struct forwarded_kind *kind, int fd, const struct buf *extra,
    struct span first, struct channel **out) must_check;
/* A callback for the end of an OPEN: the peer has accepted or refused the
 * channel, or will not answer any more. */
struct forwarded_waiter {
	void (*answered)(void *arg);
	void *arg;
};
/* As forwarded_open(), for callers that count the OPENs without an answer. If
 * this fails, the waiter is not called. */
int forwarded_open_for(struct forwarded_list *l,
    const struct forwarded_kind *kind, int fd, const struct buf *extra,
    const struct forwarded_waiter *waiter) must_check;
/* Ties fd to the channel c, which is accepted first if that was not done yet.
 * The list owns fd from here on, also if this fails. */
int forwarded_take(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c, int fd) must_check;

/* For tests: the number of connections in the list: tied, or being connected or
 * opened. */
size_t forwarded_count(const struct forwarded_list *l);

/* Appends an originator's fields to an OPEN: address and port. */
void forwarded_put_originator(struct buf *b, const char *address,
    uint16_t port);
/* The text for a reason of OPEN_FAILURE (enum channel_open_failure), as
 * OpenSSH's users know it. */
const char *forwarded_reason(uint32_t reason);

#endif
