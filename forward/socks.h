/* SPDX-License-Identifier: ISC */
/*
 * The server's side of SOCKS 4, 4a and 5 (RFC 1928): what a program that
 * connects to a forwarded port says before its data. Only CONNECT, without
 * authentication. Does no input or output: the caller feeds it bytes as they
 * come, and is told what to do.
 *
 * Threads: any, but one struct in one thread at a time.
 */
#ifndef HPN_FORWARD_SOCKS_H
#define HPN_FORWARD_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	/* Bytes of a user name, and of a host name of SOCKS 4a. */
	SOCKS_NAME_MAX = 1024,
	SOCKS_REPLY_MAX = 10,
};

enum socks_result {
	SOCKS_NEED_MORE, /* all bytes were taken; more are needed */
	/* Send the reply, then feed it the bytes that are left. */
	SOCKS_REPLY,
	/* Host and port are known; the reply has to be sent before data. */
	SOCKS_DONE,
	SOCKS_BAD,	 /* close the connection without a reply */
};

enum socks_state {
	SOCKS_VERSION,
	SOCKS_V4_HEAD,
	SOCKS_V4_USER,
	SOCKS_V4_NAME,
	SOCKS_V5_METHOD_COUNT,
	SOCKS_V5_METHODS,
	SOCKS_V5_HEAD,
	SOCKS_V5_NAME_LEN,
	SOCKS_V5_ADDRESS,
	SOCKS_V5_PORT,
	SOCKS_END,
};

/* Initialized with zeros. */
struct socks {
	/* The target's host, after SOCKS_DONE. Owned: free it with
	 * socks_clear(), or take it and set this to NULL. */
	char *host;
	uint16_t port;
	/* The bytes to send after SOCKS_REPLY and SOCKS_DONE. */
	uint8_t reply[SOCKS_REPLY_MAX];
	size_t reply_len;

	/* The rest is private. */
	enum socks_state state;
	bool by_name;	/* the target is a name */
	size_t want;	/* length of the current field; 0: up to a zero byte */
	size_t have;
	uint8_t field[SOCKS_NAME_MAX + 1];
};

/* Reads bytes. *used: how many of them were taken; after SOCKS_DONE the others
 * are data for the target. Not to be called again after SOCKS_DONE or
 * SOCKS_BAD. */
enum socks_result socks_feed(struct socks *s, const void *data, size_t len,
    size_t *used);
void socks_clear(struct socks *s);

#endif
