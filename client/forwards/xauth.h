/* SPDX-License-Identifier: ISC */
/*
 * The cookie of an X display, from xauth(1): the user's own cookie, or a new
 * one that the display gives fewer rights.
 *
 * Threads: any. Blocks while xauth runs; xauth is killed if it takes too long.
 */
#ifndef HPN_CLIENT_FORWARDS_XAUTH_H
#define HPN_CLIENT_FORWARDS_XAUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "forward/x11-auth.h"

#define XAUTH_PROTOCOL "MIT-MAGIC-COOKIE-1"
enum { XAUTH_COOKIE_LEN = 16 /* bytes of its data */ };

struct xauth_query {
	const char *program; /* path of xauth; NULL: there is none */
	const char *display; /* as in DISPLAY; checked by x11_display_parse() */
	bool trusted;	     /* ask for the user's own cookie, not a new one */
	/* Lifetime of a new cookie, seconds; 0: none is given to xauth. */
	int64_t timeout_s;
};

/* Asks xauth for the display's cookie. ERR_NOT_FOUND: xauth has none, or could
 * not be run. */
int xauth_ask(const struct xauth_query *q, struct x11_cookie *out) must_check;
/* Reads the cookie from the output of "xauth list": protocol and data of its
 * first line. ERR_FORMAT. */
int xauth_parse(const char *text, struct x11_cookie *out) must_check;

#endif
