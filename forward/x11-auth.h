/* SPDX-License-Identifier: ISC */
/*
 * The connection setup of an X11 client, its first packet (X Window System
 * Protocol, section 8), as it comes out of a channel. The host where the client
 * runs knows a cookie that is good for nothing but this forward. It is compared
 * with that, and replaced by the one that the display wants.
 *
 * Threads: any; a setup belongs to one thread at a time.
 */
#ifndef HPN_FORWARD_X11_AUTH_H
#define HPN_FORWARD_X11_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	X11_PROTOCOL_MAX = 64, /* bytes of an authorization protocol's name */
	X11_COOKIE_MAX = 256,  /* bytes of its data */
};

/* Authorization: a protocol, and its data. */
struct x11_cookie {
	char protocol[X11_PROTOCOL_MAX + 1];
	uint8_t data[X11_COOKIE_MAX];
	size_t len;
};

enum x11_setup_state {
	X11_SETUP_INCOMPLETE, /* bytes of the packet are missing */
	X11_SETUP_ACCEPTED,   /* it is whole, with the display's cookie now */
	X11_SETUP_REFUSED,    /* it is not of somebody who knows our cookie */
};

/* The packet, held until its cookie is known. */
struct x11_setup {
	/* Borrowed; protocol and length are the same in both. */
	const struct x11_cookie *fake, *real;
	struct buf packet; /* at most as long as the one that is expected */
	enum x11_setup_state state;
};

void x11_setup_init(struct x11_setup *s, const struct x11_cookie *fake,
    const struct x11_cookie *real);
/* The next bytes. Returns how many belong to the packet; those behind it are
 * not looked at. */
size_t x11_setup_take(struct x11_setup *s, const uint8_t *p, size_t len);
/* Wipes the packet. */
void x11_setup_clear(struct x11_setup *s);

/* *fake: the same protocol and length as real, with other, random data. */
void x11_cookie_imitate(struct x11_cookie *fake,
    const struct x11_cookie *real);

#endif
