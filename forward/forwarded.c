/* SPDX-License-Identifier: ISC */
#include "forward/forwarded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/dial.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/resolve.h"
#include "compat/bsd.h"
#include "compat/queue.h"
#include "forward/early-data.h"

enum {
	TEXT_MAX = 256, /* bytes of a target in messages */
	ADDRESSES_MAX = 16, /* addresses of a host that are tried */
};

#define BULK .window = CHANNEL_WINDOW_DEFAULT,                                \
	     .max_packet = CHANNEL_PACKET_DEFAULT

const struct forwarded_kind forwarded_direct_tcp = { "direct-tcpip", BULK };
const struct forwarded_kind forwarded_direct_path = {
	"direct-streamlocal@openssh.com", BULK
};
const struct forwarded_kind forwarded_listened_tcp = { "forwarded-tcpip",
	BULK };
const struct forwarded_kind forwarded_listened_path = {
	"forwarded-streamlocal@openssh.com", BULK
};

struct forwarded {
	TAILQ_ENTRY(forwarded) entry; /* in list->all */
	struct forwarded_list *list;
	const struct forwarded_kind *kind;
	struct channel *channel;
	int fd;			 /* -1: not connected yet */
	struct early_data early; /* sent from fd before the channel is open */
	/* While the target's name is looked up; else NULL. */
	struct resolve *resolve;
	/* While the target is connected to; else NULL. */
	struct dial *dial;
	size_t addresses;	 /* number of addresses that dial tries */
	/* The channel was accepted before fd was connected. */
	bool accepted;
	bool sink_ended;    /* the peer's EOF was passed on, or fd failed */
	bool source_ended;  /* we have sent EOF */
	bool counted;
	struct forwarded_waiter waiter; /* told of the answer to our OPEN */
	struct buf first;    /* to be written to fd before the peer's data */
	char target[TEXT_MAX]; /* for log messages */
};

struct forwarded_list {
	struct forwarded_params p;
	struct resolver *resolver;
	TAILQ_HEAD(forwarded_all, forwarded) all;
	size_t count;
};

const char *
forwarded_reason(uint32_t reason)
{
	static const char *const texts[] = {
		[CHANNEL_OPEN_PROHIBITED] = "administratively prohibited",
		[CHANNEL_OPEN_CONNECT_FAILED] = "connect failed",
		[CHANNEL_OPEN_UNKNOWN_TYPE] = "unknown channel type",
		[CHANNEL_OPEN_RESOURCE_SHORTAGE] = "resource shortage",
	};

	return reason > 0 && reason < ARRAY_LEN(texts) ? texts[reason] :
							  "unknown reason";
}

void
forwarded_put_originator(struct buf *b, const char *address, uint16_t port)
{
	buf_put_cstring(b, address);
	buf_put_u32(b, port);
}

/* ---- life of one -------------------------------------------------------- */

static struct forwarded *
add(struct forwarded_list *l, const struct forwarded_kind *kind,
    struct channel *c, int fd)
{
	struct forwarded *f = calloc(1, sizeof *f);

	if (f == NULL)
		return NULL;
	f->list = l;
	f->kind = kind;
	f->channel = c;
	f->fd = fd;
	f->early.loop = l->p.loop;
	TAILQ_INSERT_HEAD(&l->all, f, entry);
	l->count++;
	return f;
}

static void
note_answer(struct forwarded *f)
{
	const struct forwarded_waiter w = f->waiter;

	f->waiter = (struct forwarded_waiter){ 0 };
	if (w.answered != NULL)
		w.answered(w.arg);
}

static void
free_forwarded(struct forwarded *f)
{
	struct forwarded_list *l = f->list;

	TAILQ_REMOVE(&l->all, f, entry);
	l->count--;
	early_data_end(&f->early);
	resolve_cancel(f->resolve);
	dial_free(f->dial);
	buf_clear(&f->first);
	fd_close(&f->fd);
	if (f->counted && l->p.count != NULL)
		l->p.count(l->p.arg, -1);
	note_answer(f);
	free(f);
}

/* ---- what happens on the channel ---------------------------------------- */

/* Ties the channel and the socket to each other, when both are open. */
static void
tie(struct forwarded *f)
{
	early_data_end(&f->early);
	f->counted = true;
	if (f->list->p.count != NULL)
		f->list->p.count(f->list->p.arg, 1);
	fd_set_nodelay(f->fd);
	channel_set_io(f->channel, NULL, NULL);
	channel_set_fds(f->channel, f->fd, f->fd, -1, -1);
	if (f->sink_ended) /* the peer's EOF came before fd was connected */
		(void)shutdown(f->fd, SHUT_WR);
}

