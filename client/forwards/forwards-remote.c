/* SPDX-License-Identifier: ISC */
/*
 * Forwards that the server listens on (-R): the requests for them and to cancel
 * them (RFC 4254 section 7.1; OpenSSH's PROTOCOL file for paths), and the
 * channels that the server opens for them. It may open a channel only for a
 * port or path that it was asked to listen on and has confirmed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/forwards/forwards-internal.h"

enum { ADDRESS_MAX = 1025, TEXT_MAX = 256 };

struct forwards_remote {
	TAILQ_ENTRY(forwards_remote) entry;
	struct forwards *f;
	struct forward_spec spec;
	/* The server has confirmed it; or its answer will not reach us, because
	 * the connection is a master's. */
	bool stands;
	bool cancelled; /* cancelled before the server answered, or failed */
	uint16_t port;	/* port that the server listens on; 0: not known yet */
	struct forwards_waiter *waiters;
};

/* ---- what is sent ------------------------------------------------------- */

/* The address in requests. The server repeats it when it opens a channel. */
static const char *
address(const struct forwards_remote *m)
{
	return m->spec.listen.host != NULL ? m->spec.listen.host :
					     "localhost";
}

static int
send_request(struct forwards_remote *m, const char *tcp, const char *path,
    channels_reply_fn done)
{
	const struct forward_endpoint *e = &m->spec.listen;
	struct buf b = { 0 };
	int r;

	if (e->path != NULL) {
		buf_put_cstring(&b, e->path);
	} else {
		buf_put_cstring(&b, address(m));
		buf_put_u32(&b, m->port);
	}
	if ((r = buf_err(&b)) == 0)
		r = channels_global_request(m->f->p.channels,
		    e->path != NULL ? path : tcp, &b, done, m);
	buf_clear(&b);
	return r;
}

static void
send_cancel(struct forwards_remote *m)
{
	if (send_request(m, "cancel-tcpip-forward",
		"cancel-streamlocal-forward@openssh.com", NULL) != 0)
		log_debug("a forward could not be cancelled");
}

/* ---- life of one -------------------------------------------------------- */

static void
remove_remote(struct forwards_remote *m)
{
	TAILQ_REMOVE(&m->f->remotes, m, entry);
	forward_spec_clear(&m->spec);
	free(m);
}

static void
tell_failure(struct forwards_remote *m)
{
	const struct forward_endpoint *e = &m->spec.listen;
	struct forwards_waiter *waiters = m->waiters;
	char text[TEXT_MAX];

	if (e->path != NULL)
		snprintf(text, sizeof text,
		    "remote port forwarding failed for listen path %s",
		    e->path);
	else
		snprintf(text, sizeof text,
		    "remote port forwarding failed for listen port %u",
		    e->port);
	m->waiters = NULL;
	forwards_tell(waiters, text, 0);
}

static uint16_t
allocated(const struct forwards_remote *m)
{
	return m->spec.listen.path == NULL && m->spec.listen.port == 0 ?
	    m->port : 0;
}

/* Logs the port that the server has picked, in a line that programs read. */
static void
report_port(const struct forwards_remote *m)
{
	const struct forward_endpoint *e = &m->spec.target;

	if (m->spec.target_is_socks)
		log_info("Allocated port %u for remote forward to socks:0",
		    m->port);
	else if (e->path != NULL)
		log_info("Allocated port %u for remote forward to %s:-2",
		    m->port, e->path);
	else
		log_info("Allocated port %u for remote forward to %s:%u",
		    m->port, e->host, e->port);
}

/* Notes the port that the server has picked, from its reply. */
static bool
take_port(struct forwards_remote *m, struct rd *data)
{
	uint32_t port = rd_u32(data);

	if (rd_err(data) != 0 || port == 0 || port > UINT16_MAX)
		return false;
	m->port = (uint16_t)port;
	report_port(m);
	return true;
}

/* Logs that the server listens, in a line that programs read. */
static void
tell_stands(const struct forwards_remote *m)
{
	const struct forward_endpoint *e = &m->spec.listen;
	char *target = forwards_target(&m->spec);

	if (e->path != NULL)
		log_debug("remote forward success for: listen %s, connect %s",
		    e->path, target);
	else
		log_debug("remote forward success for: listen %s%s%u, connect "
			  "%s",
		    e->host != NULL ? e->host : "", e->host != NULL ? ":" : "",
		    m->port, target);
	free(target);
}

static void
on_reply(void *arg, bool ok, struct rd data)
{
	struct forwards_remote *m = arg;
	struct forwards_waiter *waiters = m->waiters;

	if (ok && m->spec.listen.path == NULL && m->port == 0)
		ok = take_port(m, &data);
	if (ok && m->cancelled)
		send_cancel(m);
	if (!ok || m->cancelled) {
		m->cancelled = true;
		tell_failure(m);
		remove_remote(m);
		return;
	}
	tell_stands(m);
	m->stands = true;
	m->waiters = NULL;
	forwards_tell(waiters, NULL, allocated(m));
}

/* ---- adding and cancelling ---------------------------------------------- */

/* True if the server listens at this endpoint for the forward; the port may be
 * the one that the server picked. */
static bool
listens(const struct forwards_remote *m, const struct forward_endpoint *listen)
{
	struct forward_spec there = m->spec;

	there.listen.port = m->port;
	return forwards_listens(&m->spec, listen) ||
	    forwards_listens(&there, listen);
}

