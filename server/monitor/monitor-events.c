/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/rand.h"
#include "keys/cert.h"
#include "keys/key.h"
#include "server/events/event-line.h"
#include "server/events/event-sink.h"
#include "server/monitor/grant-table.h"
#include "server/monitor/monitor-counts.h"
#include "server/monitor/monitor.h"

enum {
	HOST_ROOM = 256,
	LINES_AT_ONCE = 64 * 1024, /* bytes */
};

struct monitor_events {
	const struct monitor *m;
	struct event_sink *sink;       /* NULL: no EventLog */
	struct monitor_counts *counts; /* NULL: nothing is counted */
	char host[HOST_ROOM];
	char conn[EVENT_CONN_LEN + 1];
	pid_t pid;
	uint64_t began_ms;
	/* What the user's process has claimed last, of the connection. */
	struct event_copy claimed;
	bool has_claimed;
};

/* For exit(3). */
static struct monitor_events *at_end;

static struct event_origin
origin(const struct monitor_events *me)
{
	const struct monitor *m = me->m;
	const struct login *l = m->login;

	return (struct event_origin){ .host = me->host,
		.conn = me->conn,
		.pid = me->pid,
		.user = l != NULL ? l->shown_name : NULL,
		.has_uid = l != NULL && l->complete,
		.uid = l != NULL && l->complete ? l->user->uid : 0,
		.peer = m->peer.address,
		.port = m->peer.port };
}

static void
begin_line(const struct monitor_events *me, struct buf *b, const char *event)
{
	const struct event_origin o = origin(me);

	event_line_begin(b, event, "monitor", &o);
}

static void
write_line(struct monitor_events *me, struct buf *b)
{
	event_line_end(b);
	event_sink_put(me->sink, b);
	monitor_counts_dropped(me->counts, event_sink_dropped(me->sink));
	buf_clear(b);
}

/* ---- the connection ----------------------------------------------------- */

void
monitor_events_end(void)
{
	struct monitor_events *me = at_end;
	struct buf b = { 0 };
	uint64_t dropped;

	/* A child of this process, after fork(2), is not the monitor. */
	if (me == NULL || me->pid != getpid())
		return;
	at_end = NULL;
	dropped = event_sink_dropped(me->sink);
	begin_line(me, &b, "conn-close");
	json_put_ms(&b, "seconds", clock_ms() - me->began_ms);
	json_put_bool(&b, "authenticated",
	    me->m->login != NULL && me->m->login->complete);
	if (dropped > 0)
		json_put_number(&b, "dropped", dropped);
	if (me->has_claimed)
		event_line_claimed(&b, &me->claimed.e);
	write_line(me, &b);
	event_sink_free(me->sink);
	monitor_counts_end(me->counts);
	event_copy_clear(&me->claimed);
	free(me);
}

void
monitor_events_begin(struct monitor *m)
{
	struct event_sink *sink = event_sink_new(m->state.conf.log.event_log,
	    m->state.conf.log.syslog_facility);
	struct monitor_counts *counts = monitor_counts_begin(&m->state.conf);
	struct buf b = { 0 };
	struct monitor_events *me;
	uint64_t number;

	if (sink == NULL && counts == NULL)
		return;
	me = xcalloc(1, sizeof *me);
	me->m = m;
	me->sink = sink;
	me->counts = counts;
	me->pid = getpid();
	me->began_ms = clock_ms();
	if (gethostname(me->host, sizeof me->host - 1) != 0)
		me->host[0] = '\0';
	rand_bytes(&number, sizeof number);
	snprintf(me->conn, sizeof me->conn, "%016llx",
	    (unsigned long long)number);
	m->events = at_end = me;
	atexit(monitor_events_end);
	begin_line(me, &b, "conn-open");
	json_put_text(&b, "local", m->peer.local_address);
	json_put_number(&b, "local_port", m->peer.local_port);
	write_line(me, &b);
}

struct monitor_counts *
monitor_events_counts(struct monitor_events *me)
{
	return me != NULL ? me->counts : NULL;
}

void
monitor_events_limit(struct monitor_events *me, const char *what)
{
	struct buf b = { 0 };

	if (me == NULL)
		return;
	monitor_counts_limit(me->counts, what);
	begin_line(me, &b, "limit");
	json_put_text(&b, "limit", what);
	write_line(me, &b);
}

/* ---- sessions that go on ------------------------------------------------- */

void
monitor_events_detached(struct monitor_events *me, const char *why)
{
	struct buf b = { 0 };

	if (me == NULL)
		return;
	begin_line(me, &b, "conn-detached");
	json_put_text(&b, "why", why);
	write_line(me, &b);
}

void
monitor_events_resumed(struct monitor_events *me, uint64_t away_ms,
    const char *address, uint32_t port)
{
	struct buf b = { 0 };

	if (me == NULL)
		return;
	begin_line(me, &b, "conn-resumed");
	json_put_ms(&b, "seconds", away_ms);
	json_put_text(&b, "new_peer", address);
	json_put_number(&b, "new_port", port);
	write_line(me, &b);
}

void
monitor_events_given_up(struct monitor_events *me, uint64_t away_ms,
    const char *why)
{
	struct buf b = { 0 };

	if (me == NULL)
		return;
	begin_line(me, &b, "conn-given-up");
	json_put_ms(&b, "seconds", away_ms);
	json_put_text(&b, "why", why);
	write_line(me, &b);
}

/* ---- logins ------------------------------------------------------------- */

