/* SPDX-License-Identifier: ISC */
/*
 * Connections that tell by SOCKS which target they want: those accepted on this
 * host (-D), and channels that the server opens for -R without a target. Their
 * number, bytes and time are limited, because anybody who can reach the port
 * can make one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/forwards/forwards-internal.h"
#include "conf/permit-pattern.h"
#include "forward/socks.h"

enum { READ_MAX = 4096, TEXT_MAX = 256 };

struct forwards_undecided {
	TAILQ_ENTRY(forwards_undecided) entry;
	struct forwards *f;
	struct socks socks;
	struct loop_timer *timer;
	/* The accepted connection; fd is -1 if it is a channel. */
	struct forwards_accepted from;
	struct loop_fd *watch;
	struct channel *channel; /* NULL: it is an accepted connection */
};

/* Removes and frees u. Its channel or descriptor is not closed: it has another
 * owner now, or was closed. */
static void
remove_undecided(struct forwards_undecided *u)
{
	struct forwards *f = u->f;

	TAILQ_REMOVE(&f->undecided, u, entry);
	f->undecided_count--;
	loop_unwatch(f->p.loop, u->watch);
	loop_cancel(f->p.loop, u->timer);
	socks_clear(&u->socks);
	free(u);
}

static void
drop(struct forwards_undecided *u)
{
	if (u->channel != NULL)
		channel_leave(u->channel);
	fd_close(&u->from.fd);
	remove_undecided(u);
}

static void
on_timeout(void *arg)
{
	struct forwards_undecided *u = arg;

	u->timer = NULL;
	log_debug("a connection was closed that did not tell its target");
	drop(u);
}

static struct forwards_undecided *
add(struct forwards *f)
{
	struct forwards_undecided *u;

	if (f->undecided_count == FORWARDS_UNDECIDED_MAX)
		drop(TAILQ_LAST(&f->undecided, forwards_undecided_list));
	u = xcalloc(1, sizeof *u);
	u->f = f;
	u->from.fd = -1;
	TAILQ_INSERT_HEAD(&f->undecided, u, entry);
	f->undecided_count++;
	u->timer = loop_after(f->p.loop, FORWARDS_UNDECIDED_MS, on_timeout, u);
	if (u->timer == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return u;
}

void
forwards_free_undecided(struct forwards *f)
{
	while (!TAILQ_EMPTY(&f->undecided))
		drop(TAILQ_FIRST(&f->undecided));
}

/* ---- connections that were accepted here -------------------------------- */

static bool
answer_fd(const struct forwards_undecided *u)
{
	return fd_write(u->from.fd, u->socks.reply, u->socks.reply_len) ==
	    (ssize_t)u->socks.reply_len;
}

static void
go_fd(struct forwards_undecided *u, struct span rest)
{
	const struct forwarded_target target = {
		.host = u->socks.host,
		.port = u->socks.port,
	};
	const struct span reply = { u->socks.reply, u->socks.reply_len };

	loop_unwatch(u->f->p.loop, u->watch);
	u->watch = NULL;
	/* The reply is sent once the server has accepted the channel, so that a
	 * connection which is refused is not told of success. */
	forwards_open(u->f, &u->from, &target, reply, rest);
	remove_undecided(u);
}

static void
on_readable(void *arg, int fd, int events)
{
	struct forwards_undecided *u = arg;
	uint8_t text[READ_MAX];
	ssize_t n = fd_read(fd, text, sizeof text);
	size_t at = 0, used;
	enum socks_result result;

	(void)events;
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		drop(u);
		return;
	}
	do {
		result = socks_feed(&u->socks, text + at, (size_t)n - at,
		    &used);
		at += used;
	} while (result == SOCKS_REPLY && answer_fd(u));
	if (result == SOCKS_DONE)
		go_fd(u, (struct span){ text + at, (size_t)n - at });
	else if (result != SOCKS_NEED_MORE)
		drop(u);
}

void
forwards_decide_fd(struct forwards *f, const struct forwards_accepted *a)
{
	struct forwards_undecided *u = add(f);

	u->from = *a;
	u->watch = loop_watch(f->p.loop, a->fd, LOOP_READ, on_readable, u);
	if (u->watch == NULL)
		fatal("%s", err_text(ERR_NOMEM));
}

