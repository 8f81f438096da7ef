/* SPDX-License-Identifier: ISC */
/*
 * Descriptors that are ready, by kqueue(2), which has a filter for reading and
 * one for writing. A descriptor that is closed leaves the queue by itself.
 *
 * Regular files are ready for reading there only before their end, so they and
 * directories are refused here, as epoll(7) does. A device that has no such
 * filter (/dev/tty on macOS) is an error, after which all is left to poll(2).
 */
#include "base/ready-internal.h"

#if defined(READY_BY_KQUEUE)

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef READY_TESTS_KQUEUE
#include <sys/event.h>
#endif

#include "base/fd.h"
#include "base/mem.h"
#include "base/ready.h"

int
ready_kernel_open(void)
{
	int set = kqueue();

	if (set != -1 && fcntl(set, F_SETFD, FD_CLOEXEC) == -1)
		fd_close(&set);
	return set;
}

/* A child of fork(2) does not inherit a queue, and the number may be that of
 * something else. */
void
ready_kernel_close(int *set, bool ours)
{
	if (ours)
		fd_close(set);
	*set = -1;
}

static int
change(int set, int fd, int filter, int flags)
{
	struct kevent e;

	EV_SET(&e, (unsigned)fd, filter, flags, 0, 0, NULL);
	return kevent(set, &e, 1, NULL, 0, NULL);
}

int
ready_kernel_tell(int set, int fd, int known, int wanted)
{
	static const struct {
		int event, filter;
	} filters[] = {
		{ READY_READ, EVFILT_READ },
		{ READY_WRITE, EVFILT_WRITE },
	};
	struct stat st;
	int r = 0;

	if (wanted != 0 && fstat(fd, &st) == -1)
		return -1;
	if (wanted != 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		errno = EPERM;
		r = -1;
		wanted = 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		if ((wanted & filters[i].event) &&
		    change(set, fd, filters[i].filter, EV_ADD) == -1)
			return -1;
		if (!(wanted & filters[i].event) && r == 0 &&
		    (known & filters[i].event))
			(void)change(set, fd, filters[i].filter, EV_DELETE);
	}
	return r;
}

/* EV_EOF of reading is the end of the data: not more than poll(2)'s POLLIN,
 * unless an error comes with it. Of writing it is that nobody reads. */
static struct ready_told
told(const struct kevent *e)
{
	bool end = (e->flags & EV_EOF) != 0, error = (e->flags & EV_ERROR) != 0;
	bool in = e->filter == EVFILT_READ;

	return (struct ready_told){ .fd = (int)e->ident, .in = in, .out = !in,
		.broken = error || (end && (!in || e->fflags != 0)) };
}

int
ready_kernel_look(int set, struct ready_told *got, int max, int timeout_ms)
{
	struct kevent events[READY_BATCH_MAX];
	struct timespec ts = { .tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L };
	int n = kevent(set, NULL, 0, events, MIN(max, (int)READY_BATCH_MAX),
	    timeout_ms < 0 ? NULL : &ts);

	for (int i = 0; i < n; i++)
		got[i] = told(&events[i]);
	return n;
}

#endif
