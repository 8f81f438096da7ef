/* SPDX-License-Identifier: ISC */
/*
 * The cookie of a display, as xauth(1) knows it: the user's own, or a new one
 * that the display gives fewer rights.
 *
 * Threads: any. Blocks while xauth runs, which is ended when it takes long.
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
	const char *program; /* NULL: there is none */
	const char *display; /* as in DISPLAY, of harmless characters */
	bool trusted;	     /* the user's own cookie */
	int64_t timeout_s;   /* of a new one; 0: no end */
};

/* ERR_NOT_FOUND: it knows none, or does not work. */
int xauth_ask(const struct xauth_query *q, struct x11_cookie *out) must_check;
/* The same from the text of "xauth list": protocol and data of its first
 * line. ERR_FORMAT. */
int xauth_parse(const char *text, struct x11_cookie *out) must_check;

#endif
