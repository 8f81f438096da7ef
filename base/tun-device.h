/* SPDX-License-Identifier: ISC */
/*
 * Network interfaces whose packets a program reads and writes: tunN for IP
 * packets, tapN for Ethernet frames. Somebody else has to give them an address
 * and switch them on; before that no packets move.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_TUN_DEVICE_H
#define HPN_BASE_TUN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
	TUN_NAME_MAX = 16,
	TUN_UNIT_ANY = -1,
};

struct tun_device {
	int fd; /* non-blocking, close-on-exec; one packet a read or write */
	bool ethernet;
	char name[TUN_NAME_MAX]; /* name of the interface */
};

/* Opens an interface. unit: the number in its name, or TUN_UNIT_ANY. This needs
 * CAP_NET_ADMIN, or an interface that was made for this user. ERR_SYSTEM with
 * errno; ERR_UNSUPPORTED: this system has no such interfaces. */
int tun_device_open(struct tun_device *out, bool ethernet,
    int64_t unit) must_check;

#endif