static void
close_if_done(struct forwarded *f)
{
	if (f->sink_ended && f->source_ended)
		channel_close(f->channel, false);
}

static void
on_opened(void *arg, struct channel *c)
{
	(void)c;
	tie(arg);
	note_answer(arg);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	log_info("channel %u: open failed: %s%s%s", channel_id(c),
	    forwarded_reason(reason), *text != '\0' ? ": " : "", text);
	free_forwarded(arg);
}

static void
on_eof(void *arg, struct channel *c)
{
	struct forwarded *f = arg;

	f->sink_ended = true;
	if (f->fd != -1)
		(void)shutdown(f->fd, SHUT_WR);
	if (f->kind->eof_ends)
		channel_close(c, true);
	close_if_done(f);
}

static void
on_source_end(void *arg, struct channel *c)
{
	struct forwarded *f = arg;

	(void)c;
	f->source_ended = true;
	close_if_done(f);
}

/* The socket takes no more data: what comes from the peer is thrown away from
 * now on. The other direction goes on as long as the socket has data. */
static void
on_sink_failed(void *arg, struct channel *c, uint32_t ext, int error)
{
	struct forwarded *f = arg;

	(void)c;
	(void)ext;
	(void)error;
	f->sink_ended = true;
	close_if_done(f);
}

static void
on_closed(void *arg, struct channel *c)
{
	(void)c;
	free_forwarded(arg);
}

static const struct channel_ops ops = {
	.opened = on_opened,
	.refused = on_refused,
	.eof = on_eof,
	.source_end = on_source_end,
	.sink_failed = on_sink_failed,
	.closed = on_closed,
};

/* ---- connecting --------------------------------------------------------- */

static void
fail(struct forwarded *f, const char *why)
{
	if (f->accepted)
		channel_leave(f->channel);
	else if (channel_refuse(f->channel, CHANNEL_OPEN_CONNECT_FAILED,
		     why) != 0)
		log_debug("a refusal could not be sent");
	free_forwarded(f);
}

/* Writes `first` to the new socket. A small message fits into its buffer, so
 * that a short write is an error. */
static bool
write_first(struct forwarded *f)
{
	size_t len = buf_len(&f->first);
	ssize_t n = len > 0 ? fd_write(f->fd, buf_data(&f->first), len) : 0;

	buf_clear(&f->first);
	return n == (ssize_t)len;
}

static void
on_dialled(void *arg, struct dial *d)
{
	struct forwarded *f = arg;
	size_t which;

	f->fd = dial_take_winner(d, &which);
	if (f->fd == -1) {
		log_error("connect_to %s: failed.", f->target);
		fail(f, strerror(dial_error(d, f->addresses - 1)));
		return;
	}
	dial_free(d);
	f->dial = NULL;
	if (!write_first(f)) {
		fail(f, strerror(EPIPE));
		return;
	}
	if (!f->accepted &&
	    channel_accept(f->channel, &ops, f, f->kind->window,
		f->kind->max_packet) != 0)
		log_debug("a confirmation could not be sent");
	tie(f);
}

static int
start_dial(struct forwarded *f, const struct dial_address *v, size_t n)
{
	const struct dial_params params = {
		.addresses = v,
		.n = MIN(n, (size_t)ADDRESSES_MAX),
		.times = { .next_ms = DIAL_NEXT_MS },
		.done = on_dialled,
		.arg = f,
	};

	f->addresses = params.n;
	return dial_start(&f->dial, f->list->p.loop, &params);
}

static void
on_resolved(void *arg, const struct dial_address *v, size_t n,
    const char *why)
{
	struct forwarded *f = arg;

	f->resolve = NULL;
	if (n == 0) {
		log_error("connect_to %s: unknown host (%s)", f->target, why);
		fail(f, why);
	} else if (start_dial(f, v, n) != 0) {
		fail(f, strerror(ENOMEM));
	}
}

static int
start_path(struct forwarded *f, const char *path)
{
	struct dial_address a = { .len = sizeof(struct sockaddr_un) };
	struct sockaddr_un *sun = (struct sockaddr_un *)&a.sa;

	if (strlen(path) >= sizeof sun->sun_path)
		return ERR_LIMIT;
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path, path, strlen(path) + 1);
	strlcpy(f->target, path, sizeof f->target);
	return start_dial(f, &a, 1);
}

static int
start_host(struct forwarded *f, const char *host, uint16_t port)
{
	struct forwarded_list *l = f->list;
	struct dial_address a;

	snprintf(f->target, sizeof f->target, "%.*s port %u",
	    (int)(sizeof f->target - sizeof " port 65535"), host, port);
	if (resolve_address(host, port, l->p.family, &a))
		return start_dial(f, &a, 1);
	if (l->resolver == NULL &&
	    (l->resolver = resolver_new(l->p.loop)) == NULL)
		return ERR_NOMEM;
	return resolve_start(&f->resolve, l->resolver, host, port,
	    l->p.family, on_resolved, f);
}

