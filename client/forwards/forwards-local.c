/* SPDX-License-Identifier: ISC */
/*
 * Forwards that listen on this host (-L, -D): the addresses that they listen on
 * (GatewayPorts), the channels for connections to them, and a limit on channels
 * that the server has yet to answer.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "channels-timeout.h"
#include "client/forwards/forwards-internal.h"
#include "forward/early-data.h"

struct forwards_local {
	TAILQ_ENTRY(forwards_local) entry;
	struct forwards *f;
	struct forward_spec spec;
	/* While the bind address is looked up; else NULL. */
	struct resolve *resolve;
	struct listener *listener; /* NULL: it does not listen yet */
	struct forwards_waiter *waiters;
};

/* ---- channels for connections ------------------------------------------- */

enum { REPLY_MAX = 64 }; /* bytes of an answer of SOCKS */

struct forwards_opening {
	TAILQ_ENTRY(forwards_opening) entry;
	struct forwards *f;
	struct channel *channel;
	const struct forwarded_kind *kind;
	int fd;
	struct early_data early;
	uint8_t reply[REPLY_MAX];
	size_t reply_len;
};

static void
pause_all(struct forwards *f, bool pause)
{
	struct forwards_local *l;

	TAILQ_FOREACH(l, &f->locals, entry)
		if (l->listener != NULL)
			listener_pause(l->listener, pause);
}

static struct forwards_opening *
add_opening(struct forwards *f, int fd)
{
	struct forwards_opening *o = xcalloc(1, sizeof *o);

	o->f = f;
	o->fd = fd;
	TAILQ_INSERT_HEAD(&f->openings, o, entry);
	if (++f->unanswered == FORWARDS_UNANSWERED_MAX)
		pause_all(f, true);
	return o;
}

/* Frees an opening, when its channel was answered or has gone. A pause of the
 * listeners ends. */
static void
free_opening(struct forwards_opening *o)
{
	struct forwards *f = o->f;

	TAILQ_REMOVE(&f->openings, o, entry);
	if (f->unanswered-- == FORWARDS_UNANSWERED_MAX)
		pause_all(f, false);
	early_data_end(&o->early);
	fd_close(&o->fd);
	free(o);
}

static void
on_opened(void *arg, struct channel *c)
{
	struct forwards_opening *o = arg;
	struct forwards *f = o->f;
	int fd = o->fd;

	early_data_end(&o->early);
	if (o->reply_len > 0) /* the connection told its target by SOCKS */
		channel_set_kind(c, "dynamic-tcpip");
	/* Nothing was written to the socket yet, so this short text fits into
	 * its buffer. */
	if (o->reply_len > 0 && fd_write(fd, o->reply, o->reply_len) !=
	    (ssize_t)o->reply_len) {
		channel_leave(c);
	} else {
		o->fd = -1; /* forwarded_take() owns fd, also on an error */
		if (forwarded_take(f->list, o->kind, c, fd) != 0)
			channel_leave(c);
	}
	free_opening(o);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	struct forwards_opening *o = arg;

	forwards_warn(o->f, "channel %u: open failed: %s%s%s", channel_id(c),
	    forwarded_reason(reason), *text != '\0' ? ": " : "", text);
	free_opening(o);
}

static void
on_closed(void *arg, struct channel *c)
{
	(void)c;
	free_opening(arg);
}

static const struct channel_ops opening_ops = {
	.opened = on_opened,
	.refused = on_refused,
	.closed = on_closed,
};

/* Names the channel as users see it in the list of ~#. */
static void
set_name(const struct forwards_opening *o,
    const struct forwarded_target *target, const struct forwards_accepted *a)
{
	struct buf b = { 0 };
	char *name;

	buf_printf(&b, "%s: listening port %u for ", o->kind->type, a->port);
	if (target->path != NULL)
		buf_printf(&b, "%s", target->path);
	else
		buf_printf(&b, "%s port %u", target->host, target->port);
	buf_printf(&b, ", connect from %s port %u", a->peer.address,
	    a->peer.port);
	if ((name = buf_dup_string(&b)) != NULL)
		channel_set_name(o->channel, name);
	free(name);
	buf_clear(&b);
}

