/* SPDX-License-Identifier: ISC */
#include "base/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "compat/sock.h"

static void
report(const struct listen_spec *spec, enum listen_step step,
    const struct addrinfo *ai)
{
	if (spec->failed != NULL)
		spec->failed(spec->arg, step, ai->ai_addr, ai->ai_addrlen,
		    errno);
}

static int
open_socket(const struct addrinfo *ai, bool mptcp)
{
	int fd = -1;

#ifdef IPPROTO_MPTCP
	if (mptcp)
		fd = sock_open(ai->ai_family, SOCK_STREAM, IPPROTO_MPTCP,
		    SOCK_AT_ONCE);
#else
	(void)mptcp;
#endif
	return fd != -1 ? fd : sock_open(ai->ai_family, SOCK_STREAM,
	    ai->ai_protocol, SOCK_AT_ONCE);
}

static bool
bind_to_device(int fd, const char *device)
{
#ifdef SO_BINDTODEVICE
	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
	    (socklen_t)strlen(device) + 1) == 0;
#else
	(void)fd;
	(void)device;
	errno = ENOPROTOOPT;
	return false;
#endif
}

/* Makes a listening socket: its descriptor, or -1. */
static int
listen_at(const struct listen_spec *spec, const struct addrinfo *ai)
{
	int on = 1;
	int fd = open_socket(ai, spec->mptcp);

	if (fd == -1) {
		report(spec, LISTEN_SOCKET, ai);
		return -1;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ai->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
		    sizeof on);
	if (spec->device != NULL && !bind_to_device(fd, spec->device)) {
		report(spec, LISTEN_DEVICE, ai);
		fd_close(&fd);
	} else if (bind(fd, ai->ai_addr, ai->ai_addrlen) == -1) {
		report(spec, LISTEN_BIND, ai);
		fd_close(&fd);
	} else if (!spec->bind_only && listen(fd, SOMAXCONN) == -1) {
		report(spec, LISTEN_LISTEN, ai);
		fd_close(&fd);
	}
	return fd;
}

int
listen_open(struct listen_set *set, const struct listen_spec *spec,
    const char **why)
{
	const struct addrinfo hints = { .ai_family = spec->family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	int fd, r = getaddrinfo(spec->host, spec->port, &hints, &list);

	*why = NULL;
	if (r != 0) {
		*why = gai_strerror(r);
		return ERR_NOT_FOUND;
	}
	for (struct addrinfo *ai = list; r == 0 && ai != NULL;
	    ai = ai->ai_next) {
		if (set->n >= LISTEN_MAX)
			r = ERR_LIMIT;
		else if ((fd = listen_at(spec, ai)) != -1)
			set->fd[set->n++] = fd;
	}
	freeaddrinfo(list);
	return r;
}

uint16_t
listen_port(const struct listen_set *set)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;

	if (set->n == 0 ||
	    getsockname(set->fd[0], (struct sockaddr *)&ss, &len) == -1)
		return 0;
	if (ss.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&ss)->sin6_port);
	if (ss.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&ss)->sin_port);
	return 0;
}

static void
remove_socket(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
}

int
listen_open_path(struct listen_set *set, const char *path, mode_t mask,
    bool replace)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	mode_t old;
	int fd, r;

	if (set->n >= LISTEN_MAX || strlen(path) >= sizeof sun.sun_path)
		return ERR_LIMIT;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE);
	if (fd == -1)
		return ERR_SYSTEM;
	if (replace)
		remove_socket(path);
	old = umask(mask);
	r = bind(fd, (const struct sockaddr *)&sun, sizeof sun);
	(void)umask(old);
	if (r == 0 && listen(fd, SOMAXCONN) == -1) {
		r = -1;
		remove_socket(path);
	}
	if (r == -1) {
		fd_close(&fd);
		return ERR_SYSTEM;
	}
	set->fd[set->n++] = fd;
	return 0;
}

void
listen_close(struct listen_set *set)
{
	while (set->n > 0)
		fd_close(&set->fd[--set->n]);
}
