/* SPDX-License-Identifier: ISC */
/*
 * A network interface of this host tied to one of the peer's, by a channel
 * tun@openssh.com (OpenSSH's PROTOCOL file), of which each message is a packet.
 * Packets that do not fit are dropped, as networks do.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_FORWARD_TUN_H
#define HPN_FORWARD_TUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/tun-device.h"
#include "channels.h"

#define TUN_CHANNEL "tun@openssh.com"

/* How the interface works; the numbers are the protocol's. */
enum tun_mode {
	TUN_POINT_TO_POINT = 1, /* IP packets */
	TUN_ETHERNET = 2,	/* Ethernet frames */
};
/* In an OPEN: any unit (interface number). */
enum { TUN_WIRE_ANY = 0x7fffffff };

struct tun;

struct tun_params {
	struct loop *loop; /* borrowed */
	void *arg;
	/* The peer has answered our OPEN. ok false: it refused, and ended() is
	 * not called. May be NULL. */
	void (*answered)(void *arg, bool ok);
	/* The channel was closed, after it had been open. May be NULL. */
	void (*ended)(void *arg);
};

/* Makes a tunnel end of *device, whose descriptor is owned from here on, also
 * if this fails. */
int tun_new(struct tun **out, const struct tun_device *device,
    const struct tun_params *params) must_check;
/* Leaves the channel and closes the device. NULL is fine. */
void tun_free(struct tun *t);
const char *tun_name(const struct tun *t);

/* Accepts the channel that the peer opens, and ties the interface to it. */
int tun_accept(struct tun *t, struct channel *c) must_check;
/* Opens the channel. unit: the number of the peer's interface, or
 * TUN_UNIT_ANY. */
int tun_open(struct tun *t, struct channels *chs, int64_t unit) must_check;

#endif
