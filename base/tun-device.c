/* SPDX-License-Identifier: ISC */
#include "base/tun-device.h"

#include "config.h"

#ifdef __linux__

#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/fd.h"

#define DEVICE "/dev/net/tun"

int
tun_device_open(struct tun_device *out, bool ethernet, int64_t unit)
{
	struct ifreq request = { .ifr_flags = IFF_NO_PI };
	const char *kind = ethernet ? "tap" : "tun";
	int fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1)
		return ERR_SYSTEM;
	request.ifr_flags = (short)(request.ifr_flags |
	    (ethernet ? IFF_TAP : IFF_TUN));
	if (unit != TUN_UNIT_ANY)
		snprintf(request.ifr_name, sizeof request.ifr_name,
		    "%s%" PRId64, kind, unit);
	else /* the kernel replaces %d by a free number */
		snprintf(request.ifr_name, sizeof request.ifr_name, "%s%%d",
		    kind);
	if (ioctl(fd, TUNSETIFF, &request) == -1) {
		fd_close(&fd);
		return ERR_SYSTEM;
	}
	*out = (struct tun_device){ .fd = fd, .ethernet = ethernet };
	_Static_assert(sizeof out->name >= sizeof request.ifr_name,
	    "room for the name of an interface");
	memcpy(out->name, request.ifr_name, sizeof request.ifr_name);
	out->name[sizeof out->name - 1] = '\0';
	return 0;
}

#else

int
tun_device_open(struct tun_device *out, bool ethernet, int64_t unit)
{
	(void)out;
	(void)ethernet;
	(void)unit;
	return ERR_UNSUPPORTED;
}

#endif