/* ---- channels that the server has opened -------------------------------- */

/* PermitRemoteOpen permits the target. Without it every target is permitted. */
static bool
is_permitted(const struct forwards *f, const char *host, uint16_t port)
{
	const struct strlist *l = &f->p.conf->forward.permit_remote_open;

	return l->n == 0 || permit_list_opens(l, host, port);
}

/* While the target of a channel is being connected to, there is nothing to read
 * for the channel, and its data waits. */
static ssize_t
wait_read(void *arg, uint8_t *p, size_t max)
{
	(void)arg;
	(void)p;
	(void)max;
	return ERR_AGAIN;
}

static ssize_t
wait_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	(void)arg;
	(void)ext;
	(void)p;
	(void)len;
	return ERR_AGAIN;
}

static const struct channel_io wait_io = {
	.read = wait_read,
	.write = wait_write,
};

static void
on_left(void *arg, struct channel *c)
{
	(void)arg;
	(void)c;
}

static const struct channel_ops left_ops = { .closed = on_left };

/* Closes the channel from one of its own callbacks, in which its struct
 * channel_io must stay valid: so both are replaced by ones without state
 * first. */
static void
close_from_within(struct channel *c)
{
	channel_set_io(c, &wait_io, NULL);
	channel_set_ops(c, &left_ops, NULL);
	channel_close(c, false);
}

static bool
connect_channel(struct forwards_undecided *u)
{
	const struct forwarded_target target = {
		.host = u->socks.host,
		.port = u->socks.port,
	};
	struct channel *c = u->channel;
	char escaped[TEXT_MAX];

	if (!is_permitted(u->f, target.host, target.port)) {
		str_escape(escaped, sizeof escaped, target.host);
		forwards_warn(u->f, "Remote dynamic forward to %s port %u is "
				    "not permitted (PermitRemoteOpen)",
		    escaped, target.port);
		return false;
	}
	channel_set_io(c, &wait_io, NULL);
	return channel_send_data(c, 0, u->socks.reply, u->socks.reply_len) ==
	    0 &&
	    forwarded_connect_accepted(u->f->list, &forwarded_listened_tcp, c,
		&target) == 0;
}

/* Takes the bytes that belong to SOCKS; the rest stays in the channel. */
static ssize_t
socks_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct forwards_undecided *u = arg;
	struct channel *c = u->channel;
	enum socks_result result;
	size_t at = 0, used;

	(void)ext;
	do {
		result = socks_feed(&u->socks, p + at, len - at, &used);
		at += used;
	} while (result == SOCKS_REPLY &&
	    channel_send_data(c, 0, u->socks.reply, u->socks.reply_len) == 0);
	if (result == SOCKS_NEED_MORE)
		return (ssize_t)at;
	if (result != SOCKS_DONE || !connect_channel(u))
		close_from_within(c);
	remove_undecided(u);
	/* Returns the bytes that were taken, although u is gone: 0 would mean
	 * that the sink is full. */
	return (ssize_t)at;
}

static const struct channel_io socks_io = {
	.read = wait_read,
	.write = socks_write,
};

static void
on_eof(void *arg, struct channel *c)
{
	struct forwards_undecided *u = arg;

	close_from_within(c);
	remove_undecided(u);
}

static void
on_closed(void *arg, struct channel *c)
{
	(void)c;
	remove_undecided(arg);
}

static const struct channel_ops socks_ops = {
	.eof = on_eof,
	.closed = on_closed,
};

int
forwards_decide_channel(struct forwards *f, struct channel *c)
{
	const struct forwarded_kind *kind = &forwarded_listened_tcp;
	struct forwards_undecided *u = add(f);
	int r;

	u->channel = c;
	r = channel_accept(c, &socks_ops, u, kind->window, kind->max_packet);
	if (r != 0) {
		remove_undecided(u);
		return r;
	}
	channel_set_io(c, &socks_io, u);
	return CHANNEL_SUCCESS;
}
