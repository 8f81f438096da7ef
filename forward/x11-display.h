/* SPDX-License-Identifier: ISC */
/*
 * Names of X displays, as in the variable DISPLAY (X(7)), and the socket that
 * each stands for.
 *
 * Threads: any.
 */
#ifndef HPN_FORWARD_X11_DISPLAY_H
#define HPN_FORWARD_X11_DISPLAY_H

#include <stdint.h>

#include "base/err.h"

enum {
	X11_PORT = 6000, /* TCP port of display 0 */
	X11_NUMBER_MAX = 65535 - X11_PORT,
	X11_SCREEN_MAX = 400,
};

struct x11_display {
	char path[108]; /* a Unix-domain socket; empty: host and port */
	char host[256];
	uint16_t port;
	uint32_t screen;
};

/* Parses the name of a display. ERR_FORMAT: it has characters that are not
 * allowed in such a name, no number, or too large a number or path. */
int x11_display_parse(struct x11_display *d, const char *text) must_check;

#endif
