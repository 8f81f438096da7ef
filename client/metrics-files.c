/* SPDX-License-Identifier: ISC */
#include "client/metrics-files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/open-named.h"

enum {
	BLOB_MAX = 64 * 1024, /* bytes of a server's answer that are accepted */
	SHORTEST_MS = 100,
	QUIET_FIRST_MS = 250, /* first wait without files; doubled at each
			       * measurement, up to the interval */
};

/* A file of metrics: one for the client's numbers, one for the server's. */
struct table {
	int fd; /* -1: not opened */
	bool remote;
	char *path;
};

struct metrics {
	struct loop *loop;
	struct channels *channels;
	struct packet *packet;
	struct loop_timer *timer;
	uint64_t interval_ms, wait_ms;
	bool quiet;
	struct table local, remote;
	struct tcp_numbers last; /* the server's last answer, if have_last */
	bool have_last;
	uint64_t last_ms;
	bool requested; /* a request was sent whose reply has not arrived */
	bool refused;	/* the server refused or sent nonsense: it is not asked
			 * again */
};

/* ---- text -------------------------------------------------------------- */

void
metrics_put_heading(struct buf *out, bool remote, uint32_t kernel)
{
	buf_printf(out, "%s CONNECTION\ntimestamp",
	    remote ? "REMOTE" : "LOCAL");
	for (int i = 0; i < TCP_FIELD_COUNT; i++)
		if (tcp_field_in((enum tcp_field)i, kernel))
			buf_printf(out, ", %s",
			    tcp_field_column((enum tcp_field)i));
	buf_printf(out, "\n\n");
}

void
metrics_put_row(struct buf *out, const struct tcp_numbers *t,
    const struct tm *when)
{
	char stamp[32];

	strftime(stamp, sizeof stamp, "%d-%m-%Y %H:%M:%S", when);
	buf_printf(out, "%s", stamp);
	for (int i = 0; i < TCP_FIELD_COUNT; i++)
		if (tcp_field_in((enum tcp_field)i, t->kernel))
			buf_printf(out, ", %" PRIu64, t->v[i]);
	buf_printf(out, "\n");
}

/* ---- files ------------------------------------------------------------- */

/* Appends t as a row. The file is opened with the first row, because the kernel
 * that measured t decides which columns the heading has. */
static void
write_row(struct table *to, const struct tcp_numbers *t)
{
	struct buf text = { 0 };
	time_t now = time(NULL);
	struct tm when;

	if (to->path == NULL || localtime_r(&now, &when) == NULL)
		return;
	if (to->fd == -1) {
		to->fd = open_named(to->path, O_WRONLY | O_CREAT | O_APPEND,
		    0644);
		metrics_put_heading(&text, to->remote, t->kernel);
	}
	metrics_put_row(&text, t, &when);
	if (to->fd == -1 || buf_err(&text) != 0 ||
	    fd_write_all(to->fd, buf_data(&text), buf_len(&text)) != 0) {
		log_error("Metrics: %s: %s", to->path, err_text(ERR_SYSTEM));
		free(to->path); /* the error is logged once */
		to->path = NULL;
	}
	buf_clear(&text);
}

static void
write_local(struct metrics *m)
{
	struct tcp_numbers t;

	if (tcp_measure(packet_fd_in(m->packet), &t) == 0)
		write_row(&m->local, &t);
}

/* ---- the server's ------------------------------------------------------ */

static void
on_reply(void *arg, bool ok, struct rd data)
{
	struct metrics *m = arg;
	struct tcp_numbers t;
	struct rd blob = rd_sub(&data);

	m->requested = false;
	if (ok && rd_end(&data) == 0 && blob.len <= BLOB_MAX &&
	    tcp_numbers_get(&blob, &t) == 0) {
		m->last = t;
		m->have_last = true;
		m->last_ms = clock_ms();
		write_row(&m->remote, &t);
		return;
	}
	m->refused = true;
	if (m->quiet)
		return;
	log_error("Metrics: the server does not tell its numbers, only %s is "
		  "written",
	    m->local.path != NULL ? m->local.path : "nothing");
}

static int
request_remote(struct metrics *m)
{
	int r;

	if (m->requested || m->refused)
		return 0;
	r = channels_global_request(m->channels, "stack-metrics@hpnssh.org",
	    NULL, on_reply, m);
	m->requested = r == 0;
	return r;
}

static void
on_time(void *arg)
{
	struct metrics *m = arg;

	m->wait_ms = MIN(m->wait_ms * 2, m->interval_ms);
	m->timer = loop_after(m->loop, m->wait_ms, on_time, m);
	write_local(m);
	if (request_remote(m) != 0 || m->timer == NULL)
		log_debug("Metrics: out of memory");
}

/* ---- life -------------------------------------------------------------- */

static int
name_files(struct metrics *m, const struct client_conf *conf)
{
	char *base;
	int r = client_conf_expand(conf, CLIENT_TOKENS_PATH, "MetricsPath",
	    conf->data.metrics_path, &base);

	if (r != 0)
		return r;
	xasprintf(&m->local.path, "%s.local", base);
	xasprintf(&m->remote.path, "%s.remote", base);
	free(base);
	return 0;
}

int
metrics_new(struct metrics **out, const struct client_conf *conf,
    struct loop *l, struct channels *chs, struct packet *p,
    uint64_t quiet_ms)
{
	struct tcp_numbers t;
	struct metrics *m;
	int r = 0;

	*out = NULL;
	if (!conf->data.metrics && quiet_ms == 0)
		return 0;
	if (tcp_measure(packet_fd_in(p), &t) != 0) {
		if (conf->data.metrics)
			log_error("Metrics: the connection has no TCP that "
				  "could be asked");
		return 0;
	}
	m = xcalloc(1, sizeof *m);
	m->loop = l;
	m->channels = chs;
	m->packet = p;
	m->interval_ms = MAX((uint64_t)conf->data.metrics_interval * 1000,
	    SHORTEST_MS);
	m->quiet = !conf->data.metrics;
	if (m->quiet)
		m->interval_ms = MIN(m->interval_ms, quiet_ms);
	m->wait_ms = m->quiet ? QUIET_FIRST_MS : m->interval_ms;
	m->local.fd = m->remote.fd = -1;
	m->remote.remote = true;
	*out = m;
	if (!m->quiet && (r = name_files(m, conf)) != 0)
		return r;
	m->timer = loop_after(l, m->wait_ms, on_time, m);
	if (m->timer == NULL)
		return ERR_NOMEM;
	write_row(&m->local, &t);
	return request_remote(m);
}

void
metrics_free(struct metrics *m)
{
	if (m == NULL)
		return;
	write_local(m);
	loop_cancel(m->loop, m->timer);
	fd_close(&m->local.fd);
	fd_close(&m->remote.fd);
	free(m->local.path);
	free(m->remote.path);
	free(m);
}

const struct tcp_numbers *
metrics_remote(const struct metrics *m, uint64_t *at_ms)
{
	if (m == NULL || !m->have_last)
		return NULL;
	*at_ms = m->last_ms;
	return &m->last;
}
