/* SPDX-License-Identifier: ISC */
/* What sshd -T and -G show: the values, and the numeric addresses that the
 * server listens on, each with its port. */
#include "conf/server-conf.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int
add_address(struct strlist *out, const char *host, const char *port)
{
	char text[NI_MAXHOST + NI_MAXSERV + 4];
	bool ipv6 = strchr(host, ':') != NULL;

	snprintf(text, sizeof text, "%s%s%s:%s", ipv6 ? "[" : "", host,
	    ipv6 ? "]" : "", port);
	return strlist_add(out, text);
}

/* Adds the addresses of one ListenAddress. A name that cannot be resolved now
 * is added as it was written. */
static int
add_listen(struct strlist *out, const struct server_listen *listen,
    int family)
{
	struct addrinfo hints = { .ai_family = family,
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	char host[NI_MAXHOST], port[NI_MAXSERV];
	int r = 0;

	if (getaddrinfo(listen->host[0] != '\0' ? listen->host : NULL,
		listen->port, &hints, &list) != 0)
		return add_address(out, listen->host, listen->port);
	for (struct addrinfo *i = list; r == 0 && i != NULL; i = i->ai_next)
		if (getnameinfo(i->ai_addr, i->ai_addrlen, host, sizeof host,
			port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) ==
		    0)
			r = add_address(out, host, port);
	freeaddrinfo(list);
	return r;
}

int
server_conf_dump(const struct server_conf *c, struct buf *out)
{
	struct server_conf shown = *c;
	struct server_listen listen;
	struct strlist addresses = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && server_conf_listen(c, i, &listen); i++)
		r = add_listen(&addresses, &listen, c->listen.address_family);
	shown.listen.listen_address = addresses;
	if (r == 0)
		r = conf_dump(&server_conf_table, &shown, out);
	strlist_clear(&addresses);
	return r;
}
