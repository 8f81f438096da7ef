/* SPDX-License-Identifier: ISC */
#include "server/session/channel-use.h"

#include <stdlib.h>

#include "base/tcp.h"
#include "channels-timeout.h"

struct channel_use {
	struct loop *loop;
	struct channels *channels;
	const struct serve_params *params;
	struct loop_timer *timer; /* runs while no channel is open */
	bool interactive;	  /* the connection's packets are marked as
				   * interactive */
	void (*unused)(void *arg);
	void *arg;
};

static uint32_t
seconds_for(void *arg, const char *kind)
{
	const struct channel_use *u = arg;

	return (uint32_t)conf_channel_timeout(
	    &u->params->conf->session.channel_timeouts, kind);
}

static void
on_unused(void *arg)
{
	struct channel_use *u = arg;

	u->timer = NULL;
	u->unused(u->arg);
}

void
channel_use_again(const struct channel_use *u)
{
	const struct server_conf *conf = u->params->conf;

	tcp_set_tos(u->params->socket_fd, u->interactive ?
	    conf->data.ipqos.interactive : conf->data.ipqos.bulk);
}

static void
on_use(void *arg, struct channels_use now)
{
	struct channel_use *u = arg;
	const struct server_conf *conf = u->params->conf;
	int seconds = conf->session.unused_connection_timeout;

	u->interactive = now.interactive;
	channel_use_again(u);
	loop_cancel(u->loop, u->timer);
	u->timer = NULL;
	if (!now.any && seconds > 0)
		u->timer = loop_after(u->loop, (uint64_t)seconds * 1000,
		    on_unused, u);
}

int
channel_use_new(struct channel_use **out, struct loop *l, struct channels *chs,
    const struct serve_params *p, void (*unused)(void *arg), void *arg)
{
	const struct conf_channel_timeouts *conf =
	    &p->conf->session.channel_timeouts;
	struct channel_use *u = calloc(1, sizeof *u);
	struct channels_timeouts timeouts = { .arg = u,
		.seconds = conf->n > 0 ? seconds_for : NULL,
		.global_s = (uint32_t)conf_channel_timeout_global(conf) };

	if (u == NULL)
		return ERR_NOMEM;
	*u = (struct channel_use){ .loop = l, .channels = chs, .params = p,
		.unused = unused, .arg = arg };
	channels_set_timeouts(chs, &timeouts);
	channels_on_use(chs, on_use, u);
	*out = u;
	return 0;
}

void
channel_use_free(struct channel_use *u)
{
	if (u == NULL)
		return;
	channels_on_use(u->channels, NULL, NULL);
	loop_cancel(u->loop, u->timer);
	free(u);
}
