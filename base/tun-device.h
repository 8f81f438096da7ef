/* SPDX-License-Identifier: ISC */
/*
 * Network interfaces whose packets a program reads and writes: tunN for IP
 * packets, tapN for Ethernet frames. They are not configured here; packets
 * move when somebody has given them an address and switched them on.
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
	char name[TUN_NAME_MAX]; /* of the interface */
};

/* unit: the number in the name, or TUN_UNIT_ANY. It needs CAP_NET_ADMIN, or an
 * interface that was made for this user. ERR_SYSTEM with errno;
 * ERR_UNSUPPORTED: this system has none. */
int tun_device_open(struct tun_device *out, bool ethernet,
    int64_t unit) must_check;

#endif
