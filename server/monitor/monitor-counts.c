/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor-counts.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "conf/rates.h"
#include "server/events/counters.h"
#include "server/events/metrics-text.h"

enum {
	TEXT_MS = 15 * 1000, /* how often the text is written */
	TEXT_MODE = 0644,
	/* Limits for what sums may grow by in a millisecond; higher claims are
	 * lies: 134 Gbit/s, a million files or segments a second, and a
	 * thousand sessions. */
	BYTES_PER_MS = 16 * 1024 * 1024,
	THINGS_PER_MS = 1000,
	SESSIONS_PER_MS = 1,
	FIRST_MS = 1000, /* added to the age of a connection, so that it may
			  * claim something in its first second */
	/* A user's process cannot make its monitor take the lock, or divide
	 * shares at once, more often than this. An honest process asks less
	 * often. */
	LOCK_AGAIN_MS = 20,
	AT_ONCE_MS = 300,
};

/* A sum that the user's process claims, and the counter that grows with it. */
struct claim {
	enum event_type type;
	size_t number; /* index of the sum in the event's numbers */
	enum counter counter;
	unsigned per_ms; /* the most that the sum may grow by */
};

static const struct claim claims[] = {
	{ EVENT_CONNECTION, 0, COUNTER_BYTES_IN, BYTES_PER_MS },
	{ EVENT_CONNECTION, 1, COUNTER_BYTES_OUT, BYTES_PER_MS },
	{ EVENT_CONNECTION, 3, COUNTER_RETRANSMISSIONS, THINGS_PER_MS },
	{ EVENT_SUMMARY, 0, COUNTER_FILES_READ, THINGS_PER_MS },
	{ EVENT_SUMMARY, 1, COUNTER_FILES_WRITTEN, THINGS_PER_MS },
	{ EVENT_SUMMARY, 2, COUNTER_FILE_BYTES_READ, BYTES_PER_MS },
	{ EVENT_SUMMARY, 3, COUNTER_FILE_BYTES_WRITTEN, BYTES_PER_MS },
	{ EVENT_SUMMARY, 4, COUNTER_DELETES, THINGS_PER_MS },
	{ EVENT_SUMMARY, 5, COUNTER_RENAMES, THINGS_PER_MS },
	{ EVENT_SUMMARY, 6, COUNTER_FILE_FAILURES, THINGS_PER_MS },
};

struct monitor_counts {
	struct counters *counters;
	const char *text_path; /* path of MetricsTextfile, borrowed; NULL: no
			        * text is written */
	struct loop *loop;
	struct loop_timer *timer;     /* NULL: not yet */
	uint64_t began_ms;
	uint64_t claimed[ARRAY_LEN(claims)]; /* the last of each */
	uint64_t sessions_told;		     /* claims of sessions */
	uint64_t open, open_max; /* sessions, as claimed; MaxSessions */
	uint64_t flushed_ms, at_once_ms;
	uint64_t dropped;
	bool active; /* this connection is counted: a keyword needs it */
	bool asks;   /* the session process asks for each session:
		      * MaxSessionsPerUser */
	bool told;
	/* Rates in bytes a second: TransferCapacity, and the lowest of all
	 * limits. */
	uint64_t capacity, least;
};

/* ---- the text ------------------------------------------------------------ */

/* Replaces the file of MetricsTextfile. SIGXFSZ is ignored meanwhile, because a
 * limit on the size of files must not end the process. */
static void
write_text(struct monitor_counts *mc)
{
	struct counters_now now;
	struct buf b = { 0 };
	int r;

	if (counters_look(mc->counters, &now) != 0)
		return;
	metrics_text(&b, &now);
	(void)signal(SIGXFSZ, SIG_IGN);
	r = buf_err(&b) != 0 ? buf_err(&b) :
			       file_replace_quick(mc->text_path, buf_data(&b),
				   buf_len(&b), TEXT_MODE);
	if (r != 0 && !mc->told)
		log_error("MetricsTextfile: %s: %s", mc->text_path,
		    r == ERR_SYSTEM ? strerror(errno) : err_text(r));
	(void)signal(SIGXFSZ, SIG_DFL);
	mc->told = mc->told || r != 0;
	buf_clear(&b);
}

