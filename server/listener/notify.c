/* SPDX-License-Identifier: ISC */
/*
 * Notifies the service manager, sd_notify(3): sends a datagram with lines of
 * NAME=value to the socket that NOTIFY_SOCKET names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "compat/sock.h"
#include "server/listener/listener.h"

static void
send_state(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	len = strlen(path);
	if (len >= sizeof sun.sun_path)
		return;
	memcpy(sun.sun_path, path, len);
	if (path[0] == '@') /* an abstract name: it begins with a zero byte */
		sun.sun_path[0] = '\0';
	fd = sock_open(AF_UNIX, SOCK_DGRAM, 0, SOCK_WAITS);
	if (fd == -1)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		(struct sockaddr *)&sun,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
	    -1)
		log_debug("cannot notify %s", path);
	fd_close(&fd);
}

void
notify_ready(void)
{
	send_state("READY=1");
}

void
notify_reloading(void)
{
	char text[64];

	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
	    (unsigned long long)clock_us());
	send_state(text);
}