static int
send_open(struct forwards_opening *o, const struct forwarded_target *target,
    const struct forwards_accepted *a, struct span first)
{
	struct buf extra = { 0 };
	int r;

	if (target->path != NULL) {
		o->kind = &forwarded_direct_path;
		buf_put_cstring(&extra, target->path);
	} else {
		o->kind = &forwarded_direct_tcp;
		buf_put_cstring(&extra, target->host);
		buf_put_u32(&extra, target->port);
	}
	forwarded_put_originator(&extra, a->peer.address, a->peer.port);
	if ((r = buf_err(&extra)) == 0)
		r = channel_open(&o->channel, o->f->p.channels, o->kind->type,
		    &extra, &opening_ops, o, o->kind->window,
		    o->kind->max_packet);
	buf_clear(&extra);
	if (r != 0)
		return r;
	set_name(o, target, a);
	if (first.len == 0) {
		/* A client that speaks SOCKS sends nothing before it has the
		 * reply. */
		if (o->reply_len == 0)
			early_data_begin(&o->early, o->f->p.loop, o->fd,
			    o->channel);
		return 0;
	}
	if ((r = channel_send_data(o->channel, 0, first.p, first.len)) != 0)
		channel_leave(o->channel);
	return r;
}

void
forwards_open(struct forwards *f, const struct forwards_accepted *a,
    const struct forwarded_target *target, struct span reply,
    struct span first)
{
	struct forwards_opening *o = add_opening(f, a->fd);
	int r;

	ENSURE(reply.len <= sizeof o->reply);
	if (reply.len > 0)
		memcpy(o->reply, reply.p, reply.len);
	o->reply_len = reply.len;
	if ((r = send_open(o, target, a, first)) == 0)
		return;
	forwards_warn(f, "A connection to a forwarded port was closed: %s",
	    r == ERR_LIMIT ? "there are too many of them" : err_text(r));
	free_opening(o);
}

static void
on_accepted(void *arg, int fd, const struct listener_peer *peer)
{
	const struct forwards_local *l = arg;
	const struct forward_endpoint *e = &l->spec.target;
	const struct forwarded_target target = { .host = e->host,
		.port = e->port, .path = e->path };
	const struct forwards_accepted a = { fd, l->spec.listen.port, *peer };
	const struct span none = { NULL, 0 };

	log_debug("Connection to port %u forwarding to %s port %u requested.",
	    a.port,
	    l->spec.target_is_socks ? "socks" :
	    e->path != NULL	    ? e->path :
				      e->host, e->port);
	if (l->spec.target_is_socks)
		forwards_decide_fd(l->f, &a);
	else
		forwards_open(l->f, &a, &target, none, none);
}

/* ---- listening ---------------------------------------------------------- */

static void
remove_local(struct forwards_local *l)
{
	TAILQ_REMOVE(&l->f->locals, l, entry);
	resolve_cancel(l->resolve);
	listener_free(l->listener);
	forward_spec_clear(&l->spec);
	free(l);
}

static void
fail(struct forwards_local *l, const char *error)
{
	struct forwards_waiter *waiters = l->waiters;

	remove_local(l);
	forwards_tell(waiters, error, 0);
}

static void
succeed(struct forwards_local *l)
{
	struct forwards_waiter *waiters = l->waiters;

	l->waiters = NULL;
	forwards_tell(waiters, NULL, 0);
}

static void
listen_on(struct forwards_local *l, const char *const *hosts, size_t n)
{
	const struct client_conf *conf = l->f->p.conf;
	const struct listener_params params = {
		.loop = l->f->p.loop,
		.hosts = hosts,
		.host_count = n,
		.port = l->spec.listen.port,
		.family = conf->tcp.address_family,
		.path = l->spec.listen.path,
		.mask = (mode_t)conf->forward.bind_mask,
		.replace = conf->forward.bind_unlink != 0,
		.arg = l,
		.accepted = on_accepted,
	};

	if (listener_new(&l->listener, &params) != 0) {
		l->listener = NULL;
		if (params.path == NULL)
			log_error("channel_setup_fwd_listener_tcpip: cannot "
				  "listen to port: %u",
			    params.port);
		fail(l, "Port forwarding failed.");
		return;
	}
	for (size_t i = 0; i < n; i++)
		log_debug("Local forwarding listening on %s port %u.",
		    hosts[i] != NULL ? hosts[i] : "*", params.port);
	if (params.path != NULL)
		log_debug("Local forwarding listening on path %s.",
		    params.path);
	if (l->f->unanswered >= FORWARDS_UNANSWERED_MAX)
		listener_pause(l->listener, true);
	succeed(l);
}

