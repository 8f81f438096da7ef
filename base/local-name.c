/* SPDX-License-Identifier: ISC */
#include "base/local-name.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "compat/sock.h"

/* Is the address one of this host's? Yes if it can be bound here. A peer's
 * socket alone proves nothing: users can give sockets any address, in a network
 * namespace of their own or by IP_FREEBIND. */
static bool
is_of_this_host(const struct sockaddr_storage *ss, socklen_t len)
{
	struct sockaddr_storage any_port = *ss;
	int fd = sock_open(ss->ss_family, SOCK_DGRAM, 0, SOCK_WAITS);
	bool is;

	if (ss->ss_family == AF_INET)
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	is = fd != -1 && bind(fd, (struct sockaddr *)&any_port, len) == 0;
	if (fd != -1)
		close(fd);
	return is;
}

static bool
is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

static bool
name_of_address(int fd, char *name, size_t size)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	memset(&ss, 0, sizeof ss);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1 ||
	    (ss.ss_family != AF_INET && ss.ss_family != AF_INET6) ||
	    !is_connected(fd) || !is_of_this_host(&ss, len))
		return false;
	return getnameinfo((struct sockaddr *)&ss, len, name,
		   (socklen_t)size, NULL, 0, NI_NAMEREQD) == 0;
}

char *
local_name(int fd)
{
	char name[NI_MAXHOST] = "";

	if (!name_of_address(fd, name, sizeof name) &&
	    gethostname(name, sizeof name - 1) == -1)
		return NULL;
	return *name != '\0' ? strdup(name) : NULL;
}

bool
local_name_is(const char *name, const char *sent)
{
	size_t len = strlen(name);

	return strlen(sent) == len + 1 && sent[len] == '.' &&
	    str_is_span_nocase(name, sent, len);
}
