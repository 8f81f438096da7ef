/* SPDX-License-Identifier: ISC */
#include "server/listener/turned-away.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "server/events/counters.h"
#include "server/events/event-line.h"
#include "server/events/event-sink.h"
#include "server/peer.h"

enum { TELL_MS = 1000, HOST_ROOM = 256, KEYWORDS = 3 };

/* Connections that one keyword has turned away since the last line of the
 * log. */
struct sum {
	const char *keyword; /* NULL: none */
	uint64_t count;
	char *peer; /* address of the last peer; owned */
	uint16_t port;
};

struct turned_away {
	struct loop *loop;
	struct loop_timer *timer;
	struct event_sink *sink;   /* NULL: no EventLog */
	struct counters *counters; /* NULL: nothing is counted */
	struct sum sums[KEYWORDS];
	char host[HOST_ROOM];
};

struct turned_away *
turned_away_new(struct loop *l, const struct server_conf *conf)
{
	struct event_sink *sink = event_sink_new(conf->log.event_log,
	    conf->log.syslog_facility);
	struct turned_away *t;
	char *path;

	if (sink == NULL && conf->log.metrics_textfile == NULL)
		return NULL;
	t = xcalloc(1, sizeof *t);
	t->loop = l;
	t->sink = sink;
	if (gethostname(t->host, sizeof t->host - 1) != 0)
		t->host[0] = '\0';
	if (conf->log.metrics_textfile != NULL) {
		path = counters_path(conf);
		t->counters = counters_new_aside(path);
		free(path);
	}
	return t;
}

static void
tell(struct turned_away *t, struct sum *s)
{
	const struct event_origin o = { .host = t->host,
		.pid = getpid(),
		.peer = s->peer,
		.port = s->port };
	struct buf b = { 0 };

	event_line_begin(&b, "turned-away", "listener", &o);
	json_put_text(&b, "limit", s->keyword);
	json_put_number(&b, "count", s->count);
	event_line_end(&b);
	event_sink_put(t->sink, &b);
	buf_clear(&b);
	counters_count(t->counters, counter_of_limit(s->keyword), s->count);
	free(s->peer);
	*s = (struct sum){ .keyword = NULL };
}

static void
tell_all(struct turned_away *t)
{
	for (size_t i = 0; i < KEYWORDS; i++)
		if (t->sums[i].keyword != NULL)
			tell(t, &t->sums[i]);
	/* If the lock cannot be taken, the counts are kept, and handed over the
	 * next time. */
	if (t->counters != NULL)
		(void)!counters_flush(t->counters);
}

static void
on_time(void *arg)
{
	struct turned_away *t = arg;

	t->timer = NULL;
	tell_all(t);
}

void
turned_away_note(struct turned_away *t, const char *keyword,
    const struct sockaddr *sa, socklen_t len)
{
	struct sum *s = NULL;

	if (t == NULL)
		return;
	for (size_t i = 0; i < KEYWORDS && s == NULL; i++)
		if (t->sums[i].keyword == NULL ||
		    strcmp(t->sums[i].keyword, keyword) == 0)
			s = &t->sums[i];
	if (s == NULL)
		return;
	s->keyword = keyword;
	s->count++;
	free(s->peer);
	s->peer = peer_format_address(sa, len, &s->port);
	if (t->timer == NULL)
		t->timer = loop_after(t->loop, TELL_MS, on_time, t);
}

void
turned_away_free(struct turned_away *t)
{
	if (t == NULL)
		return;
	loop_cancel(t->loop, t->timer);
	tell_all(t);
	event_sink_free(t->sink);
	counters_free(t->counters);
	free(t);
}
