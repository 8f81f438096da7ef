/* SPDX-License-Identifier: ISC */
#include "client/forwards/private-forwards.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/forwards/agent-forward.h"
#include "client/forwards/x11-forward.h"
#include "forward/forwarded.h"

struct private_forwards {
	struct forwarded_list *list;
	struct agent_forward *agent; /* NULL: not forwarded */
	struct x11_forward *x11;     /* NULL: not forwarded */
};

/* Forwards neither agent nor display. A user who wanted one of them is told
 * why. ERR_DENIED: ExitOnForwardFailure is set. */
static int
refuse_all(const struct client_conf *conf, const char *why)
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
prepare(struct private_forwards *f, const struct private_forwards_params *p)
{
	const struct agent_forward_params agent = {
		.conf = p->conf,
		.loop = p->loop,
		.kex = p->kex,
		.login = p->login,
		.list = f->list,
	};
	const struct x11_forward_params x11 = {
		.conf = p->conf,
		.list = f->list,
	};
	int r = 0;

	if (agent_forward_is_wanted(p->conf))
		r = agent_forward_new(&f->agent, &agent);
	if (r == ERR_NOT_FOUND)
		r = p->conf->forward.exit_on_failure ? ERR_DENIED : 0;
	if (r == 0 && x11_forward_is_wanted(p->conf))
		r = x11_forward_new(&f->x11, &x11);
	return r;
}

static int
choose(struct private_forwards *f, const struct private_forwards_params *p)
{
	if (p->proxied)
		return refuse_all(p->conf,
		    "not possible through a master's proxy");
	if (sshlogin_is_distrusted(p->login))
		return refuse_all(p->conf,
		    "disabled to avoid man-in-the-middle attacks");
	return prepare(f, p);
}

/* Connections to the agent and the display keep hpnssh running. */
static void
on_count(void *arg, int change)
{
	if (change > 0)
		uses_begin(arg, USE_PRIVATE_FORWARD);
	else
		uses_end(arg, USE_PRIVATE_FORWARD);
}

int
private_forwards_new(struct private_forwards **out,
    const struct private_forwards_params *p)
{
	const struct forwarded_params list = {
		.loop = p->loop,
		.channels = p->channels,
		.family = p->conf->tcp.address_family,
		.arg = p->uses,
		.count = p->uses != NULL ? on_count : NULL,
	};
	struct private_forwards *f = xcalloc(1, sizeof *f);
	int r = forwarded_list_new(&f->list, &list);

	if (r == 0)
		r = choose(f, p);
	if (r != 0) {
		private_forwards_free(f);
		return r;
	}
	*out = f;
	return 0;
}

void
private_forwards_free(struct private_forwards *f)
{
	if (f == NULL)
		return;
	agent_forward_free(f->agent);
	x11_forward_free(f->x11);
	forwarded_list_free(f->list);
	free(f);
}

const char *
private_forwards_what(const struct private_forwards *f)
{
	if (f == NULL || (f->agent == NULL && f->x11 == NULL))
		return NULL;
	return f->agent != NULL ? "a forwarded agent" : "a forwarded display";
}

int
private_forwards_request(struct private_forwards *f,
    const struct private_forwards_request *r)
{
	int err = 0;

	if (f == NULL)
		return 0;
	if (!r->no_display)
		err = x11_forward_request(f->x11, r->session,
		    r->display_reply, r->arg);
	if (err == 0 && !r->no_agent)
		err = agent_forward_request(f->agent, r->session);
	return err;
}

int
private_forwards_open_agent(struct private_forwards *f, struct channel *c,
    struct rd *data)
{
	int r = rd_end(data);

	return r != 0 ? r :
			agent_forward_open(f != NULL ? f->agent : NULL, c);
}

int
private_forwards_open_display(struct private_forwards *f, struct channel *c,
    struct rd *data)
{
	return x11_forward_open(f != NULL ? f->x11 : NULL, c, data);
}
