/* SPDX-License-Identifier: ISC */
/*
 * The server's side of SOCKS 4, 4a and 5 (RFC 1928): what a program that
 * connects to a forwarded port says before its data. Only CONNECT, and no
 * authentication. Pure: it is handed bytes as they come, and says what to do.
 *
 * Threads: any, one struct by one at a time.
 */
#ifndef HPN_FORWARD_SOCKS_H
#define HPN_FORWARD_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	SOCKS_NAME_MAX = 1024, /* bytes of a user, and of a host of SOCKS 4a */
	SOCKS_REPLY_MAX = 10,
};

enum socks_result {
	SOCKS_NEED_MORE, /* bytes; all that were there are taken */
	SOCKS_REPLY,	 /* send reply, and feed it again what is left */
	SOCKS_DONE,	 /* host and port are known; reply goes first */
	SOCKS_BAD,	 /* close, without an answer */
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

/* Zeroed: at the beginning. */
struct socks {
	char *host; /* after SOCKS_DONE; owned: free it with socks_clear(), or
		       take it and leave NULL */
	uint16_t port;
	/* The reply, with SOCKS_REPLY and with SOCKS_DONE. */
	uint8_t reply[SOCKS_REPLY_MAX];
	size_t reply_len;

	/* The rest is private. */
	enum socks_state state;
	bool by_name;	/* the target is a name */
	size_t want;	/* bytes of the field that is read; 0: to a zero byte */
	size_t have;
	uint8_t field[SOCKS_NAME_MAX + 1];
};

/* *used is how many of the bytes it took; with SOCKS_DONE, those behind them
 * are for the target. Not to be called again after SOCKS_DONE or SOCKS_BAD. */
enum socks_result socks_feed(struct socks *s, const void *data, size_t len,
    size_t *used);
void socks_clear(struct socks *s);

#endif
