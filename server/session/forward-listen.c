/* SPDX-License-Identifier: ISC */
#include "server/session/forward-listen.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/mem.h"
#include "base/resolve.h"
#include "compat/queue.h"
#include "forward/forwarded.h"
#include "forward/listeners.h"
#include "server/session/forward-bind.h"
#include "server/session/forward-fields.h"

enum {
	/* Forwards of one connection. Each takes a port of the host, and two
	 * descriptors, one for each family of addresses. */
	LISTENS_MAX = 256,
	/* Connections to one forward that the client has not accepted or
	 * refused yet. Further ones wait in the system's queue, so that many
	 * connections to one port do not take all channels. */
	UNANSWERED_MAX = 64,
	ADDRESSES_MAX = 16, /* addresses of one name that are used */
};

/* One address or path that is listened on for the client. It is freed when it
 * is cancelled and the client has answered the open of each of its channels. */
struct forward_listen {
	TAILQ_ENTRY(forward_listen) entry;
	struct forward_listens *all;
	struct listener *listener; /* NULL: not yet, or cancelled */
	char *address;		   /* as the client asked for it; or a path */
	bool is_path;
	bool cancelled;
	/* The port that is listened on, also if the client left the choice to
	 * us. 0: not known yet. */
	uint16_t port;
	bool any_port; /* the client left the choice of the port to us */
	size_t unanswered;
	/* The look-up of the address's name, and the reply that is sent after
	 * it. */
	struct resolve *resolve;
	struct channels_owed *owed;
};

struct forward_listens {
	struct loop *loop;
	const struct service_owners *owners;
	struct resolver *resolver; /* NULL: no name was looked up yet */
	TAILQ_HEAD(forward_listen_list, forward_listen) list;
	size_t count;
};

/* ---- life --------------------------------------------------------------- */

static struct forward_listen *
add(struct forward_listens *ls, const char *address, bool is_path)
{
	struct forward_listen *l = xcalloc(1, sizeof *l);

	l->all = ls;
	l->address = xstrdup(address);
	l->is_path = is_path;
	TAILQ_INSERT_HEAD(&ls->list, l, entry);
	ls->count++;
	return l;
}

static void
drop(struct forward_listen *l)
{
	TAILQ_REMOVE(&l->all->list, l, entry);
	l->all->count--;
	resolve_cancel(l->resolve);
	listener_free(l->listener);
	free(l->address);
	free(l);
}

static void
cancel(struct forward_listen *l)
{
	listener_free(l->listener);
	l->listener = NULL;
	l->cancelled = true;
	if (l->unanswered == 0)
		drop(l);
}

/* The forward of this address and port, or path, that was not cancelled; NULL:
 * there is none. */
static struct forward_listen *
find(const struct forward_listens *ls, const char *address, bool is_path,
    uint16_t port)
{
	struct forward_listen *l;

	TAILQ_FOREACH(l, &ls->list, entry)
		if (!l->cancelled && l->is_path == is_path &&
		    l->port == port && strcmp(l->address, address) == 0)
			return l;
	return NULL;
}

struct forward_listens *
forward_listens_new(struct loop *l, const struct service_owners *o)
{
	struct forward_listens *ls = xcalloc(1, sizeof *ls);

	TAILQ_INIT(&ls->list);
	ls->loop = l;
	ls->owners = o;
	return ls;
}

void
forward_listens_free(struct forward_listens *ls)
{
	if (ls == NULL)
		return;
	while (!TAILQ_EMPTY(&ls->list))
		drop(TAILQ_FIRST(&ls->list));
	resolver_free(ls->resolver);
	free(ls);
}

/* ---- connections that arrive -------------------------------------------- */

static void
on_answered(void *arg)
{
	struct forward_listen *l = arg;

	l->unanswered--;
	if (l->cancelled && l->unanswered == 0)
		drop(l);
	else if (l->listener != NULL)
		listener_pause(l->listener, false);
}

static void
on_accepted(void *arg, int fd, const struct listener_peer *peer)
{
	struct forward_listen *l = arg;
	const struct forwarded_waiter waiter = { on_answered, l };
	struct buf extra = { 0 };
	int r;

	buf_put_cstring(&extra, l->address);
	if (l->is_path) {
		buf_put_cstring(&extra, ""); /* reserved */
	} else {
		buf_put_u32(&extra, l->port);
		forwarded_put_originator(&extra, peer->address, peer->port);
	}
	r = forwarded_open_for(l->all->owners->forwarded,
	    l->is_path ? &forwarded_listened_path : &forwarded_listened_tcp,
	    fd, &extra, &waiter);
	buf_clear(&extra);
	if (r != 0) {
		log_verbose("a connection to %s port %u is not forwarded: %s",
		    l->address, l->port, err_text(r));
		return;
	}
	l->unanswered++;
	if (l->unanswered >= UNANSWERED_MAX)
		listener_pause(l->listener, true);
}

