/* SPDX-License-Identifier: ISC */
/* The permits that the configuration gives to a user. */
#include <string.h>

#include "base/log.h"
#include "conf/server-conf.h"
#include "server/permits.h"

/* Adds the words of PermitOpen or PermitListen. They were checked when the
 * configuration was read, so a bad one is fatal. */
static void
set_list(struct permits *p, const struct strlist *words,
    int (*add)(struct permits *p, const char *text),
    void (*nothing)(struct permits *p))
{
	if (words->n == 1 && str_equal_nocase(words->v[0], "any"))
		return;
	if (words->n == 1 && str_equal_nocase(words->v[0], "none")) {
		nothing(p);
		return;
	}
	for (size_t i = 0; i < words->n; i++)
		if (add(p, words->v[i]) != 0)
			fatal("bad endpoint \"%s\"", words->v[i]);
}

static unsigned
kinds(int allowed, unsigned open, unsigned listen)
{
	return ((allowed & SERVER_FORWARD_LOCAL) != 0 ? open : 0) |
	    ((allowed & SERVER_FORWARD_REMOTE) != 0 ? listen : 0);
}

void
permits_init_conf(struct permits *p, const struct server_conf *conf)
{
	permits_init(p);
	p->agent_forwarding = conf->forward.allow_agent;
	p->x11_forwarding = conf->forward.x11;
	p->tunnel_modes = (unsigned)conf->forward.permit_tunnel;
	/* As in OpenSSH, AllowTcpForwarding no also forbids forwarding of Unix
	 * sockets. */
	p->forward = kinds(conf->forward.allow_tcp, PERMITS_OPEN_TCP,
			 PERMITS_LISTEN_TCP) |
	    kinds(conf->forward.allow_tcp & conf->forward.allow_stream_local,
		PERMITS_OPEN_PATH, PERMITS_LISTEN_PATH);
	set_list(p, &conf->forward.permit_open, permits_add_open,
	    permits_open_nothing);
	set_list(p, &conf->forward.permit_listen, permits_add_listen,
	    permits_listen_nothing);
	if (conf->forward.disable) {
		p->agent_forwarding = p->x11_forwarding = false;
		p->forward = p->tunnel_modes = 0;
	}
}
