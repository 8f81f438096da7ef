/* SPDX-License-Identifier: ISC */
#include "client/forwards/from-server.h"

#include "base/mem.h"
#include "client/forwards/forwards.h"
#include "client/forwards/private-forwards.h"
#include "client/hosts/hostlearn.h"

static bool
learns_hostkeys(const struct from_server *f)
{
	return f->conf->known.update_host_keys != CLIENT_ASK_NO &&
	    f->hostlearn != NULL;
}

static int
on_hostkeys(void *arg, struct rd *data, struct buf *reply)
{
	struct from_server *f = arg;

	(void)reply;
	return hostlearn_announced(f->hostlearn, data);
}

/* If the user does not forward an agent, private_forwards_open_agent() refuses
 * the channel, with a warning. */
static int
on_agent(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	const struct from_server *f = arg;

	(void)chs;
	return private_forwards_open_agent(f->private_forwards, c, data);
}

static int
on_x11(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	const struct from_server *f = arg;

	(void)chs;
	return private_forwards_open_display(f->private_forwards, c, data);
}

static bool
always(const struct from_server *f)
{
	(void)f;
	return true;
}

static bool
forwards(const struct from_server *f)
{
	return f->forwards != NULL;
}

static int
on_forwarded_tcp(void *arg, struct channels *chs, struct channel *c,
    struct rd *data)
{
	const struct from_server *f = arg;

	(void)chs;
	return forwards_opened_tcp(f->forwards, c, data);
}

static int
on_forwarded_path(void *arg, struct channels *chs, struct channel *c,
    struct rd *data)
{
	const struct from_server *f = arg;

	(void)chs;
	return forwards_opened_path(f->forwards, c, data);
}

static const struct row {
	const char *name;
	bool (*allowed)(const struct from_server *f);
	/* The handler of a global request, or of a channel; the other one is
	 * NULL. Its arg is the struct from_server. */
	channels_global_fn global;
	channel_open_fn channel;
} rows[] = {
	{ HOSTLEARN_ANNOUNCE, learns_hostkeys, .global = on_hostkeys },
	{ "auth-agent@openssh.com", always, .channel = on_agent },
	{ "agent-connect", always, .channel = on_agent },
	{ "x11", always, .channel = on_x11 },
	{ "forwarded-tcpip", forwards, .channel = on_forwarded_tcp },
	{ "forwarded-streamlocal@openssh.com", forwards,
	    .channel = on_forwarded_path },
};

int
from_server_allow(struct from_server *f, struct channels *chs)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++) {
		const struct row *row = &rows[i];

		if (!row->allowed(f))
			continue;
		r = row->channel != NULL ?
		    channels_on_open(chs, row->name, row->channel, f) :
		    channels_on_global(chs, row->name, row->global, f);
	}
	return r;
}
