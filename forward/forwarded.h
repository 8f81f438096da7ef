/* SPDX-License-Identifier: ISC */
/*
 * Forwarded connections: each is a channel tied to a socket of this host. The
 * socket is one that was accepted here (then the channel is ours to open), or
 * one that is connected because the peer opened the channel (RFC 4254
 * section 7.2). Client and server use the same.
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

/* A kind is what is the same for all its connections. Const and static. */
struct forwarded_kind {
	const char *type; /* of the channel */
	uint32_t window, max_packet; /* that are offered to the peer */
	/* The peer's EOF ends our input too: nobody answers behind it. */
	bool eof_ends;
};

/* The kinds of RFC 4254 section 7.2 and their like for sockets of the system
 * (PROTOCOL of OpenSSH). */
extern const struct forwarded_kind forwarded_direct_tcp; /* direct-tcpip */
extern const struct forwarded_kind forwarded_direct_path;
extern const struct forwarded_kind forwarded_listened_tcp; /* forwarded- */
extern const struct forwarded_kind forwarded_listened_path;

/* The originator of connections that have none (RFC 4254 section 7.2). */
#define FORWARDED_NO_ADDRESS "127.0.0.1"
enum { FORWARDED_NO_PORT = 65535 };

/* The forwarded connections of one SSH connection. */
struct forwarded_list;

/* All borrowed; they outlive the list. */
struct forwarded_params {
	struct loop *loop;
	struct channels *channels;
	int family; /* of addresses that are connected to: AF_UNSPEC... */
	void *arg;
	/* The count of connections changes: one more stands (+1), or one has
	 * ended (-1). May be NULL. */
	void (*count)(void *arg, int change);
};

int forwarded_list_new(struct forwarded_list **out,
    const struct forwarded_params *params) must_check;
/* Closes the sockets and leaves the channels. NULL is fine. */
void forwarded_list_free(struct forwarded_list *l);

/* The target: a host and a port, or a socket of the system (path). */
struct forwarded_target {
	const char *host;
	uint16_t port;
	const char *path; /* NULL: host and port */
	/* Goes in front of what the peer sends; for small, private messages.
	 * Usually empty. */
	struct span first;
};

/* The peer opened c: connects, and accepts or refuses it then. An enum
 * channel_answer for the channel_open_fn. */
int forwarded_connect(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c,
    const struct forwarded_target *target);
/* The same for a channel that is accepted already, and whose struct
 * channel_io, if it has one, has done its work: a failure closes it. From here
 * on the channel is the list's. */
int forwarded_connect_accepted(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c,
    const struct forwarded_target *target) must_check;
/* Opens a channel for fd, which is a connected socket and non-blocking, and
 * owned from here on, also if this fails. extra follows the common fields of
 * the message; first (may be empty) goes in front of what is read from fd.
 * out may be NULL. */
int forwarded_open(struct forwarded_list *l,
    const struct forwarded_kind *kind, int fd, const struct buf *extra,
    struct span first, struct channel **out) must_check;
/* Hears that the peer has answered an open, in either way, or never will. */
struct forwarded_waiter {
	void (*answered)(void *arg);
	void *arg;
};
/* As forwarded_open(), for those who count opens without an answer. If this
 * fails the waiter is not called. */
int forwarded_open_for(struct forwarded_list *l,
    const struct forwarded_kind *kind, int fd, const struct buf *extra,
    const struct forwarded_waiter *waiter) must_check;
/* Ties fd, owned likewise, to a channel of the peer's. Accepts it if that was
 * not done yet. */
int forwarded_take(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c, int fd) must_check;

/* The number of connections that are open, or on their way. */
size_t forwarded_count(const struct forwarded_list *l);

/* Appends the fields "address, port" of an originator. */
void forwarded_put_originator(struct buf *b, const char *address,
    uint16_t port);
/* enum channel_open_failure in words, as users know them. */
const char *forwarded_reason(uint32_t reason);

#endif