static void
put_print(struct buf *b, const char *name, const struct key *k)
{
	char *print = key_fingerprint(k, DIGEST_SHA256);

	json_put_text(b, name, print != NULL ? print : "?");
	free(print);
}

static void
put_key(struct buf *b, const struct key *k)
{
	const struct cert *c = key_cert(k);

	json_put_text(b, "key_type", key_type(k));
	put_print(b, "key", k);
	if (c == NULL)
		return;
	event_line_text(b, "cert_id", c->id);
	json_put_number(b, "cert_serial", c->serial);
	put_print(b, "cert_ca", c->ca);
}

void
monitor_events_auth(struct monitor_events *me, const struct login *l,
    const struct auth_method *method, enum login_result result,
    const struct key *key)
{
	struct buf b = { 0 };

	if (me == NULL)
		return;
	monitor_counts_login(me->counts, method, result);
	begin_line(me, &b, "auth");
	json_put_text(&b, "method", method->name);
	json_put_text(&b, "result", login_result_names[result]);
	if (!l->name_ok)
		json_put_bool(&b, "invalid_user", true);
	if (key != NULL)
		put_key(&b, key);
	write_line(me, &b);
}

/* ---- grants ------------------------------------------------------------- */

void
monitor_events_grant(struct monitor_events *me, const struct grant_request *q)
{
	struct key *k = NULL;
	struct buf b = { 0 };

	if (me == NULL || key_from_blob(q->key, &k) != 0)
		return;
	begin_line(me, &b, "grant");
	put_print(&b, "key", k);
	json_put_number(&b, "rights", q->scope.rights);
	json_put_number(&b, "connections", q->connections);
	json_put_number(&b, "seconds", q->life_s);
	event_line_path(&b, "path", q->scope.path,
	    (enum server_event_paths)me->m->login->conf.log.event_paths);
	write_line(me, &b);
	key_free(k);
}

void
monitor_events_receipt(struct monitor_events *me, const char *key,
    const char *sha256)
{
	struct event_origin o;
	struct buf b = { 0 };

	if (me == NULL)
		return;
	o = origin(me);
	event_line_begin(&b, "receipt", "user", &o);
	json_put_text(&b, "key", key);
	json_put_text(&b, "sha256", sha256);
	write_line(me, &b);
}

/* ---- limits -------------------------------------------------------------- */

bool
monitor_events_enter(struct monitor_events *me, const struct login *l)
{
	if (me == NULL ||
	    monitor_counts_enter(me->counts, &l->conf, l->user))
		return true;
	log_info("User %s from %s not allowed because of %d other connections "
		 "(MaxConnectionsPerUser)",
	    l->user->name, l->peer->host,
	    l->conf.session.max_connections_per_user);
	monitor_events_limit(me, "MaxConnectionsPerUser");
	return false;
}

int
monitor_on_limited_session(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_counts *counts = monitor_events_counts(m->events);
	bool begins = rd_bool(in), may = true;
	int r = rd_end(in);

	if (r != 0)
		return r;
	if (begins)
		may = monitor_counts_session(counts, &m->login->conf);
	else
		monitor_counts_session_end(counts);
	if (!may)
		monitor_events_limit(m->events, "MaxSessionsPerUser");
	buf_put_bool(out, may);
	return 0;
}

/* ---- what the user's process claims -------------------------------------- */

/* Has the administrator asked for events of this type? Others are not written,
 * whatever the user's process sends. */
static bool
is_wanted(enum event_type type, int detail)
{
	switch (type) {
	case EVENT_TRANSFER:
	case EVENT_DELETE:
	case EVENT_RENAME:
		return detail == SERVER_EVENT_FILES;
	case EVENT_SUMMARY:
		return detail != SERVER_EVENT_SESSIONS;
	default:
		return true;
	}
}

static void
take_claim(struct monitor_events *me, struct event_copy *c, struct buf *lines)
{
	const struct server_conf *conf = &me->m->login->conf;
	const struct event_origin o = origin(me);

	monitor_counts_claim(me->counts, &c->e);
	if (c->e.type == EVENT_CONNECTION) {
		event_copy_clear(&me->claimed);
		me->claimed = *c;
		me->has_claimed = true;
		memset(c, 0, sizeof *c);
	} else if (me->sink != NULL &&
	    is_wanted(c->e.type, conf->log.event_detail)) {
		event_line_claim(lines, &c->e,
		    (enum server_event_paths)conf->log.event_paths, &o);
	}
}

int
monitor_on_event(struct monitor *m, struct rd *in, struct buf *out)
{
	struct buf lines = { 0 };
	struct event_copy c;
	struct span body;
	struct rd r;
	int err = m->events != NULL && in->len > 0 ? 0 : ERR_PROTOCOL;

	(void)out;
	while (err == 0 && in->len > 0) {
		body = rd_string(in);
		if ((err = rd_err(in)) != 0)
			break;
		r = rd_from_span(body);
		err = event_get(&r, &c);
		if (err == 0)
			err = rd_end(&r);
		if (err == 0)
			take_claim(m->events, &c, &lines);
		event_copy_clear(&c);
		if (buf_len(&lines) > LINES_AT_ONCE) {
			event_sink_put(m->events->sink, &lines);
			buf_reset(&lines);
		}
	}
	if (m->events != NULL) {
		event_sink_put(m->events->sink, &lines);
		monitor_counts_flush_claims(m->events->counts);
	}
	buf_clear(&lines);
	return err;
}
