/* SPDX-License-Identifier: ISC */
/*
 * What the program at the other end can do and cannot, as far as only the name
 * tells that it gives itself (RFC 4253 section 4.2). What a peer says itself,
 * by EXT_INFO or an extension's name, is asked of that instead. The names are
 * in one table; a connection's traits are in its kex (kex_peer_traits()).
 *
 * Threads: any.
 */
#ifndef HPN_PEER_VERSION_H
#define HPN_PEER_VERSION_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of a set. None is true of a peer that is not known. */
enum peer_trait {
	/* A server keeps the messages of a session until the user is
	 * authenticated, answers UNIMPLEMENTED if that fails, and numbers its
	 * channels from 0. */
	PEER_TAKES_AHEAD = 1U << 0,
	/* A server answers each of several authentication requests, in their
	 * order. (Others drop a request when the next one arrives.) */
	PEER_ANSWERS_IN_ORDER = 1U << 1,
	/* eow@openssh.com, and a server no-more-sessions@openssh.com. */
	PEER_KNOWS_EOW = 1U << 2,
	/* A window that is wider than the path costs its sender nothing. */
	PEER_TAKES_WIDE_WINDOWS = 1U << 3,
	/* A server passes over messages of an authentication method that it
	 * has refused. (OpenSSH ends the connection then.) */
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
};

/* The set for an identification line without its CR LF. Pure. */
uint32_t peer_version_traits(const char *line);

/* Does whoever sent the line speak SSH 2? That is version 2.0, or 1.99, which
 * was the name of "both" while there was an SSH 1. Pure. */
bool peer_version_is_2(const char *line);
/* Is the line formed well, but of another protocol, *major? Pure. */
bool peer_version_is_other(const char *line, unsigned *major);

#endif
