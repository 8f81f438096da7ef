/* SPDX-License-Identifier: ISC */
#include "base/wake.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/eventfd.h>
#endif

#include "base/fd.h"
#include "compat/sock.h"

#if defined(__linux__)
static int
open_counter(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
#else
static int
open_counter(void)
{
	errno = ENOSYS;
	return -1;
}
#endif

int
wake_open(struct wake *w)
{
	int ends[2];

	*w = (struct wake)WAKE_CLOSED;
	if ((w->fd = w->to = open_counter()) != -1)
		return 0;
	if (errno != ENOSYS || sock_pipe(ends, SOCK_AT_ONCE) == -1)
		return ERR_SYSTEM;
	w->fd = ends[0];
	w->to = ends[1];
	return 0;
}

void
wake_close(struct wake *w)
{
	if (w->to != w->fd)
		fd_close(&w->to);
	w->to = -1;
	fd_close(&w->fd);
}

/* Writes the 8 bytes that an eventfd takes. A full pipe need not take them, as
 * it wakes the reader already. */
void
wake_up(const struct wake *w)
{
	const uint64_t one = 1;

	(void)!write(w->to, &one, sizeof one);
}

void
wake_seen(const struct wake *w)
{
	uint64_t some[64];
	ssize_t n;

	/* One read empties an eventfd; a pipe may need several. */
	do
		n = read(w->fd, some, sizeof some);
	while (n == (ssize_t)sizeof some);
}
