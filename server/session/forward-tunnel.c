/* SPDX-License-Identifier: ISC */
#include "server/session/forward-tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/queue.h"
#include "forward/tun.h"
#include "server/session/forward-fields.h"
#include "server/session/none-allowed.h"

/* Tunnels of one connection. Few, because each is an interface of the whole
 * host. */
enum { TUNNELS_MAX = 16 };

struct forward_tunnel {
	TAILQ_ENTRY(forward_tunnel) entry;
	struct forward_tunnels *all;
	struct tun *tun;
};

struct forward_tunnels {
	struct loop *loop;
	TAILQ_HEAD(forward_tunnel_list, forward_tunnel) list;
	size_t count;
};

struct forward_tunnels *
forward_tunnels_new(struct loop *l)
{
	struct forward_tunnels *ts = xcalloc(1, sizeof *ts);

	TAILQ_INIT(&ts->list);
	ts->loop = l;
	return ts;
}

static void
drop(struct forward_tunnel *t)
{
	TAILQ_REMOVE(&t->all->list, t, entry);
	t->all->count--;
	tun_free(t->tun);
	free(t);
}

void
forward_tunnels_free(struct forward_tunnels *ts)
{
	if (ts == NULL)
		return;
	while (!TAILQ_EMPTY(&ts->list))
		drop(TAILQ_FIRST(&ts->list));
	free(ts);
}

char *
forward_tunnels_names(const struct forward_tunnels *ts)
{
	const struct forward_tunnel *t;
	struct buf b = { 0 };
	char *text = NULL;

	TAILQ_FOREACH(t, &ts->list, entry)
		buf_printf(&b, "%s%s", buf_len(&b) > 0 ? "," : "",
		    tun_name(t->tun));
	if (buf_len(&b) > 0)
		text = buf_dup_string(&b);
	buf_clear(&b);
	return text;
}

static void
on_ended(void *arg)
{
	drop(arg);
}

/* unit_for() returns the unit to open, or NOT_PERMITTED. */
enum { NOT_PERMITTED = -2 };

static int64_t
unit_for(const struct service_owners *o, uint32_t mode, uint32_t asked)
{
	const struct permits *p = o->params->permits;
	int64_t unit = asked == TUN_WIRE_ANY ? PERMITS_TUNNEL_ANY :
					       (int64_t)asked;

	if ((mode != TUN_POINT_TO_POINT && mode != TUN_ETHERNET) ||
	    unit > PERMITS_TUNNEL_MAX ||
	    o->tunnels->count >= TUNNELS_MAX ||
	    !permits_may_tunnel(p, (enum permits_tunnel)mode, unit))
		return NOT_PERMITTED;
	return unit == PERMITS_TUNNEL_ANY ? p->tunnel_unit : unit;
}

static int
refuse(const struct service_owners *o, struct channel *c)
{
	forward_tell(o->packet, "Server has rejected tunnel device forwarding");
	return channel_refuse(c, CHANNEL_OPEN_CONNECT_FAILED, "open failed");
}

static struct forward_tunnel *
open_device(struct forward_tunnels *ts, bool ethernet, int64_t unit)
{
	struct tun_device device;
	struct forward_tunnel *t;
	struct tun_params params = { .loop = ts->loop, .ended = on_ended };
	int r = tun_device_open(&device, ethernet, unit);

	if (r != 0) {
		log_info("cannot open a tunnel's interface: %s",
		    r == ERR_SYSTEM ? strerror(errno) : err_text(r));
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	t->all = ts;
	params.arg = t;
	if (tun_new(&t->tun, &device, &params) != 0)
		fatal("out of memory");
	TAILQ_INSERT_HEAD(&ts->list, t, entry);
	ts->count++;
	return t;
}

int
forward_tunnel_open(const struct service_owners *o, struct channel *c,
    struct rd *data)
{
	uint32_t mode = rd_u32(data), asked = rd_u32(data);
	struct forward_tunnel *t;
	int64_t unit;
	int r = rd_end(data);

	if (r != 0)
		return r;
	unit = unit_for(o, mode, asked);
	if (unit == NOT_PERMITTED) {
		log_info("refused tunnel: mode %u, unit %u", mode, asked);
		return refuse(o, c);
	}
	/* A tunnel counts as private: it may carry anything that two hosts send
	 * to each other. */
	if (!none_exclude(o->kex, o->packet, "a tunnel"))
		return refuse(o, c);
	t = open_device(o->tunnels, mode == TUN_ETHERNET, unit);
	if (t == NULL)
		return refuse(o, c);
	log_verbose("tunnel: interface %s for user %s", tun_name(t->tun),
	    o->params->user->name);
	r = tun_accept(t->tun, c);
	return r != 0 ? r : CHANNEL_SUCCESS;
}
