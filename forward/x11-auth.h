/* SPDX-License-Identifier: ISC */
/*
 * The connection setup of an X11 client, its first packet (X Window System
 * Protocol, section 8), as it comes from a channel. The remote host, where the
 * client runs, has a fake cookie that is valid for this forward only. The
 * cookie in the packet is compared with the fake one, and replaced by the real
 * one, which the display wants.
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
	X11_COOKIE_MAX = 256,  /* bytes of an authorization protocol's data */
};

/* Authorization data of X11: a protocol's name, and its data. */
struct x11_cookie {
	char protocol[X11_PROTOCOL_MAX + 1];
	uint8_t data[X11_COOKIE_MAX];
	size_t len;
};

enum x11_setup_state {
	X11_SETUP_INCOMPLETE, /* the packet is not complete */
	X11_SETUP_ACCEPTED,   /* complete; it has the display's cookie now */
	X11_SETUP_REFUSED,    /* wrong: it does not have our cookie */
};

/* The packet, which is held back until its cookie was checked. */
struct x11_setup {
	/* Borrowed; both have the same protocol and length. */
	const struct x11_cookie *fake, *real;
	struct buf packet; /* at most as long as a packet with our cookie */
	enum x11_setup_state state;
};

void x11_setup_init(struct x11_setup *s, const struct x11_cookie *fake,
    const struct x11_cookie *real);
/* Takes the next bytes of the channel. Returns how many belong to the packet;
 * bytes after the packet are not used. */
size_t x11_setup_take(struct x11_setup *s, const uint8_t *p, size_t len);
/* Wipes and frees the packet. */
void x11_setup_clear(struct x11_setup *s);

/* Makes *fake: protocol and length as in real, and random data. */
void x11_cookie_imitate(struct x11_cookie *fake,
    const struct x11_cookie *real);

#endif