static void
on_resolved(void *arg, const struct dial_address *v, size_t n,
    const char *why)
{
	char texts[DIAL_ADDRESSES_MAX][NI_MAXHOST];
	const char *hosts[DIAL_ADDRESSES_MAX];
	struct forwards_local *l = arg;
	size_t found = 0;

	l->resolve = NULL;
	for (size_t i = 0; i < n; i++) {
		if (getnameinfo((const struct sockaddr *)&v[i].sa, v[i].len,
			texts[found], sizeof texts[found], NULL, 0,
			NI_NUMERICHOST) != 0)
			continue;
		hosts[found] = texts[found];
		found++;
	}
	if (found > 0) {
		listen_on(l, hosts, found);
		return;
	}
	log_error("%s: %s", l->spec.listen.host,
	    why != NULL ? why : "no address");
	fail(l, "Port forwarding failed.");
}

static void
look_up(struct forwards_local *l)
{
	struct forwards *f = l->f;
	const char *host = l->spec.listen.host;
	int family = f->p.conf->tcp.address_family;
	struct dial_address a;

	if (resolve_address(host, l->spec.listen.port, family, &a)) {
		listen_on(l, &host, 1);
		return;
	}
	if (f->resolver == NULL)
		f->resolver = resolver_new(f->p.loop);
	if (f->resolver == NULL ||
	    resolve_start(&l->resolve, f->resolver, host,
		l->spec.listen.port, family, on_resolved, l) != 0)
		fail(l, "Port forwarding failed.");
}

/* Starts to listen at the addresses that follow from the bind address of the
 * forward, or from GatewayPorts if there is none. */
static void
start(struct forwards_local *l)
{
	static const char *const loopback[] = { "127.0.0.1", "::1" };
	static const char *const any[] = { NULL };
	const struct client_conf *conf = l->f->p.conf;
	const char *host = l->spec.listen.host;
	int family = conf->tcp.address_family;

	if (l->spec.listen.path != NULL)
		listen_on(l, NULL, 0);
	else if (host != NULL ? *host == '\0' : conf->forward.gateway_ports)
		listen_on(l, any, 1);
	else if (host != NULL && strcmp(host, "localhost") != 0)
		look_up(l);
	else if (family == AF_INET6)
		listen_on(l, &loopback[1], 1);
	else
		listen_on(l, loopback, family == AF_INET ? 1 : 2);
}

/* ---- adding and cancelling ---------------------------------------------- */

void
forwards_add_local(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg)
{
	struct forwards_local *l;

	TAILQ_FOREACH(l, &f->locals, entry)
		if (forward_spec_equals(&l->spec, spec))
			break;
	if (l == NULL) {
		l = xcalloc(1, sizeof *l);
		if (forward_spec_copy(&l->spec, spec) != 0)
			fatal("%s", err_text(ERR_NOMEM));
		l->f = f;
		TAILQ_INSERT_HEAD(&f->locals, l, entry);
		forwards_wait(&l->waiters, done, arg);
		forwards_tell_wanted(f, spec, false);
		start(l);
	} else if (l->listener == NULL) {
		forwards_wait(&l->waiters, done, arg);
	} else if (done != NULL) {
		done(arg, NULL, 0);
	}
}

static struct forwards_local *
find(const struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen, const struct forward_spec *spec)
{
	struct forwards_local *l;

	TAILQ_FOREACH(l, &f->locals, entry)
		if (l->spec.kind == kind &&
		    (spec != NULL ? forward_spec_equals(&l->spec, spec) :
				    forwards_listens(&l->spec, listen)))
			return l;
	return NULL;
}

bool
forwards_has_local(const struct forwards *f, const struct forward_spec *spec)
{
	return find(f, spec->kind, NULL, spec) != NULL;
}

bool
forwards_cancel_local(struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen, const struct forward_spec *spec)
{
	struct forwards_local *l;
	bool found = false;

	while ((l = find(f, kind, listen, spec)) != NULL) {
		found = true;
		fail(l, "The forward was cancelled.");
	}
	return found;
}

void
forwards_stop_listening(struct forwards *f)
{
	while (!TAILQ_EMPTY(&f->locals))
		fail(TAILQ_FIRST(&f->locals), "The forward was cancelled.");
}

void
forwards_free_locals(struct forwards *f)
{
	struct forwards_local *l;
	struct forwards_opening *o;

	while ((l = TAILQ_FIRST(&f->locals)) != NULL) {
		forwards_forget(l->waiters);
		remove_local(l);
	}
	while ((o = TAILQ_FIRST(&f->openings)) != NULL) {
		channel_leave(o->channel);
		free_opening(o);
	}
}
