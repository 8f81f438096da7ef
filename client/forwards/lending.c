/* SPDX-License-Identifier: ISC */
#include "client/forwards/lending.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/forwards/agent-forward.h"
#include "client/forwards/x11-forward.h"
#include "forward/forwarded.h"

struct lending {
	struct forwarded_list *list;
	struct agent_forward *agent; /* NULL: not lent */
	struct x11_forward *x11;     /* likewise */
};

/* To a host that may be somebody else nothing is lent. */
static int
lend_nothing(const struct client_conf *conf, const char *why)
{
	bool agent = agent_forward_is_wanted(conf);
	bool x11 = x11_forward_is_wanted(conf);

	if (agent)
		log_error("Agent forwarding is %s.", why);
	if (x11)
		log_error("X11 forwarding is %s.", why);
	if (!(agent || x11) || !conf->forward.exit_on_failure)
		return 0;
	log_error("ExitOnForwardFailure is set: that is the end.");
	return ERR_DENIED;
}

static int
lend(struct lending *l, const struct lending_params *p)
{
	const struct agent_forward_params agent = {
		.conf = p->conf,
		.loop = p->loop,
		.kex = p->kex,
		.login = p->login,
		.list = l->list,
	};
	const struct x11_forward_params x11 = {
		.conf = p->conf,
		.list = l->list,
	};
	int r = 0;

	if (agent_forward_is_wanted(p->conf))
		r = agent_forward_new(&l->agent, &agent);
	if (r == ERR_NOT_FOUND)
		r = p->conf->forward.exit_on_failure ? ERR_DENIED : 0;
	if (r == 0 && x11_forward_is_wanted(p->conf))
		r = x11_forward_new(&l->x11, &x11);
	return r;
}

static int
choose(struct lending *l, const struct lending_params *p)
{
	if (p->proxied)
		return lend_nothing(p->conf,
		    "not possible through a master's proxy");
	if (sshlogin_is_distrusted(p->login))
		return lend_nothing(p->conf,
		    "disabled to avoid man-in-the-middle attacks");
	return lend(l, p);
}

/* They keep hpnssh running. */
static void
on_count(void *arg, int change)
{
	if (change > 0)
		uses_begin(arg, USE_LENT);
	else
		uses_end(arg, USE_LENT);
}

int
lending_new(struct lending **out, const struct lending_params *p)
{
	const struct forwarded_params list = {
		.loop = p->loop,
		.channels = p->channels,
		.family = p->conf->tcp.address_family,
		.arg = p->uses,
		.count = p->uses != NULL ? on_count : NULL,
	};
	struct lending *l = xcalloc(1, sizeof *l);
	int r = forwarded_list_new(&l->list, &list);

	if (r == 0)
		r = choose(l, p);
	if (r != 0) {
		lending_free(l);
		return r;
	}
	*out = l;
	return 0;
}

void
lending_free(struct lending *l)
{
	if (l == NULL)
		return;
	agent_forward_free(l->agent);
	x11_forward_free(l->x11);
	forwarded_list_free(l->list);
	free(l);
}

const char *
lending_what(const struct lending *l)
{
	if (l == NULL || (l->agent == NULL && l->x11 == NULL))
		return NULL;
	return l->agent != NULL ? "a forwarded agent" : "a forwarded display";
}

int
lending_request(struct lending *l, const struct lending_request *r)
{
	int err = 0;

	if (l == NULL)
		return 0;
	if (!r->no_display)
		err = x11_forward_request(l->x11, r->session,
		    r->display_reply, r->arg);
	if (err == 0 && !r->no_agent)
		err = agent_forward_request(l->agent, r->session);
	return err;
}

int
lending_open_agent(struct lending *l, struct channel *c, struct rd *data)
{
	int r = rd_end(data);

	return r != 0 ? r :
			agent_forward_open(l != NULL ? l->agent : NULL, c);
}

int
lending_open_display(struct lending *l, struct channel *c, struct rd *data)
{
	return x11_forward_open(l != NULL ? l->x11 : NULL, c, data);
}
