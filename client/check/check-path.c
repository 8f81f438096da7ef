/* SPDX-License-Identifier: ISC */
/*
 * Reads the figures that the kernels of both ends have of a check's
 * connections. The server's kernel is asked with stack-metrics@hpnssh.org,
 * which only HPN-SSH servers answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "channels.h"
#include "client/check/check-internal.h"
#include "client/sshclient.h"
#include "peer-version.h"

enum {
	TELL_MS = 2000,
	TURN_MS = 20,
	BLOB_MAX = 8192,
	NO_THRESHOLD = 0x7fffffff, /* Linux's threshold of the slow start before
				    * any loss */
};

/* A question to the server about one connection. If nobody waits for it any
 * more, its answer frees it. */
struct question {
	bool done, ok, left;
	struct tcp_numbers numbers;
};

static void
on_told(void *arg, bool ok, struct rd data)
{
	struct question *q = arg;
	struct rd blob = rd_sub(&data);

	if (q->left) {
		free(q);
		return;
	}
	q->done = true;
	q->ok = ok && rd_end(&data) == 0 && blob.len <= BLOB_MAX &&
	    tcp_numbers_get(&blob, &q->numbers) == 0;
}

static struct question *
ask(const struct check *c, const struct sshclient *client)
{
	struct session_params p = { .loop = c->loop };
	struct question *q;

	sshclient_fill(client, &p);
	if ((p.peer_traits & PEER_TELLS_METRICS) == 0)
		return NULL;
	q = xcalloc(1, sizeof *q);
	if (channels_global_request(sshclient_channels(client),
		"stack-metrics@hpnssh.org", NULL, on_told, q) == 0)
		return q;
	free(q);
	return NULL;
}

void
check_ask(const struct check *c, struct check_asked *a)
{
	const struct sshclient *client;

	a->n = 0;
	while (a->n < CHECK_CONNECTIONS_MAX &&
	    (client = remote_client(c->remote, a->n)) != NULL)
		a->q[a->n++] = ask(c, client);
}

static void
wait_for(const struct check *c, struct question *const *q, unsigned n)
{
	uint64_t until = clock_ms() + check_left(c, TELL_MS);
	unsigned i = 0;

	while (i < n && !c->stop && clock_ms() < until &&
	    sftp_error(c->sftp) == 0) {
		if (q[i] == NULL || q[i]->done)
			i++;
		else if (loop_turn(c->loop, TURN_MS) < 0)
			return;
	}
}

/* Waits for the answers to check_ask(), adds up their figures in sums, and
 * frees the questions. True: out has the figures of the first connection. */
static bool
take_answers(const struct check *c, struct check_asked *a,
    struct check_sums *sums, struct tcp_numbers *out)
{
	bool first = false;

	*sums = (struct check_sums){ .sent = 0 };
	wait_for(c, a->q, a->n);
	for (unsigned i = 0; i < a->n; i++) {
		struct question *q = a->q[i];

		if (q == NULL)
			continue;
		if (!q->done) {
			q->left = true;
			continue;
		}
		if (q->ok) {
			sums->sent += q->numbers.v[TCP_DATA_SEGS_OUT];
			sums->again += q->numbers.v[TCP_TOTAL_RETRANS];
		}
		if (i == 0 && q->ok) {
			*out = q->numbers;
			first = true;
		}
		free(q);
	}
	a->n = 0;
	return first;
}

struct check_sums
check_sums_here(const struct check *c)
{
	struct check_sums sums = { .sent = 0 };
	const struct sshclient *client;
	struct tcp_numbers t;

	for (unsigned i = 0; i < CHECK_CONNECTIONS_MAX &&
	     (client = remote_client(c->remote, i)) != NULL; i++) {
		if (tcp_measure(sshclient_fd(client), &t) != 0)
			continue;
		sums.sent += t.v[TCP_DATA_SEGS_OUT];
		sums.again += t.v[TCP_TOTAL_RETRANS];
	}
	return sums;
}

struct check_sums
check_answered(const struct check *c, struct check_asked *a)
{
	struct check_sums sums;
	struct tcp_numbers first;

	(void)take_answers(c, a, &sums, &first);
	return sums;
}

static unsigned
share(uint64_t part_us, uint64_t whole_ms)
{
	return whole_ms == 0 ? 0 :
	    (unsigned)MIN(part_us / (10 * whole_ms), (uint64_t)100);
}

static bool
backs_off(const struct tcp_numbers *t)
{
	return t->v[TCP_TOTAL_RETRANS] > 0 &&
	    t->v[TCP_SND_SSTHRESH] < NO_THRESHOLD;
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
	n->up_backs_off = backs_off(t);
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
	n->down_backs_off = backs_off(t);
}

void
check_path_measure(struct check *c, bool after)
{
	const struct sshclient *client = remote_client(c->remote, 0);
	struct check_path *n = &c->network;
	struct tcp_numbers here, there;
	struct check_asked asked;
	struct check_sums sums;

	if (client == NULL || sftp_error(c->sftp) != 0 ||
	    tcp_measure(sshclient_fd(client), &here) != 0)
		return;
	take_here(n, &here, sshclient_fd(client), c->up.ms);
	if (!after)
		return;
	check_ask(c, &asked);
	if (take_answers(c, &asked, &sums, &there))
		take_there(n, &there, c->down.ms);
	n->bdp = MAX(c->up.rate, c->down.rate) * n->least_us / 1000000;
}
