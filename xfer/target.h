/* SPDX-License-Identifier: ISC */
/*
 * What a person names on hpnscp's command line: a local path,
 * [user@]host:path with IPv6 addresses in brackets, or
 * scp://[user@]host[:port][/path].
 *
 * Threads: any.
 */
#ifndef HPN_XFER_TARGET_H
#define HPN_XFER_TARGET_H

#include <stdbool.h>

#include "base/err.h"

struct xfer_target {
	bool remote;
	char *user, *host; /* owned; without brackets. NULL: none given */
	char *path;	   /* owned; never empty */
	int port;	   /* 0: none given */
};

/* Parses text, whose form tells whether it is local. 0; ERR_SYNTAX (a bad URI
 * or host); ERR_NOMEM. */
int xfer_target_parse(struct xfer_target *t, const char *text) must_check;
/* Parses text that always names a host: [user@]host[:path], or sftp:// in place
 * of scp://. The path is "." if none is given. */
int xfer_target_parse_host(struct xfer_target *t,
    const char *text) must_check;
void xfer_target_clear(struct xfer_target *t);
/* True if both are reached by the same connection. */
bool xfer_target_same_host(const struct xfer_target *a,
    const struct xfer_target *b);
/* The last part of a path, without trailing slashes; "." if the path ends in
 * "..", or is "/". The caller frees it; NULL when out of memory. */
char *xfer_base_name(const char *path);

#endif
