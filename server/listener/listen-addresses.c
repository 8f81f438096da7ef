/* SPDX-License-Identifier: ISC */
#include "server/listener/listen-addresses.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "server/peer.h"

/* State of one attempt to open all sockets. */
struct opening {
	/* Value of LISTEN_ADDRESSES_HELD: the addresses of an old listener.
	 * NULL: there is none. */
	const char *held;
	/* How many sockets could not be bound only because of the old
	 * listener. */
	size_t held_count;
};

static bool
is_wildcard(const char *address, size_t len)
{
	return (len == 7 && strncmp(address, "0.0.0.0", len) == 0) ||
	    (len == 2 && strncmp(address, "::", len) == 0);
}

/* Whether the old listener uses this address and port. Two addresses of one
 * family also collide if one of them is the wildcard. */
static bool
is_held(const char *held, const char *address, uint16_t port)
{
	bool six = strchr(address, ':') != NULL;
	const char *at = held;

	while (*at != '\0') {
		size_t line = strcspn(at, "\n"), len = strcspn(at, " ");
		bool same = len < line &&
		    strtoul(at + len, NULL, 10) == port &&
		    (memchr(at, ':', len) != NULL) == six &&
		    (is_wildcard(at, len) ||
			is_wildcard(address, strlen(address)) ||
			(strlen(address) == len &&
			    strncmp(at, address, len) == 0));

		if (same)
			return true;
		at += line + (at[line] != '\0');
	}
	return false;
}

static void
log_failure(enum listen_step step, const char *address, uint16_t port,
    int error)
{
	switch (step) {
	case LISTEN_SOCKET: /* not an error: the kernel may have no IPv6 */
		log_verbose("socket for %s: %s", address, strerror(error));
		break;
	case LISTEN_DEVICE:
		log_error("routing domain of port %u on %s: %s", port,
		    address, strerror(error));
		break;
	case LISTEN_BIND:
		log_error("Bind to port %u on %s failed: %s.", port, address,
		    strerror(error));
		break;
	case LISTEN_LISTEN:
		log_error("listen on port %u of %s: %s", port, address,
		    strerror(error));
		break;
	}
}

/* The callback `failed` of struct listen_spec. */
static void
on_failed(void *arg, enum listen_step step, const struct sockaddr *sa,
    socklen_t len, int error)
{
	struct opening *p = arg;
	uint16_t port;
	char *address = peer_format_address(sa, len, &port);

	if (p->held != NULL && step == LISTEN_BIND && error == EADDRINUSE &&
	    is_held(p->held, address, port))
		p->held_count++;
	else
		log_failure(step, address, port, error);
	free(address);
}

static void
open_all(const struct server_conf *conf, struct opening *p,
    struct listen_set *sockets)
{
	struct server_listen at;
	const char *why;

	for (size_t i = 0; server_conf_listen(conf, i, &at); i++) {
		const struct listen_spec spec = {
			.host = at.host[0] != '\0' ? at.host : NULL,
			.port = at.port,
			.family = conf->listen.address_family,
			.mptcp = conf->listen.use_mptcp,
			.device = at.rdomain[0] != '\0' ? at.rdomain : NULL,
			.bind_only = p->held != NULL,
			.arg = p,
			.failed = on_failed,
		};
		int r = listen_open(sockets, &spec, &why);

		if (r == ERR_LIMIT)
			fatal("too many listen addresses");
		if (r != 0)
			fatal("bad addr or host: %s (%s)", at.host, why);
	}
}

void
listen_addresses_open(const struct server_conf *conf,
    struct listen_set *sockets)
{
	struct opening p = { .held = NULL };

	open_all(conf, &p, sockets);
	if (sockets->n == 0)
		fatal("Cannot bind any address.");
}

bool
listen_addresses_possible(const struct server_conf *conf, const char *held)
{
	struct listen_set sockets = { .n = 0 };
	struct opening p = { .held = held };
	bool possible;

	open_all(conf, &p, &sockets);
	possible = sockets.n > 0 || p.held_count > 0;
	listen_close(&sockets);
	if (!possible)
		log_error("Cannot bind any address.");
	return possible;
}

/* The address and port of a listening socket; caller frees. NULL: the system
 * does not say. */
static char *
address_of(int fd, uint16_t *port)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		return NULL;
	return peer_format_address((struct sockaddr *)&ss, len, port);
}

void
listen_addresses_log(const struct listen_set *sockets)
{
	for (size_t i = 0; i < sockets->n; i++) {
		char domain[IFNAMSIZ], *address;
		uint16_t port;

		if ((address = address_of(sockets->fd[i], &port)) == NULL)
			continue;
		peer_rdomain(sockets->fd[i], domain);
		log_debug("Bind to port %u on %s.", port, address);
		log_info("Server listening on %s port %u%s%s.", address, port,
		    domain[0] != '\0' ? " rdomain " : "", domain);
		free(address);
	}
}

char *
listen_addresses_text(const struct listen_set *sockets)
{
	struct buf b = { 0 };
	char *text;

	for (size_t i = 0; i < sockets->n; i++) {
		uint16_t port;
		char *address = address_of(sockets->fd[i], &port);

		if (address != NULL)
			buf_printf(&b, "%s %u\n", address, port);
		free(address);
	}
	if ((text = buf_dup_string(&b)) == NULL)
		fatal("out of memory");
	buf_clear(&b);
	return text;
}
