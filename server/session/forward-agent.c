/* SPDX-License-Identifier: ISC */
#include "server/session/forward-agent.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "forward/listeners.h"
#include "keys/agent-socket.h"

enum {
	WINDOW = 64 * 1024, /* bytes of a channel's window */
	PACKET = 16 * 1024, /* bytes of data in a packet */
	MASK = 0177,	    /* umask of the socket: for nobody but the user */
};

static const struct forwarded_kind kinds[] = {
	{ .type = "auth-agent@openssh.com", .window = WINDOW,
	    .max_packet = PACKET },
	{ .type = "agent-connect", .window = WINDOW, .max_packet = PACKET },
};

struct agent_door {
	const struct forwarded_kind *kind;
	struct forwarded_list *list;
	struct listener *listener;
	char *path;
	bool made; /* the socket at path was made here, and is removed at the
		    * end */
	bool shut;
};

bool
agent_door_is_allowed(const struct serve_params *p)
{
	if (p->permits->agent_forwarding && !p->must_change)
		return true;
	log_info("agent forwarding is not allowed for user %s",
	    p->user->name);
	return false;
}

static void
on_accepted(void *arg, int fd, const struct listener_peer *peer)
{
	struct agent_door *d = arg;
	static const struct span nothing;
	int r;

	(void)peer;
	if (d->shut) {
		log_verbose("a connection to the agent is dropped: the client "
			    "is away");
		fd_close(&fd);
		return;
	}
	r = forwarded_open(d->list, d->kind, fd, NULL, nothing, NULL);
	if (r != 0)
		log_verbose("a connection to the agent is dropped: %s",
		    err_text(r));
}

static int
begin(struct agent_door *d, struct loop *l, const struct serve_params *p)
{
	struct listener_params params = { .loop = l, .mask = MASK, .arg = d,
		.accepted = on_accepted };
	int r = agent_socket_path(p->user->home,
	    AGENT_SOCKET_FORWARDED, &d->path);

	if (r != 0)
		return r;
	params.path = d->path;
	r = listener_new(&d->listener, &params);
	d->made = r == 0;
	return r;
}

struct agent_door *
agent_door_open(struct loop *l, struct forwarded_list *list,
    const struct serve_params *p, bool modern)
{
	struct agent_door *d;
	int r;

	d = xcalloc(1, sizeof *d);
	d->kind = &kinds[modern ? 1 : 0];
	d->list = list;
	if ((r = begin(d, l, p)) != 0) {
		log_error("no socket for a forwarded agent below %s/.ssh: %s",
		    p->user->home, err_text(r));
		agent_door_close(d);
		return NULL;
	}
	log_debug("the agent is forwarded to %s", d->path);
	return d;
}

void
agent_door_shut(struct agent_door *d, bool shut)
{
	if (d != NULL)
		d->shut = shut;
}

void
agent_door_close(struct agent_door *d)
{
	if (d == NULL)
		return;
	listener_free(d->listener);
	if (d->made)
		(void)unlink(d->path);
	free(d->path);
	free(d);
}

const char *
agent_door_path(const struct agent_door *d)
{
	return d != NULL ? d->path : NULL;
}