/* ---- beginning to listen ------------------------------------------------ */

static int
open_listener(struct forward_listen *l, const char *const *hosts, size_t n,
    uint16_t port)
{
	const struct server_conf *conf = l->all->owners->params->conf;
	const struct listener_params params = {
		.loop = l->all->loop,
		.hosts = hosts,
		.host_count = n,
		.port = port,
		.family = conf->listen.address_family,
		.path = l->is_path ? l->address : NULL,
		.mask = (mode_t)conf->forward.bind_mask,
		.replace = conf->forward.bind_unlink,
		.arg = l,
		.accepted = on_accepted,
	};
	int r = listener_new(&l->listener, &params);

	if (r == 0 && !l->is_path)
		l->port = listener_port(l->listener);
	for (size_t i = 0; r == 0 && i < n; i++)
		log_debug("Local forwarding listening on %s port %u.",
		    hosts[i] != NULL ? hosts[i] : "*", l->port);
	return r;
}

/* Puts the port into the reply if the client left the choice to us. */
static void
put_port(const struct forward_listen *l, struct buf *reply)
{
	if (l->any_port)
		buf_put_u32(reply, l->port);
}

static void
answer_later(struct forward_listen *l, bool ok)
{
	struct channels_owed *owed = l->owed;
	struct channels *chs = l->all->owners->channels;
	struct buf data = { 0 };
	int r;

	l->owed = NULL;
	put_port(l, &data);
	if ((r = channels_give_owed(chs, owed, ok, &data)) != 0)
		log_debug("a reply could not be sent: %s", err_text(r));
	buf_clear(&data);
	if (!ok)
		drop(l);
}

static size_t
name_addresses(const struct dial_address *v, size_t n,
    char texts[ADDRESSES_MAX][NI_MAXHOST], const char *hosts[ADDRESSES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < n && count < ADDRESSES_MAX; i++) {
		if (getnameinfo((const struct sockaddr *)&v[i].sa, v[i].len,
			texts[count], NI_MAXHOST, NULL, 0,
			NI_NUMERICHOST) != 0)
			continue;
		hosts[count] = texts[count];
		count++;
	}
	return count;
}

static void
on_resolved(void *arg, const struct dial_address *v, size_t n,
    const char *why)
{
	struct forward_listen *l = arg;
	char texts[ADDRESSES_MAX][NI_MAXHOST];
	const char *hosts[ADDRESSES_MAX];
	uint16_t port = l->any_port ? 0 : l->port;
	size_t count = name_addresses(v, n, texts, hosts);

	l->resolve = NULL;
	if (count == 0)
		log_error("cannot listen on %s: unknown host (%s)", l->address,
		    why != NULL ? why : "no address");
	answer_later(l, count > 0 && open_listener(l, hosts, count, port) ==
	    0);
}

static int
look_up(struct forward_listen *l, const char *name, uint16_t port)
{
	struct forward_listens *ls = l->all;
	int r;

	if (ls->resolver == NULL &&
	    (ls->resolver = resolver_new(ls->loop)) == NULL)
		return ERR_NOMEM;
	l->port = port;
	r = resolve_start(&l->resolve, ls->resolver, name, port,
	    ls->owners->params->conf->listen.address_family, on_resolved, l);
	return r != 0 ? r : channels_owe(ls->owners->channels, &l->owed);
}

static void
tell_overridden(const struct service_owners *o, const char *address)
{
	char *text;

	xasprintf(&text, "Forwarding listen address \"%s\" overridden by "
			 "server GatewayPorts",
	    address);
	forward_tell(o->packet, text);
	free(text);
}

/* Begins to listen on a port. Returns an enum channel_answer: CHANNEL_LATER if
 * a name has to be looked up first. l is freed after a failure. */