static int
start(struct forwarded *f, const struct forwarded_target *target)
{
	int r;

	buf_init_secret(&f->first);
	buf_put(&f->first, target->first.p, target->first.len);
	if ((r = buf_err(&f->first)) != 0)
		return r;
	return target->path != NULL ?
	    start_path(f, target->path) :
	    start_host(f, target->host, target->port);
}

int
forwarded_connect(struct forwarded_list *l, const struct forwarded_kind *kind,
    struct channel *c, const struct forwarded_target *target)
{
	struct forwarded *f = add(l, kind, c, -1);
	int r;

	if (f == NULL)
		return channel_refuse(c, CHANNEL_OPEN_RESOURCE_SHORTAGE, NULL);
	if ((r = start(f, target)) != 0) {
		free_forwarded(f);
		return channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED,
		    err_text(r));
	}
	channel_defer(c, &ops, f);
	return CHANNEL_LATER;
}

int
forwarded_connect_accepted(struct forwarded_list *l,
    const struct forwarded_kind *kind, struct channel *c,
    const struct forwarded_target *target)
{
	struct forwarded *f = add(l, kind, c, -1);
	int r;

	if (f == NULL)
		return ERR_NOMEM;
	f->accepted = true;
	if ((r = start(f, target)) != 0) {
		free_forwarded(f);
		return r;
	}
	channel_set_ops(c, &ops, f);
	return 0;
}

/* ---- with a socket that is there ---------------------------------------- */

static int
open_channel(struct forwarded_list *l, const struct forwarded_kind *kind,
    int fd, const struct buf *extra, struct forwarded **out)
{
	struct forwarded *f = add(l, kind, NULL, fd);
	int r;

	if (f == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	r = channel_open(&f->channel, l->p.channels, kind->type, extra, &ops,
	    f, kind->window, kind->max_packet);
	if (r != 0) {
		free_forwarded(f);
		return r;
	}
	*out = f;
	return 0;
}

int
forwarded_open(struct forwarded_list *l, const struct forwarded_kind *kind,
    int fd, const struct buf *extra, struct span first, struct channel **out)
{
	struct forwarded *f;
	int r = open_channel(l, kind, fd, extra, &f);

	if (r != 0)
		return r;
	if (first.len == 0)
		early_data_begin(&f->early, l->p.loop, fd, f->channel);
	else
		r = channel_send_data(f->channel, 0, first.p, first.len);
	if (r != 0) {
		channel_leave(f->channel);
		free_forwarded(f);
		return r;
	}
	if (out != NULL)
		*out = f->channel;
	return 0;
}

int
forwarded_open_for(struct forwarded_list *l,
    const struct forwarded_kind *kind, int fd, const struct buf *extra,
    const struct forwarded_waiter *waiter)
{
	struct forwarded *f;
	int r = open_channel(l, kind, fd, extra, &f);

	if (r != 0)
		return r;
	f->waiter = *waiter;
	early_data_begin(&f->early, l->p.loop, fd, f->channel);
	return 0;
}

int
forwarded_take(struct forwarded_list *l, const struct forwarded_kind *kind,
    struct channel *c, int fd)
{
	struct forwarded *f = add(l, kind, c, fd);

	if (f == NULL) {
		fd_close(&fd);
		return ERR_NOMEM;
	}
	if (channel_is_accepted(c))
		channel_set_ops(c, &ops, f);
	else if (channel_accept(c, &ops, f, kind->window, kind->max_packet) !=
	    0)
		log_debug("a confirmation could not be sent");
	tie(f);
	return 0;
}

/* ---- all of them -------------------------------------------------------- */

int
forwarded_list_new(struct forwarded_list **out,
    const struct forwarded_params *params)
{
	struct forwarded_list *l = calloc(1, sizeof *l);

	if (l == NULL)
		return ERR_NOMEM;
	TAILQ_INIT(&l->all);
	l->p = *params;
	*out = l;
	return 0;
}

void
forwarded_list_free(struct forwarded_list *l)
{
	struct forwarded *f;

	if (l == NULL)
		return;
	while ((f = TAILQ_FIRST(&l->all)) != NULL) {
		channel_leave(f->channel);
		free_forwarded(f);
	}
	resolver_free(l->resolver);
	free(l);
}

size_t
forwarded_count(const struct forwarded_list *l)
{
	return l->count;
}
