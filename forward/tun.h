/* SPDX-License-Identifier: ISC */
/*
 * A network interface of this host tied to one of the peer's: a channel
 * tun@openssh.com (PROTOCOL of OpenSSH), of which each message is a packet.
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

/* Numbers of the protocol. */
enum tun_mode {
	TUN_POINT_TO_POINT = 1, /* IP packets */
	TUN_ETHERNET = 2,	/* frames */
};
enum { TUN_WIRE_ANY = 0x7fffffff }; /* any unit */

struct tun;

struct tun_params {
	struct loop *loop; /* borrowed */
	void *arg;
	/* The peer has confirmed; or refused, which is the end. May be NULL. */
	void (*answered)(void *arg, bool ok);
	/* The tunnel has ended otherwise. */
	void (*ended)(void *arg);
};

/* *device is taken over: its descriptor is owned from here on, also if this
 * fails. */
int tun_new(struct tun **out, const struct tun_device *device,
    const struct tun_params *params) must_check;
/* Leaves the channel and closes the device. NULL is fine. */
void tun_free(struct tun *t);
const char *tun_name(const struct tun *t);

/* Confirms a channel that the peer opens. */
int tun_accept(struct tun *t, struct channel *c) must_check;
/* Opens the channel; unit (of the peer) or TUN_UNIT_ANY. */
int tun_open(struct tun *t, struct channels *chs, int64_t unit) must_check;

#endif
