/* SPDX-License-Identifier: ISC */
#include "forward/listeners.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/sock.h"
#include "forward/forwarded.h"

enum {
	ACCEPTS_MAX = 16, /* connections of one socket in a turn of the loop */
	REST_MS = 250,	  /* pause when descriptors or memory ran out */
};

struct listener {
	struct loop *loop;
	struct listen_set sockets;
	struct loop_fd *watches[LISTEN_MAX];
	/* Accepting goes on when this fires; else NULL. */
	struct loop_timer *rest;
	bool paused;
	/* on_connection() is running: it frees this if dead is set */
	bool busy;
	bool dead; /* listener_free() was called meanwhile */
	void *arg;
	void (*accepted)(void *arg, int fd, const struct listener_peer *peer);
};

/* ---- sockets ------------------------------------------------------------ */

/* Collected while a listener is made: the last error, as text. */
struct trouble {
	char text[256];
	bool in_use; /* another process listens on an address */
};

static void
on_failure(void *arg, enum listen_step step, const struct sockaddr *sa,
    socklen_t len, int error)
{
	static const char *const steps[] = {
		[LISTEN_SOCKET] = "socket",
		[LISTEN_BIND] = "bind",
		[LISTEN_LISTEN] = "listen",
	};
	struct trouble *t = arg;
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	t->in_use = t->in_use || error == EADDRINUSE;
	(void)getnameinfo(sa, len, host, sizeof host, port, sizeof port,
	    NI_NUMERICHOST | NI_NUMERICSERV);
	if (t->text[0] != '\0')
		log_verbose("%s", t->text);
	snprintf(t->text, sizeof t->text, "%s [%.150s]:%s: %s", steps[step],
	    host, port, strerror(error));
}

/* Opens the sockets for one host. With port 0 the families are opened one after
 * the other: the first socket gets any free port, and the others have to use
 * the same. */
static int
open_host(struct listener *l, const struct listener_params *p,
    const char *host, struct trouble *t)
{
	static const int both[] = { AF_INET, AF_INET6 };
	bool split = p->port == 0 && p->family == AF_UNSPEC;
	const char *why = "";
	char port[8];
	int r = ERR_NOT_FOUND, one;

	for (size_t i = 0; i < (split ? ARRAY_LEN(both) : 1); i++) {
		const struct listen_spec spec = { .host = host,
			.port = port,
			.family = split ? both[i] : p->family,
			.arg = t,
			.failed = on_failure };

		snprintf(port, sizeof port, "%u",
		    p->port != 0 ? p->port : listen_port(&l->sockets));
		one = listen_open(&l->sockets, &spec, &why);
		if (one != ERR_NOT_FOUND)
			r = one;
	}
	if (r == ERR_NOT_FOUND && t->text[0] == '\0')
		snprintf(t->text, sizeof t->text,
		    "cannot listen to port: %u: %s", p->port, why);
	return r;
}

static int
open_addresses(struct listener *l, const struct listener_params *p)
{
	struct trouble t = { .text = "" };
	int r = ERR_NOT_FOUND, one;

	for (size_t i = 0; i < p->host_count; i++) {
		one = open_host(l, p, p->hosts[i], &t);
		if (one != ERR_NOT_FOUND)
			r = one;
	}
	if (r == 0 && l->sockets.n == 0)
		r = ERR_SYSTEM;
	if (p->exclusive && t.in_use)
		return ERR_SYSTEM;
	if (t.text[0] != '\0')
		log_msg(r != 0 ? LOG_LVL_ERROR : LOG_LVL_VERBOSE, "%s",
		    t.text);
	return r;
}

static int
open_path(struct listener *l, const struct listener_params *p)
{
	int r = listen_open_path(&l->sockets, p->path, p->mask, p->replace);

	if (r == 0)
		return 0;
	log_error("unix_listener: cannot bind to path %s: %s", p->path,
	    r == ERR_SYSTEM ? strerror(errno) : "the path is too long");
	return r;
}

/* ---- accepting ---------------------------------------------------------- */

static void
update_watches(struct listener *l)
{
	int events = l->paused || l->rest != NULL ? 0 : LOOP_READ;

	for (size_t i = 0; i < l->sockets.n; i++)
		if (l->watches[i] != NULL)
			loop_fd_want(l->watches[i], events);
}

static void
on_rested(void *arg)
{
	struct listener *l = arg;

	l->rest = NULL;
	update_watches(l);
}

/* Stops accepting for a moment: the socket stays readable, so to try again at
 * once would be a busy loop. */
static void
rest(struct listener *l)
{
	log_error("accept: %s", strerror(errno));
	l->rest = loop_after(l->loop, REST_MS, on_rested, l);
	update_watches(l);
}

static void
name_peer(struct listener_peer *peer, const struct sockaddr *sa, socklen_t len)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	*peer = (struct listener_peer){ .port = FORWARDED_NO_PORT };
	strlcpy(peer->address, FORWARDED_NO_ADDRESS, sizeof peer->address);
	if ((sa->sa_family != AF_INET && sa->sa_family != AF_INET6) ||
	    getnameinfo(sa, len, host, sizeof host, port, sizeof port,
		NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	strlcpy(peer->address, host, sizeof peer->address);
	peer->port = (uint16_t)atoi(port);
}

/* Accepts one connection. False: none is waiting, or accepting failed. */
static bool
accept_one(struct listener *l, int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;
	struct listener_peer peer;
	int got = sock_accept(fd, (struct sockaddr *)&ss, &len, SOCK_AT_ONCE);

	if (got == -1) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS)
			rest(l);
		return errno == EINTR || errno == ECONNABORTED;
	}
	name_peer(&peer, (const struct sockaddr *)&ss, len);
	l->accepted(l->arg, got, &peer);
	return true;
}

static void
on_connection(void *arg, int fd, int events)
{
	struct listener *l = arg;

	(void)events;
	l->busy = true;
	for (int i = 0; i < ACCEPTS_MAX && !l->paused && !l->dead; i++)
		if (!accept_one(l, fd))
			break;
	l->busy = false;
	if (l->dead)
		free(l);
}

/* ---- life --------------------------------------------------------------- */

int
listener_new(struct listener **out, const struct listener_params *p)
{
	struct listener *l = calloc(1, sizeof *l);
	int r;

	if (l == NULL)
		return ERR_NOMEM;
	l->loop = p->loop;
	l->arg = p->arg;
	l->accepted = p->accepted;
	r = p->path != NULL ? open_path(l, p) : open_addresses(l, p);
	for (size_t i = 0; r == 0 && i < l->sockets.n; i++) {
		l->watches[i] = loop_watch(l->loop, l->sockets.fd[i],
		    LOOP_READ, on_connection, l);
		if (l->watches[i] == NULL)
			r = ERR_NOMEM;
	}
	if (r != 0) {
		listener_free(l);
		return r;
	}
	*out = l;
	return 0;
}

void
listener_free(struct listener *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->sockets.n; i++)
		loop_unwatch(l->loop, l->watches[i]);
	loop_cancel(l->loop, l->rest);
	listen_close(&l->sockets);
	l->dead = true;
	if (!l->busy)
		free(l);
}

uint16_t
listener_port(const struct listener *l)
{
	return listen_port(&l->sockets);
}

void
listener_pause(struct listener *l, bool paused)
{
	l->paused = paused;
	update_watches(l);
}
