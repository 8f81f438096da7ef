/* SPDX-License-Identifier: ISC */
/*
 * What the kernels of both ends know of the connection of a check. The server's
 * is asked with stack-metrics@hpnssh.org, which only HPN-SSH servers answer.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "channels.h"
#include "client/check/check-internal.h"
#include "client/sshclient.h"
#include "peer-version.h"

enum { TELL_MS = 2000, TURN_MS = 50, BLOB_MAX = 8192 };

struct told {
	bool done, ok;
	struct tcp_numbers numbers;
};

/* The answer is kept here, because it may come after nobody waits any more. */
static struct told told;

static void
on_told(void *arg, bool ok, struct rd data)
{
	struct rd blob = rd_sub(&data);

	(void)arg;
	told.done = true;
	told.ok = ok && rd_end(&data) == 0 && blob.len <= BLOB_MAX &&
	    tcp_numbers_get(&blob, &told.numbers) == 0;
}

/* Asks the server's kernel. False: it does not tell. */
static bool
ask_server(struct check *c, const struct sshclient *client,
    struct tcp_numbers *out)
{
	uint64_t until = clock_ms() + check_left(c, TELL_MS);
	struct session_params p = { .loop = c->loop };

	sshclient_fill(client, &p);
	if ((p.peer_traits & PEER_TELLS_METRICS) == 0)
		return false;
	told = (struct told){ .done = false };
	if (channels_global_request(sshclient_channels(client),
		"stack-metrics@hpnssh.org", NULL, on_told, NULL) != 0)
		return false;
	while (!told.done && !c->stop && clock_ms() < until &&
	    sftp_error(c->sftp) == 0)
		if (loop_turn(c->loop, TURN_MS) < 0)
			return false;
	*out = told.numbers;
	return told.ok;
}

static unsigned
share(uint64_t part_us, uint64_t whole_ms)
{
	return whole_ms == 0 ? 0 :
	    (unsigned)MIN(part_us / (10 * whole_ms), (uint64_t)100);
}

static void
take_here(struct check_path *n, const struct tcp_numbers *t, int fd,
    uint64_t up_ms)
{
	struct tcp_trips trips;

	tcp_trips(fd, &trips);
	n->known = true;
	n->least_us = trips.least != 0 ? trips.least : n->least_us;
	n->rtt_us = trips.sent != 0 ? trips.sent : trips.received;
	n->mss = t->v[TCP_SND_MSS];
	n->mtu = t->v[TCP_PMTU];
	n->segments_up = t->v[TCP_DATA_SEGS_OUT];
	n->again_up = t->v[TCP_TOTAL_RETRANS];
	n->up_receiver = share(t->v[TCP_RWND_LIMITED], up_ms);
	n->up_sender = share(t->v[TCP_SNDBUF_LIMITED], up_ms);
	n->send_limit = tcp_buffer_limit(false);
	n->receive_limit = tcp_buffer_limit(true);
	n->send_setting = tcp_buffer_setting(false);
	n->receive_setting = tcp_buffer_setting(true);
	tcp_congestion_name(fd, n->congestion, sizeof n->congestion);
}

static void
take_there(struct check_path *n, const struct tcp_numbers *t, uint64_t down_ms)
{
	n->server_told = true;
	n->segments_down = t->v[TCP_DATA_SEGS_OUT];
	n->again_down = t->v[TCP_TOTAL_RETRANS];
	n->down_receiver = share(t->v[TCP_RWND_LIMITED], down_ms);
	n->down_sender = share(t->v[TCP_SNDBUF_LIMITED], down_ms);
}

void
check_path_measure(struct check *c, bool after)
{
	const struct sshclient *client = remote_client(c->remote);
	struct check_path *n = &c->network;
	struct tcp_numbers here, there;
	uint64_t best;

	if (client == NULL || sftp_error(c->sftp) != 0 ||
	    tcp_measure(sshclient_fd(client), &here) != 0)
		return;
	take_here(n, &here, sshclient_fd(client), c->up.ms);
	if (!after)
		return;
	if (ask_server(c, client, &there))
		take_there(n, &there, c->down.ms);
	best = MAX(c->up.rate, c->down.rate);
	n->bdp = best * n->least_us / 1000000;
}
