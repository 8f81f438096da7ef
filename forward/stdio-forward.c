/* SPDX-License-Identifier: ISC */
#include "channels-timeout.h"
#include "forward/stdio-forward.h"

#include <stdlib.h>

#include "base/log.h"
#include "forward/early-data.h"

struct stdio_forward {
	struct stdio_forward_params p;
	struct channel *channel; /* NULL: closed */
	uint32_t id;
	bool opened, attached;
	int source, sink;
	struct early_data early;
};

static void
connect_descriptors(struct stdio_forward *f)
{
	if (!f->attached)
		return;
	if (!f->opened) {
		early_data_begin(&f->early, f->p.loop, f->source, f->channel);
		return;
	}
	early_data_end(&f->early);
	channel_set_fds(f->channel, f->source, f->sink, -1, -1);
}

static void
on_opened(void *arg, struct channel *c)
{
	struct stdio_forward *f = arg;

	(void)c;
	f->opened = true;
	connect_descriptors(f);
	if (f->p.opened != NULL)
		f->p.opened(f->p.arg);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	struct stdio_forward *f = arg;
	enum log_level level = f->p.quiet ? LOG_LVL_DEBUG1 : LOG_LVL_ERROR;

	(void)c;
	early_data_end(&f->early);
	f->channel = NULL;
	log_msg(level, "channel %u: open failed: %s%s%s", f->id,
	    forwarded_reason(reason), *text != '\0' ? ": " : "", text);
	log_msg(level, "stdio forwarding failed");
	f->p.ended(f->p.arg, true);
}

static void
on_eof(void *arg, struct channel *c)
{
	struct stdio_forward *f = arg;

	(void)c;
	f->p.eof(f->p.arg);
}

/* Nobody reads the sink any more. The protocol can tell the other end only by
 * CLOSE. */
static void
on_sink_failed(void *arg, struct channel *c, uint32_t ext, int error)
{
	(void)arg;
	(void)ext;
	(void)error;
	channel_close(c, true);
}

static void
on_closed(void *arg, struct channel *c)
{
	struct stdio_forward *f = arg;

	(void)c;
	early_data_end(&f->early);
	f->channel = NULL;
	f->p.ended(f->p.arg, false);
}

static const struct channel_ops ops = {
	.opened = on_opened,
	.refused = on_refused,
	.eof = on_eof,
	.closed = on_closed,
	.sink_failed = on_sink_failed,
};

int
stdio_forward_new(struct stdio_forward **out,
    const struct stdio_forward_params *params)
{
	const struct forwarded_target *target = &params->target;
	const struct forwarded_kind *kind = target->path != NULL ?
	    &forwarded_direct_path : &forwarded_direct_tcp;
	struct stdio_forward *f = calloc(1, sizeof *f);
	struct buf extra = { 0 };
	int r;

	if (f == NULL)
		return ERR_NOMEM;
	f->p = *params;
	if (target->path != NULL) {
		buf_put_cstring(&extra, target->path);
	} else {
		buf_put_cstring(&extra, target->host);
		buf_put_u32(&extra, target->port);
	}
	forwarded_put_originator(&extra, FORWARDED_NO_ADDRESS,
	    FORWARDED_NO_PORT);
	if ((r = buf_err(&extra)) == 0)
		r = channel_open(&f->channel, params->channels, kind->type,
		    &extra, &ops, f, kind->window, kind->max_packet);
	buf_clear(&extra);
	if (r != 0) {
		free(f);
		return r;
	}
	channel_set_kind(f->channel, "stdio-forward");
	f->id = channel_id(f->channel);
	*out = f;
	return 0;
}

void
stdio_forward_attach(struct stdio_forward *f, int source, int sink)
{
	f->source = source;
	f->sink = sink;
	f->attached = true;
	if (f->channel != NULL)
		connect_descriptors(f);
}

void
stdio_forward_free(struct stdio_forward *f)
{
	if (f == NULL)
		return;
	early_data_end(&f->early);
	if (f->channel != NULL)
		channel_leave(f->channel);
	free(f);
}
