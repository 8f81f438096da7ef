/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-shares.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "compat/sock.h"
#include "server/monitor/monitor-counts.h"
#include "server/monitor/monitor-events.h"
#include "server/monitor/monitor.h"

/* The pause after an answer: a process of the user's that asks without end must
 * not keep the lock of the counters from others. Ours asks each 100 ms. */
enum { PAUSE_MS = 20 };

struct monitor_shares {
	struct monitor *m;
	struct loop *loop;
	int fd; /* -1: the process has not asked for a share yet */
	struct loop_fd *watch; /* NULL: also during the pause */
	struct loop_timer *pause;
};

static void on_want(void *arg, int fd, int events);

static void
on_pause_end(void *arg)
{
	struct monitor_shares *s = arg;

	s->pause = NULL;
	s->watch = loop_watch(s->loop, s->fd, LOOP_READ, on_want, s);
}

static void
answer(struct monitor_shares *s, const uint8_t *want)
{
	uint64_t wanted[2] = { wire_get_u64(want), wire_get_u64(want + 8) };
	uint8_t msg[MONITOR_SHARE_GOT];
	uint64_t got[2];

	monitor_counts_share(monitor_events_counts(s->m->events),
	    wanted, want[16] != 0, got);
	wire_put_u64(msg, got[0]);
	wire_put_u64(msg + 8, got[1]);
	/* A session process that does not read its answers keeps its old
	 * share. */
	if (send(s->fd, msg, sizeof msg, 0) == -1 && errno != EAGAIN)
		log_debug("shares: %s", strerror(errno));
}

/* Reads all datagrams that have come; only the last one counts. */
static void
on_want(void *arg, int fd, int events)
{
	struct monitor_shares *s = arg;
	uint8_t msg[MONITOR_SHARE_WANT + 1], last[MONITOR_SHARE_WANT];
	bool any = false;
	ssize_t n;

	(void)events;
	for (int i = 0; i < 64; i++) {
		n = recv(fd, msg, sizeof msg, 0);
		if (n == -1 && errno == EAGAIN)
			break;
		if (n != MONITOR_SHARE_WANT) {
			/* The other end is closed, or has sent something
			 * else. */
			loop_unwatch(s->loop, s->watch);
			s->watch = NULL;
			return;
		}
		memcpy(last, msg, sizeof last);
		any = true;
	}
	if (!any)
		return;
	answer(s, last);
	loop_unwatch(s->loop, s->watch);
	s->watch = NULL;
	s->pause = loop_after(s->loop, PAUSE_MS, on_pause_end, s);
}

void
monitor_shares_begin(struct monitor *m, struct loop *loop)
{
	m->shares = xcalloc(1, sizeof *m->shares);
	m->shares->m = m;
	m->shares->loop = loop;
	m->shares->fd = -1;
}

void
monitor_shares_end(struct monitor *m)
{
	struct monitor_shares *s = m->shares;

	if (s == NULL)
		return;
	loop_unwatch(s->loop, s->watch);
	loop_cancel(s->loop, s->pause);
	fd_close(&s->fd);
	free(s);
	m->shares = NULL;
}

int
monitor_on_shares(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_shares *s = m->shares;
	int pair[2], r = rd_end(in);

	if (r != 0)
		return r;
	if (sock_pair(SOCK_DGRAM, pair) == -1)
		return ERR_SYSTEM;
	if ((r = fd_set_nonblock(pair[0], true)) == 0 &&
	    (r = monitor_answer(m, out)) == 0)
		r = fd_send_fds(m->fd, &pair[1], 1);
	fd_close(&pair[1]);
	s->fd = pair[0];
	if (r == 0)
		s->watch = loop_watch(s->loop, s->fd, LOOP_READ, on_want, s);
	return r;
}
