/* SPDX-License-Identifier: ISC */
#include "server/session/session-share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-rate.h"
#include "conf/rates.h"
#include "server/events/share-want.h"
#include "server/session/session-calls.h"

enum {
	TELL_MS = 100,	/* how often the monitor is told of the wants */
	REST_TURNS = 5, /* turns without data after which the monitor is told no
			 * more */
};

struct session_share {
	struct loop *loop;
	struct channels *channels;
	int fd; /* socket for datagrams to and from the monitor */
	struct loop_fd *watch;
	struct loop_timer *timer;
	uint64_t told_ms;
	unsigned idle; /* turns in a row in which no data was moved */
	bool fresh;    /* no data was moved before this turn */
	uint64_t got[CHANNELS_WAYS];
	struct share_want want[CHANNELS_WAYS];
};

static void on_time(void *arg);

/* ---- to and from the monitor --------------------------------------------- */

static void
tell(struct session_share *s, const uint64_t want[CHANNELS_WAYS], bool at_once)
{
	uint8_t msg[MONITOR_SHARE_WANT];

	wire_put_u64(msg, want[CHANNELS_OUT]);
	wire_put_u64(msg + 8, want[CHANNELS_IN]);
	msg[16] = at_once;
	/* If the monitor is busy, it gets the next datagram. */
	if (send(s->fd, msg, sizeof msg, 0) == -1 && errno != EAGAIN)
		log_debug("shares: %s", strerror(errno));
}

static void
on_answer(void *arg, int fd, int events)
{
	struct session_share *s = arg;
	uint8_t msg[MONITOR_SHARE_GOT];
	ssize_t n;

	(void)events;
	while ((n = recv(fd, msg, sizeof msg, 0)) == (ssize_t)sizeof msg) {
		s->got[CHANNELS_OUT] = wire_get_u64(msg);
		s->got[CHANNELS_IN] = wire_get_u64(msg + 8);
		for (int i = 0; i < CHANNELS_WAYS; i++)
			channels_set_rate(s->channels, (enum channels_way)i,
			    s->got[i]);
	}
	if (n >= 0 || errno != EAGAIN) {
		loop_unwatch(s->loop, s->watch); /* the monitor has ended */
		s->watch = NULL;
	}
}

static void
on_move(void *arg)
{
	struct session_share *s = arg;

	s->idle = 0;
	s->fresh = true;
	s->told_ms = clock_ms();
	s->timer = loop_after(s->loop, 0, on_time, s);
}

static void
on_time(void *arg)
{
	struct session_share *s = arg;
	struct channels_moved m = channels_take_moved(s->channels);
	uint64_t now = clock_ms(), want[CHANNELS_WAYS];
	bool moved = false;

	s->timer = NULL;
	for (int i = 0; i < CHANNELS_WAYS; i++) {
		/* There is no rate to be measured in the first turn. */
		want[i] = share_want_note(&s->want[i],
		    s->fresh ? 0 : m.bytes[i], now - s->told_ms, m.held[i],
		    s->got[i]);
		moved = moved || m.bytes[i] > 0 || m.held[i];
	}
	s->idle = moved ? 0 : s->idle + 1;
	if (s->idle > REST_TURNS) {
		channels_on_move(s->channels, on_move, s);
		return;
	}
	tell(s, want, s->fresh);
	s->fresh = false;
	s->told_ms = now;
	s->timer = loop_after(s->loop, TELL_MS, on_time, s);
}

/* ---- begin and end ------------------------------------------------------- */

static bool
is_limited(const struct server_conf *c)
{
	return c->rate.capacity != NULL || c->rate.user_max != NULL ||
	    c->rate.group_max.n > 0;
}

/* The rate until the monitor's first answer: the lower one of those in the
 * configuration. */
static uint64_t
first_rate(const struct server_conf *c)
{
	uint64_t capacity, user;

	if (rate_read(c->rate.capacity, &capacity) != 0 ||
	    rate_read(c->rate.user_max, &user) != 0)
		return RATE_NONE;
	return MIN(capacity, user);
}

struct session_share *
session_share_new(struct loop *l, struct channels *chs, int monitor_fd,
    const struct server_conf *conf)
{
	struct session_share *s;
	int fd = -1, r;

	if (!is_limited(conf))
		return NULL;
	if ((r = monitor_shares(monitor_fd, &fd)) != 0 ||
	    (r = fd_set_nonblock(fd, true)) != 0) {
		fd_close(&fd);
		fatal("no share of the rate: %s", err_text(r));
	}
	s = xcalloc(1, sizeof *s);
	s->loop = l;
	s->channels = chs;
	s->fd = fd;
	s->watch = loop_watch(l, fd, LOOP_READ, on_answer, s);
	for (int i = 0; i < CHANNELS_WAYS; i++) {
		s->got[i] = first_rate(conf);
		channels_set_rate(chs, (enum channels_way)i, s->got[i]);
	}
	channels_on_move(chs, on_move, s);
	return s;
}

void
session_share_free(struct session_share *s)
{
	if (s == NULL)
		return;
	channels_on_move(s->channels, NULL, NULL);
	loop_cancel(s->loop, s->timer);
	loop_unwatch(s->loop, s->watch);
	fd_close(&s->fd);
	free(s);
}
