/* SPDX-License-Identifier: ISC */
/*
 * What the peer's program can do and cannot, as far as it must be guessed from
 * the program's name in its identification line (RFC 4253 section 4.2). What
 * the peer announces, as in EXT_INFO, is not here. All names are in one table;
 * kex_peer_traits() has the traits of a connection's peer.
 *
 * Threads: any.
 */
#ifndef HPN_PEER_VERSION_H
#define HPN_PEER_VERSION_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of a set of traits. An unknown program has none of them. */
enum peer_trait {
	/* A server keeps the messages of a session until the user is
	 * authenticated, answers UNIMPLEMENTED if that fails, and numbers its
	 * channels from 0. */
	PEER_TAKES_AHEAD = 1U << 0,
	/* A server answers each of several authentication requests, in their
	 * order. (Others drop a request when the next one arrives.) */
	PEER_ANSWERS_IN_ORDER = 1U << 1,
	/* The peer knows eow@openssh.com, and if it is a server also
	 * no-more-sessions@openssh.com. */
	PEER_KNOWS_EOW = 1U << 2,
	/* As a sender, the peer loses no time by a window that is wider than
	 * the path. */
	PEER_TAKES_WIDE_WINDOWS = 1U << 3,
	/* A server ignores messages of an authentication method that it has
	 * refused. (OpenSSH ends the connection then.) */
	PEER_FORGIVES = 1U << 4,
	/* A server answers stack-metrics@hpnssh.org. */
	PEER_TELLS_METRICS = 1U << 5,
	/* A server's scp is called hpnscp. */
	PEER_SCP_IS_HPNSCP = 1U << 6,
	/* A client sends "ssh-userauth" and "none" first, and waits for the
	 * answer to each before it sends anything else. */
	PEER_WAITS_FOR_ANSWERS = 1U << 7,
	/* A client ends the connection when an exchange by GSSAPI shows it the
	 * host key (KEXGSS_HOSTKEY), which a server may do. */
	PEER_REFUSES_GSS_HOSTKEY = 1U << 8,
	/* A client fails when it is told of the host's other keys
	 * (hostkeys-00@openssh.com). */
	PEER_FAILS_ON_HOSTKEYS = 1U << 9,
	/* As a receiver, the peer widens its windows with the path. */
	PEER_WIDENS_WINDOWS = 1U << 10,
};

/* The traits for an identification line without its CR LF. Pure. */
uint32_t peer_version_traits(const char *line);

/* Does the sender of the line speak SSH 2? Its version is 2.0 then, or 1.99,
 * which meant "both" while there was an SSH 1. Pure. */
bool peer_version_is_2(const char *line);
/* Is the line well formed, but of another protocol version? *major is its first
 * number. Pure. */
bool peer_version_is_other(const char *line, unsigned *major);

#endif
