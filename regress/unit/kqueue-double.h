/* SPDX-License-Identifier: ISC */
/*
 * A double of kqueue(2), by poll(2), for the system that has none: filters of
 * reading and of writing, which leave the queue when their descriptor is
 * closed. A child of fork(2) does not inherit the queue. Definitions, for one
 * source.
 */
#ifndef HPN_KQUEUE_DOUBLE_H
#define HPN_KQUEUE_DOUBLE_H

#include <sys/stat.h>
#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_ERROR 0x4000
#define EV_EOF 0x8000

struct kevent {
	uintptr_t ident;
	short filter;
	unsigned short flags;
	unsigned int fflags;
	int64_t data;
	void *udata;
};

#define EV_SET(e, i, f, fl, ff, d, u)                                         \
	(*(e) = (struct kevent){ .ident = (i), .filter = (short)(f),          \
		.flags = (unsigned short)(fl), .fflags = (ff), .data = (d),   \
		.udata = (u) })

enum { DOUBLE_MAX = 1024 };

/* A filter, and which file it is of. */
struct double_filter {
	int queue, fd;
	short filter;
	dev_t dev;
	ino_t ino;
};

static struct double_filter double_filters[DOUBLE_MAX];
static size_t double_count;
static pid_t double_owner;
static int double_refuses; /* errno for EV_ADD; 0: none */

static void
double_drop(size_t i)
{
	double_filters[i] = double_filters[--double_count];
}

/* Filters go whose descriptor was closed, or is that of another file. */
static void
double_sweep(void)
{
	struct stat st;

	for (size_t i = 0; i < double_count;) {
		const struct double_filter *f = &double_filters[i];

		if (fstat(f->fd, &st) == 0 && st.st_dev == f->dev &&
		    st.st_ino == f->ino)
			i++;
		else
			double_drop(i);
	}
}

static int
kqueue(void)
{
	if (double_owner != getpid())
		double_count = 0;
	double_owner = getpid();
	return open("/dev/null", O_RDWR);
}

static int
double_change(int queue, const struct kevent *e)
{
	struct double_filter f = { queue, (int)e->ident, e->filter, 0, 0 };
	struct stat st;
	size_t i = 0;

	if (fstat(f.fd, &st) == -1)
		return -1;
	while (i < double_count && (double_filters[i].queue != queue ||
	    double_filters[i].fd != f.fd ||
	    double_filters[i].filter != f.filter))
		i++;
	if (e->flags & EV_DELETE) {
		if (i == double_count) {
			errno = ENOENT;
			return -1;
		}
		double_drop(i);
		return 0;
	}
	if (double_refuses != 0 || (i == double_count && i == DOUBLE_MAX)) {
		errno = double_refuses != 0 ? double_refuses : ENOMEM;
		return -1;
	}
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	double_filters[i] = f;
	double_count += i == double_count;
	return 0;
}

static bool
double_event(const struct double_filter *f, short got, struct kevent *out)
{
	bool read = f->filter == EVFILT_READ;
	short ready = read ? POLLIN | POLLHUP | POLLERR :
			     POLLOUT | POLLHUP | POLLERR;
	bool end = (got & (POLLHUP | POLLERR)) != 0;

	if ((got & ready) == 0)
		return false;
	*out = (struct kevent){ .ident = (uintptr_t)f->fd,
		.filter = f->filter,
		.flags = (unsigned short)(end ? EV_EOF : 0),
		.fflags = read && (got & POLLERR) ? EPIPE : 0 };
	return true;
}

static int
double_look(int queue, struct kevent *out, int max, int timeout_ms)
{
	static struct pollfd polls[DOUBLE_MAX];
	static struct double_filter of[DOUBLE_MAX];
	static size_t first; /* all get their turn */
	size_t n = 0;
	int found = 0;

	for (size_t i = 0; i < double_count; i++) {
		if (double_filters[i].queue != queue)
			continue;
		of[n] = double_filters[i];
		polls[n] = (struct pollfd){ .fd = of[n].fd,
			.events = of[n].filter == EVFILT_READ ? POLLIN :
								POLLOUT };
		n++;
	}
	if (poll(polls, n, timeout_ms) == -1)
		return -1;
	first++;
	for (size_t i = 0; i < n && found < max; i++) {
		size_t at = (first + i) % n;

		if (double_event(&of[at], polls[at].revents, &out[found]))
			found++;
	}
	return found;
}

static int
kevent(int queue, const struct kevent *changes, int count, struct kevent *out,
    int max, const struct timespec *timeout)
{
	if (getpid() != double_owner) {
		errno = EBADF;
		return -1;
	}
	double_sweep();
	for (int i = 0; i < count; i++)
		if (double_change(queue, &changes[i]) == -1)
			return -1;
	if (max == 0)
		return 0;
	return double_look(queue, out, max, timeout == NULL ? -1 :
		(int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000));
}

#endif