static void
write_if_due(struct monitor_counts *mc, bool at_end)
{
	if (mc->text_path != NULL &&
	    counters_turn(mc->counters, TEXT_MS, at_end))
		write_text(mc);
}

static void
on_time(void *arg)
{
	struct monitor_counts *mc = arg;

	mc->timer = NULL;
	write_if_due(mc, false);
	monitor_counts_run(mc, mc->loop);
}

void
monitor_counts_run(struct monitor_counts *mc, struct loop *loop)
{
	if (mc == NULL || mc->text_path == NULL)
		return;
	mc->loop = loop;
	mc->timer = loop_after(loop, TEXT_MS, on_time, mc);
}

/* ---- the connection ------------------------------------------------------ */

void
monitor_counts_flush(struct monitor_counts *mc)
{
	if (mc == NULL || !mc->active)
		return;
	if (counters_flush(mc->counters) == 0)
		write_if_due(mc, false);
}

static bool
has_limits(const struct server_conf *c)
{
	return c->session.max_sessions_per_user != INT_MAX ||
	    c->session.max_connections_per_user != INT_MAX ||
	    c->rate.capacity != NULL || c->rate.user_max != NULL ||
	    c->rate.group_max.n > 0;
}

struct monitor_counts *
monitor_counts_begin(const struct server_conf *conf)
{
	struct monitor_counts *mc;
	char *path;

	bool active = conf->log.metrics_textfile != NULL || has_limits(conf);

	/* A Match block may set limits once the user is known. */
	if (!active && !server_conf_has_match(conf))
		return NULL;
	mc = xcalloc(1, sizeof *mc);
	mc->active = active;
	path = counters_path(conf);
	mc->counters = counters_new(path);
	free(path);
	mc->text_path = conf->log.metrics_textfile;
	mc->began_ms = clock_ms();
	counters_count(mc->counters, COUNTER_CONNECTIONS, 1);
	monitor_counts_flush(mc);
	return mc;
}

void
monitor_counts_end(struct monitor_counts *mc)
{
	if (mc == NULL)
		return;
	if (mc->loop != NULL)
		loop_cancel(mc->loop, mc->timer);
	if (mc->active) {
		counters_leave(mc->counters);
		write_if_due(mc, true);
	}
	counters_free(mc->counters);
	free(mc);
}

/* ---- what is counted ----------------------------------------------------- */

void
monitor_counts_login(struct monitor_counts *mc,
    const struct auth_method *method, enum login_result result)
{
	if (mc == NULL)
		return;
	counters_count(mc->counters,
	    counter_of_login((enum auth_method_id)(method - auth_method_table),
		result),
	    1);
	monitor_counts_flush(mc);
}

/* ---- limits -------------------------------------------------------------- */