static struct forwards_remote *
find(const struct forwards *f, const struct forward_endpoint *listen,
    const struct forward_spec *spec)
{
	struct forwards_remote *m;

	TAILQ_FOREACH(m, &f->remotes, entry)
		if (!m->cancelled &&
		    (spec != NULL ? forward_spec_equals(&m->spec, spec) :
				    listens(m, listen)))
			return m;
	return NULL;
}

/* Whether the server may be asked for the forward. False: the user was told why
 * not. */
static bool
may_ask(const struct forwards *f, const struct forward_spec *spec)
{
	if (!f->p.proxied)
		return true;
	if (spec->listen.path != NULL)
		log_error("Paths that the server listens on are not possible "
			  "through a master's proxy.");
	else if (f->p.conf->forward.exit_on_failure)
		log_error("ExitOnForwardFailure is set, and whether the server "
			  "listens is not known through a master's proxy.");
	else
		return true;
	return false;
}

static void
ask(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg)
{
	struct forwards_remote *m = xcalloc(1, sizeof *m);

	if (forward_spec_copy(&m->spec, spec) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	m->f = f;
	m->port = spec->listen.port;
	/* OpenSSH's master does not pass the answer on to us. */
	m->stands = f->p.proxied && m->port != 0;
	TAILQ_INSERT_HEAD(&f->remotes, m, entry);
	forwards_wait(&m->waiters, done, arg);
	forwards_tell_wanted(f, spec, true);
	if (!may_ask(f, spec) ||
	    send_request(m, "tcpip-forward", "streamlocal-forward@openssh.com",
		on_reply) != 0) {
		/* m stays in the list, because the request may have been
		 * queued; then its answer refers to m. */
		m->cancelled = true;
		tell_failure(m);
	}
}

void
forwards_add_remote(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg)
{
	struct forwards_remote *m = find(f, NULL, spec);

	if (m == NULL)
		ask(f, spec, done, arg);
	else if (!m->stands)
		forwards_wait(&m->waiters, done, arg);
	else if (done != NULL)
		done(arg, NULL, allocated(m));
}

bool
forwards_has_remote(const struct forwards *f, const struct forward_spec *spec)
{
	return find(f, NULL, spec) != NULL;
}

bool
forwards_cancel_remote(struct forwards *f,
    const struct forward_endpoint *listen, const struct forward_spec *spec)
{
	struct forwards_remote *m;
	bool found = false;

	if (f->p.proxied && find(f, listen, spec) != NULL) {
		log_info("What the server listens on cannot be cancelled "
			 "through a master's proxy.");
		return false;
	}
	while ((m = find(f, listen, spec)) != NULL) {
		found = true;
		if (m->stands) {
			send_cancel(m);
			remove_remote(m);
		} else {
			m->cancelled = true;
		}
	}
	return found;
}

void
forwards_free_remotes(struct forwards *f)
{
	struct forwards_remote *m;

	while ((m = TAILQ_FIRST(&f->remotes)) != NULL) {
		forwards_forget(m->waiters);
		remove_remote(m);
	}
}

/* ---- channels that the server opens ------------------------------------- */

static int
connect_target(struct forwards_remote *m, const struct forwarded_kind *kind,
    struct channel *c)
{
	const struct forward_endpoint *e = &m->spec.target;
	const struct forwarded_target target = { .host = e->host,
		.port = e->port, .path = e->path };

	if (m->spec.target_is_socks)
		return forwards_decide_channel(m->f, c);
	return forwarded_connect(m->f->list, kind, c, &target);
}

int
forwards_opened_tcp(struct forwards *f, struct channel *c, struct rd *data)
{
	char *host = rd_cstring(data, ADDRESS_MAX);
	uint32_t port = rd_u32(data);
	struct span from = rd_string(data);
	struct forwards_remote *m;
	int r;

	(void)from;
	(void)rd_u32(data);
	if ((r = rd_end(data)) != 0) {
		free(host);
		return r;
	}
	TAILQ_FOREACH(m, &f->remotes, entry)
		if (m->stands && m->spec.listen.path == NULL &&
		    m->port == port && strcmp(address(m), host) == 0)
			break;
	free(host);
	if (m != NULL)
		return connect_target(m, &forwarded_listened_tcp, c);
	forwards_warn(f, "WARNING: Server requests forwarding for unknown "
			 "listen_port %u", port);
	return CHANNEL_FAILURE;
}

int
forwards_opened_path(struct forwards *f, struct channel *c, struct rd *data)
{
	char *path = rd_cstring(data, ADDRESS_MAX), escaped[TEXT_MAX];
	struct span reserved = rd_string(data);
	struct forwards_remote *m;
	int r;

	(void)reserved;
	if ((r = rd_end(data)) != 0) {
		free(path);
		return r;
	}
	TAILQ_FOREACH(m, &f->remotes, entry)
		if (m->stands && m->spec.listen.path != NULL &&
		    strcmp(m->spec.listen.path, path) == 0)
			break;
	str_escape(escaped, sizeof escaped, path);
	free(path);
	if (m != NULL)
		return connect_target(m, &forwarded_listened_path, c);
	forwards_warn(f, "WARNING: Server requests forwarding for unknown "
			 "path %s", escaped);
	return CHANNEL_FAILURE;
}
