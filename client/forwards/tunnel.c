/* SPDX-License-Identifier: ISC */
#include "client/forwards/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "forward/tun.h"

struct tunnel {
	struct tunnel_params p;
	struct tun *tun; /* NULL: no device was opened */
	bool counted;
};

bool
tunnel_is_wanted(const struct client_conf *conf)
{
	return conf->forward.tunnel != CLIENT_TUNNEL_NO;
}

static void
stop_counting(struct tunnel *t)
{
	bool counted = t->counted;

	t->counted = false;
	if (counted)
		uses_end(t->p.uses, USE_TUNNEL);
}

/* Ends a tunnel that has failed. The user is told in any case. */
static void
fail(struct tunnel *t, const char *what)
{
	log_error("%s", what);
	t->p.done(t->p.arg, t->p.conf->forward.exit_on_failure != 0);
	stop_counting(t);
}

static void
on_answered(void *arg, bool ok)
{
	struct tunnel *t = arg;

	if (ok)
		t->p.done(t->p.arg, false);
	else
		fail(t, "Tunnel forwarding failed");
}

static void
on_ended(void *arg)
{
	stop_counting(arg);
}

/* Opens the interface of this host, and stores its name for the token %T. */
static int
open_device(struct tunnel *t)
{
	struct client_conf *conf = t->p.conf;
	struct tun_device device;
	const struct tun_params params = { .loop = t->p.loop,
		.arg = t,
		.answered = on_answered,
		.ended = on_ended };
	int r = tun_device_open(&device,
	    conf->forward.tunnel == CLIENT_TUNNEL_ETHERNET,
	    conf->forward.tunnel_local == CLIENT_TUNNEL_ANY ?
		TUN_UNIT_ANY : conf->forward.tunnel_local);

	if (r != 0) {
		log_error("Tunnel device open failed: %s",
		    r == ERR_SYSTEM ? strerror(errno) : err_text(r));
		return r;
	}
	if ((r = tun_new(&t->tun, &device, &params)) != 0)
		return r;
	log_debug("the tunnel's interface is %s", tun_name(t->tun));
	free(conf->load.tunnel_name);
	conf->load.tunnel_name = xstrdup(tun_name(t->tun));
	return 0;
}

static int
ask(struct tunnel *t)
{
	const struct client_conf *conf = t->p.conf;
	int r = tun_open(t->tun, t->p.channels,
	    conf->forward.tunnel_remote == CLIENT_TUNNEL_ANY ?
		TUN_UNIT_ANY : conf->forward.tunnel_remote);

	if (r != 0)
		return r;
	t->counted = true;
	uses_begin(t->p.uses, USE_TUNNEL);
	return 0;
}

void
tunnel_new(struct tunnel **out, const struct tunnel_params *params)
{
	struct tunnel *t = xcalloc(1, sizeof *t);

	t->p = *params;
	*out = t;
	if (params->distrusted)
		fail(t, "Tunnel forwarding is disabled to avoid "
			"man-in-the-middle attacks.");
	else if (open_device(t) != 0 || ask(t) != 0)
		fail(t, "Could not request tunnel forwarding.");
}

void
tunnel_free(struct tunnel *t)
{
	if (t == NULL)
		return;
	tun_free(t->tun);
	free(t);
}