static uint64_t
limit_of(int value)
{
	return value == INT_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Sets the group whose GroupRateMax holds for the user, and that rate. */
static void
find_group(const struct server_conf *conf, const struct user *user,
    struct counters_limits *l)
{
	const struct strlist *items = &conf->rate.group_max;
	struct strlist names = { 0 };
	size_t len;
	int i;

	if (items->n == 0)
		return;
	if (user_group_names(user, &names) != 0)
		log_error("the groups of %s are not known: GroupRateMax does "
			  "not hold", user->name);
	i = rate_of_groups(items, &names);
	strlist_clear(&names);
	if (i < 0 || rate_read_group(items->v[i], &len, &l->group_max) != 0)
		return;
	l->group = counters_sum(items->v[i], len);
}

static void
set_limits(struct monitor_counts *mc, const struct server_conf *conf,
    const struct user *user)
{
	struct counters_limits l = { .group_max = RATE_NONE };

	if (rate_read(conf->rate.user_max, &l.user_max) != 0 ||
	    rate_read(conf->rate.capacity, &mc->capacity) != 0)
		return; /* the values were checked when they were read */
	find_group(conf, user, &l);
	mc->least = MIN(MIN(l.user_max, l.group_max), mc->capacity);
	counters_set_limits(mc->counters, &l);
}

void
monitor_counts_share(struct monitor_counts *mc, const uint64_t want[2],
    bool at_once, uint64_t got[2])
{
	uint64_t now = clock_ms();

	if (mc != NULL && at_once && now - mc->at_once_ms < AT_ONCE_MS)
		at_once = false;
	if (mc != NULL && at_once)
		mc->at_once_ms = now;
	/* If the file cannot be used, the lowest limit of all holds for this
	 * connection alone. */
	if (mc == NULL ||
	    counters_share(mc->counters, want, mc->capacity, at_once, got) != 0)
		got[0] = got[1] = mc != NULL ? mc->least : RATE_NONE;
}

bool
monitor_counts_enter(struct monitor_counts *mc, const struct server_conf *conf,
    const struct user *user)
{
	int r;

	if (mc == NULL)
		return true;
	mc->asks = conf->session.max_sessions_per_user != INT_MAX;
	mc->open_max = (uint64_t)MAX(conf->session.max_sessions, 0);
	mc->active = mc->active || has_limits(conf);
	if (!mc->active)
		return true;
	set_limits(mc, conf, user);
	r = counters_login(mc->counters, user->uid,
	    limit_of(conf->session.max_connections_per_user));
	if (r == ERR_AGAIN)
		log_error("the counters are locked for too long: a login is "
			  "not held to MaxConnectionsPerUser");
	return r != ERR_LIMIT;
}

bool
monitor_counts_session(struct monitor_counts *mc,
    const struct server_conf *conf)
{
	return mc == NULL || !mc->asks ||
	    counters_session(mc->counters,
		limit_of(conf->session.max_sessions_per_user)) != ERR_LIMIT;
}

void
monitor_counts_session_end(struct monitor_counts *mc)
{
	if (mc != NULL && mc->asks)
		counters_session_end(mc->counters);
}

/* ---- claims -------------------------------------------------------------- */

void
monitor_counts_limit(struct monitor_counts *mc, const char *what)
{
	if (mc == NULL)
		return;
	counters_count(mc->counters, counter_of_limit(what), 1);
	monitor_counts_flush(mc);
}

static uint64_t
age_ms(const struct monitor_counts *mc)
{
	return clock_ms() - mc->began_ms + FIRST_MS;
}

static void
count_session(struct monitor_counts *mc, const char *kind)
{
	const struct counter_row *r;

	if (mc->sessions_told >= age_ms(mc) * SESSIONS_PER_MS)
		return;
	mc->sessions_told++;
	for (size_t i = 0; i < counter_row_count; i++) {
		r = &counter_rows[i];
		if (r->counter >= COUNTER_SHELLS &&
		    r->counter <= COUNTER_SUBSYSTEMS &&
		    strcmp(r->value, kind) == 0)
			counters_count(mc->counters, r->counter, 1);
	}
}

/* Counts what the claimed sums have grown by. A sum that shrinks is a lie, and
 * ignored. */
static void
count_sums(struct monitor_counts *mc, const struct event *e)
{
	uint64_t ms = age_ms(mc), sum;
	const struct claim *c;

	for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
		c = &claims[i];
		if (c->type != e->type)
			continue;
		sum = MIN(e->numbers[c->number], ms * c->per_ms);
		if (sum <= mc->claimed[i])
			continue;
		counters_count(mc->counters, c->counter,
		    sum - mc->claimed[i]);
		mc->claimed[i] = sum;
	}
}

void
monitor_counts_claim(struct monitor_counts *mc, const struct event *e)
{
	if (mc == NULL)
		return;
	if (e->type == EVENT_SESSION_OPEN)
		count_session(mc, e->texts[0]);
	count_sums(mc, e);
	/* If the session process asks for each session, those are counted then,
	 * and these events are not. */
	if (mc->asks || !mc->active)
		return;
	if (e->type == EVENT_SESSION_OPEN && mc->open < mc->open_max)
		counters_note_sessions(mc->counters, ++mc->open);
	else if (e->type == EVENT_SESSION_CLOSE && mc->open > 0)
		counters_note_sessions(mc->counters, --mc->open);
}

void
monitor_counts_flush_claims(struct monitor_counts *mc)
{
	uint64_t now = clock_ms();

	if (mc == NULL || now - mc->flushed_ms < LOCK_AGAIN_MS)
		return;
	mc->flushed_ms = now;
	monitor_counts_flush(mc);
}

void
monitor_counts_dropped(struct monitor_counts *mc, uint64_t lines)
{
	if (mc == NULL || lines <= mc->dropped)
		return;
	counters_count(mc->counters, COUNTER_LINES_DROPPED,
	    lines - mc->dropped);
	mc->dropped = lines;
}
