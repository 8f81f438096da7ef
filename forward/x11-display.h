/* SPDX-License-Identifier: ISC */
/*
 * Names of displays as in the variable DISPLAY (X(7)): where they lead to.
 *
 * Threads: any.
 */
#ifndef HPN_FORWARD_X11_DISPLAY_H
#define HPN_FORWARD_X11_DISPLAY_H

#include <stdint.h>

#include "base/err.h"

enum {
	X11_PORT = 6000, /* of the display 0 */
	X11_NUMBER_MAX = 65535 - X11_PORT,
	X11_SCREEN_MAX = 400,
};

struct x11_display {
	char path[108]; /* a socket of the system; empty: host and port */
	char host[256];
	uint16_t port;
	uint32_t screen;
};

/* ERR_FORMAT: it has other characters than a display's name has, no number,
 * or leads nowhere. */
int x11_display_parse(struct x11_display *d, const char *text) must_check;

#endif
