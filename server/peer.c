/* SPDX-License-Identifier: ISC */
#include "server/peer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* An IPv6 socket shows an IPv4 peer as ::ffff:a.b.c.d. Makes that the address
 * a.b.c.d of IPv4. */
static void
unmap(struct sockaddr_storage *ss, socklen_t *len)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)ss;
	struct sockaddr_in four;

	if (ss->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return;
	memset(&four, 0, sizeof four);
	four.sin_family = AF_INET;
	four.sin_port = six->sin6_port;
	memcpy(&four.sin_addr, &six->sin6_addr.s6_addr[12], 4);
	memset(ss, 0, sizeof *ss);
	memcpy(ss, &four, sizeof four);
	*len = sizeof four;
}

char *
peer_format_address(const struct sockaddr *sa, socklen_t len, uint16_t *port)
{
	char host[NI_MAXHOST], service[NI_MAXSERV];
	struct sockaddr_storage ss;

	*port = PEER_PORT_UNKNOWN;
	memset(&ss, 0, sizeof ss);
	memcpy(&ss, sa, MIN((size_t)len, sizeof ss));
	if (ss.ss_family != AF_INET && ss.ss_family != AF_INET6)
		return xstrdup("UNKNOWN");
	unmap(&ss, &len);
	if (getnameinfo((struct sockaddr *)&ss, len, host, sizeof host,
		service, sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return xstrdup("UNKNOWN");
	*port = (uint16_t)strtoul(service, NULL, 10);
	return xstrdup(host);
}

/* The name of an address by DNS, in lower case. NULL if none of the name's own
 * addresses is this one: anybody can give their address a foreign name. Caller
 * frees. */
static char *
verified_name(const struct sockaddr *sa, socklen_t len, const char *address)
{
	struct addrinfo hints = { .ai_family = sa->sa_family,
		.ai_socktype = SOCK_STREAM }, *list = NULL;
	char name[NI_MAXHOST], back[NI_MAXHOST];
	bool found = false;

	if (getnameinfo(sa, len, name, sizeof name, NULL, 0, NI_NAMEREQD) != 0)
		return NULL;
	if (getaddrinfo(name, NULL, &hints, &list) != 0) {
		log_info("reverse mapping of %s to %s does not resolve",
		    address, name);
		return NULL;
	}
	for (struct addrinfo *ai = list; ai != NULL && !found; ai = ai->ai_next)
		found = getnameinfo(ai->ai_addr, ai->ai_addrlen, back,
			    sizeof back, NULL, 0, NI_NUMERICHOST) == 0 &&
		    strcmp(back, address) == 0;
	freeaddrinfo(list);
	if (!found) {
		log_info("address %s maps to %s, but this does not map back",
		    address, name);
		return NULL;
	}
	for (char *c = name; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return xstrdup(name);
}

void
peer_rdomain(int fd, char name[IFNAMSIZ])
{
	socklen_t len = IFNAMSIZ;

	memset(name, 0, IFNAMSIZ);
#ifdef SO_BINDTODEVICE
	if (getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len) == -1)
		len = 0;
#else
	(void)fd;
	len = 0;
#endif
	name[MIN(len, (socklen_t)IFNAMSIZ - 1)] = '\0';
}

void
peer_init(struct peer *p, int fd, bool use_dns)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	memset(p, 0, sizeof *p);
	memset(&ss, 0, sizeof ss);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		ss.ss_family = AF_UNSPEC;
	p->local_address = peer_format_address((struct sockaddr *)&ss, len,
	    &p->local_port);
	len = sizeof ss;
	if (getpeername(fd, (struct sockaddr *)&ss, &len) == -1)
		ss.ss_family = AF_UNSPEC;
	p->address = peer_format_address((struct sockaddr *)&ss, len, &p->port);
	unmap(&ss, &len);
	if (use_dns && (ss.ss_family == AF_INET || ss.ss_family == AF_INET6))
		p->host = verified_name((struct sockaddr *)&ss, len,
		    p->address);
	if (p->host == NULL)
		p->host = xstrdup(p->address);
	peer_rdomain(fd, p->rdomain);
}

void
peer_clear(struct peer *p)
{
	free(p->address);
	free(p->local_address);
	free(p->host);
	memset(p, 0, sizeof *p);
}