static int
begin_tcp(struct forward_listen *l, uint16_t port, struct buf *reply)
{
	const struct service_owners *o = l->all->owners;
	const struct server_conf *conf = o->params->conf;
	struct forward_bind b = forward_bind(conf->forward.gateway_ports,
	    conf->listen.address_family, l->address);
	int r;

	l->any_port = port == 0;
	if (b.overridden)
		tell_overridden(o, l->address);
	r = b.n == 0 ? look_up(l, b.name, port) :
		       open_listener(l, b.hosts, b.n, port);
	if (r != 0) {
		drop(l);
		return CHANNEL_FAILURE;
	}
	if (b.n == 0)
		return CHANNEL_LATER;
	put_port(l, reply);
	return CHANNEL_SUCCESS;
}

/* ---- requests ----------------------------------------------------------- */

/* Whether one more forward is possible: there are not too many, and this
 * address or path is not listened on already. */
static bool
has_room(const struct forward_listens *ls, const char *address, bool is_path,
    uint16_t port)
{
	if (ls->count >= LISTENS_MAX) {
		log_info("no more than %d places to listen on", LISTENS_MAX);
		return false;
	}
	if ((is_path || port != 0) &&
	    find(ls, address, is_path, port) != NULL) {
		log_verbose("%s port %u is listened on already", address, port);
		return false;
	}
	return true;
}

static bool
may_listen_tcp(const struct service_owners *o, const char *address,
    uint32_t port)
{
	const struct permits *p = o->params->permits;

	if (address == NULL || port > UINT16_MAX ||
	    (port == 0 && !channels_reply_wanted(o->channels)))
		return false;
	if (permits_may_listen(p, address, (uint16_t)port))
		return true;
	log_info("Received request from %s port %u to remote forward to host "
		 "%s port %u, but the request was denied.",
	    o->params->peer->address, o->params->peer->port, address, port);
	forward_tell(o->packet, (p->forward & PERMITS_LISTEN_TCP) == 0 ?
		"Server has disabled port forwarding." :
		"port forwarding refused");
	return false;
}

int
forward_listen_tcp(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	char *address = forward_read_text(data, FORWARD_HOST_MAX);
	uint32_t port = rd_u32(data);
	int r = rd_end(data);

	if (r == 0 && may_listen_tcp(o, address, port) &&
	    has_room(o->listens, address, false, (uint16_t)port))
		r = begin_tcp(add(o->listens, address, false), (uint16_t)port,
		    reply);
	free(address);
	return r;
}

static bool
may_listen_path(const struct service_owners *o, const char *path)
{
	if (path == NULL || path[0] == '\0')
		return false;
	if (permits_may_listen_path(o->params->permits))
		return true;
	log_info("Received request from %s port %u to remote forward to path "
		 "%s, but the request was denied.",
	    o->params->peer->address, o->params->peer->port, path);
	forward_tell(o->packet, "Server has disabled streamlocal forwarding.");
	return false;
}

static int
begin_path(struct forward_listen *l)
{
	if (open_listener(l, NULL, 0, 0) == 0)
		return CHANNEL_SUCCESS;
	drop(l);
	return CHANNEL_FAILURE;
}

int
forward_listen_path(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	char *path = forward_read_text(data, FORWARD_PATH_MAX);
	int r = rd_end(data);

	(void)reply;
	if (r == 0 && may_listen_path(o, path) &&
	    has_room(o->listens, path, true, 0))
		r = begin_path(add(o->listens, path, true));
	free(path);
	return r;
}

/* Cancels a forward. Permits need not be asked: a client that may not listen
 * has no forward to cancel. */
static int
cancel_forward(struct forward_listens *ls, const char *address, bool is_path,
    uint32_t port)
{
	struct forward_listen *l = NULL;

	if (address != NULL && port <= UINT16_MAX)
		l = find(ls, address, is_path, (uint16_t)port);
	if (l == NULL || l->listener == NULL)
		return CHANNEL_FAILURE;
	cancel(l);
	return CHANNEL_SUCCESS;
}

int
forward_cancel_tcp(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	char *address = forward_read_text(data, FORWARD_HOST_MAX);
	uint32_t port = rd_u32(data);
	int r = rd_end(data);

	(void)reply;
	if (r == 0)
		r = cancel_forward(o->listens, address, false, port);
	free(address);
	return r;
}

int
forward_cancel_path(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	char *path = forward_read_text(data, FORWARD_PATH_MAX);
	int r = rd_end(data);

	(void)reply;
	if (r == 0)
		r = cancel_forward(o->listens, path, true, 0);
	free(path);
	return r;
}
