/* SPDX-License-Identifier: ISC */
/* Descriptors that are ready, by epoll(7). */
#include "base/ready-internal.h"

#if defined(READY_BY_EPOLL)

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/ready.h"

int
ready_kernel_open(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

void
ready_kernel_close(int *set, bool ours)
{
	(void)ours; /* a child of fork(2) has a descriptor of its own */
	fd_close(set);
}

static int
control(int set, int op, int fd, int events)
{
	struct epoll_event e = { .events =
		(events & READY_READ ? (uint32_t)EPOLLIN : 0) |
		(events & READY_WRITE ? (uint32_t)EPOLLOUT : 0) };

	e.data.fd = fd;
	return epoll_ctl(set, op, fd, &e);
}

/* The descriptor may have been closed and opened again since the kernel was
 * told of it, so the kernel may know it when we think that it does not, or the
 * reverse. */
int
ready_kernel_tell(int set, int fd, int known, int wanted)
{
	int r;

	if (wanted == 0) {
		if (known != 0)
			(void)control(set, EPOLL_CTL_DEL, fd, 0);
		return 0;
	}
	r = control(set, known != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
	    wanted);
	if (r == -1 && errno == ENOENT)
		r = control(set, EPOLL_CTL_ADD, fd, wanted);
	else if (r == -1 && errno == EEXIST)
		r = control(set, EPOLL_CTL_MOD, fd, wanted);
	return r;
}

int
ready_kernel_look(int set, struct ready_told *got, int max, int timeout_ms)
{
	struct epoll_event events[READY_BATCH_MAX];
	int n = epoll_wait(set, events, MIN(max, (int)READY_BATCH_MAX),
	    timeout_ms);

	for (int i = 0; i < n; i++) {
		uint32_t e = events[i].events;

		got[i] = (struct ready_told){ .fd = events[i].data.fd,
			.in = (e & EPOLLIN) != 0, .out = (e & EPOLLOUT) != 0,
			.broken = (e & (EPOLLERR | EPOLLHUP)) != 0 };
	}
	return n;
}

#endif
