/* SPDX-License-Identifier: ISC */
#include "base/netwatch.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#endif

#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"

enum { SETTLE_MS = 100 }; /* time to wait, because several messages tell of one
			   * change */

struct netwatch {
	struct loop *loop;
	loop_fn changed;
	void *arg;
	int fd;
	struct loop_fd *watch;
	struct loop_timer *timer; /* runs while a change is still to be
				   * reported */
};

#ifdef __linux__
static int
open_socket(void)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
		    RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE };
	int fd = sock_open(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, SOCK_AT_ONCE);

	if (fd != -1 && bind(fd, (struct sockaddr *)&sa, sizeof sa) == -1)
		fd_close(&fd);
	return fd;
}
#else
static int
open_socket(void)
{
	return -1;
}
#endif

static void
on_settled(void *arg)
{
	struct netwatch *w = arg;

	w->timer = NULL;
	w->changed(w->arg);
}

/* The content of messages is not read, so it does not matter who has sent
 * them. */
static void
on_message(void *arg, int fd, int events)
{
	struct netwatch *w = arg;
	uint8_t some[256];
	int left = 64; /* in one turn */

	(void)events;
	while (left-- > 0 && (recv(fd, some, sizeof some, 0) >= 0 ||
		errno == ENOBUFS || errno == EINTR))
		;
	if (w->timer == NULL)
		w->timer = loop_after(w->loop, SETTLE_MS, on_settled, w);
}

struct netwatch *
netwatch_new(struct loop *l, loop_fn changed, void *arg)
{
	int fd = open_socket();
	struct netwatch *w;

	if (fd == -1)
		return NULL;
	w = xcalloc(1, sizeof *w);
	w->loop = l;
	w->changed = changed;
	w->arg = arg;
	w->fd = fd;
	if ((w->watch = loop_watch(l, fd, LOOP_READ, on_message, w)) == NULL) {
		netwatch_free(w);
		return NULL;
	}
	return w;
}

void
netwatch_free(struct netwatch *w)
{
	if (w == NULL)
		return;
	loop_cancel(w->loop, w->timer);
	loop_unwatch(w->loop, w->watch);
	fd_close(&w->fd);
	free(w);
}

bool
netwatch_has_address(int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;
	int test;
	bool has;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		return true;
	if (ss.ss_family == AF_INET)
		((struct sockaddr_in *)(void *)&ss)->sin_port = 0;
	else if (ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&ss)->sin6_port = 0;
	else
		return true;
	if ((test = sock_open(ss.ss_family, SOCK_DGRAM, 0, SOCK_AT_ONCE)) ==
	    -1)
		return true;
	has = bind(test, (struct sockaddr *)&ss, len) == 0 ||
	    errno != EADDRNOTAVAIL;
	fd_close(&test);
	return has;
}
