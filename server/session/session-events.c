/* SPDX-License-Identifier: ISC */
#include "server/session/session-events.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tcp.h"
#include "conf/event-log.h"
#include "server/events/event.h"
#include "server/monitor-wire.h"
#include "server/session/session.h"

enum {
	FLUSH_MS = 100,		 /* how long an event may wait */
	SUMMARY_MS = 10 * 1000,	 /* how often sums are told */
	MESSAGE_MAX = 16 * 1024, /* bytes of events in one request */
	KEPT_MAX = 4 * 1024 * 1024,
	END_MS = 1000,
	WORD_MAX = 256,
	BYTES_MIN = 1024 * 1024, /* less than that was held by nothing */
};

/* The sums in the order of the numbers of EVENT_SUMMARY. */
enum sum {
	FILES_READ,
	FILES_WRITTEN,
	BYTES_READ,
	BYTES_WRITTEN,
	DELETES,
	RENAMES,
	FAILURES,
	DROPPED,
	SUMS
};

struct session_events {
	struct loop *loop;
	int fd;
	int detail; /* enum server_event_detail */
	bool sums_wanted;
	/* For MetricsTextfile: the connection whose figures are sent with the
	 * sums every 10 s; NULL: they are sent at its end only. */
	const struct packet *packet;
	int socket_fd;
	struct loop_timer *figures;
	struct buf kept; /* events, each as a string */
	struct loop_timer *flush, *summary;
	uint64_t began_ms;
	uint64_t sums[SUMS];
};

static void on_flush(void *arg);
static void on_summary(void *arg);

struct session_events *
session_events_new(struct loop *l, int monitor_fd,
    const struct server_conf *conf)
{
	const char *path;
	bool is_logged = conf->log.event_log != NULL &&
	    event_log_split(conf->log.event_log, &path) != EVENT_LOG_NONE;
	bool is_counted = conf->log.metrics_textfile != NULL;
	struct session_events *se;

	if (!is_logged && !is_counted)
		return NULL;
	se = xcalloc(1, sizeof *se);
	se->loop = l;
	se->fd = monitor_fd;
	se->began_ms = clock_ms();
	se->detail =
	    is_logged ? conf->log.event_detail : SERVER_EVENT_SUMMARY;
	se->sums_wanted = is_counted || se->detail != SERVER_EVENT_SESSIONS;
	return se;
}

/* ---- to the monitor ------------------------------------------------------ */

/* How many bytes of kept are whole events that fit into one request. */
static size_t
batch(const struct session_events *se)
{
	const uint8_t *p = buf_data(&se->kept);
	size_t len = buf_len(&se->kept), n = 0, one;

	while (n + 4 <= len) {
		one = 4 + (size_t)wire_get_u32(p + n);
		if (n > 0 && n + one > MESSAGE_MAX)
			break;
		n += one;
	}
	return n;
}

/* Sends what the monitor takes. end_ms: it may wait until then; 0: not at
 * all. */
static void
flush(struct session_events *se, uint64_t end_ms)
{
	struct buf b = { 0 };
	size_t n;
	int r = 0;

	while (r == 0 && (n = batch(se)) > 0) {
		buf_put_u8(&b, MONITOR_EVENT);
		buf_put(&b, buf_data(&se->kept), n);
		r = fd_try_send_msg(se->fd, &b, end_ms);
		if (r == 0)
			buf_consume(&se->kept, n);
		buf_reset(&b);
	}
	buf_clear(&b);
	/* A monitor that has gone will take nothing any more. */
	if (r != 0 && r != ERR_AGAIN)
		buf_reset(&se->kept);
}

static void
flush_later(struct session_events *se)
{
	if (se->flush == NULL && buf_len(&se->kept) > 0)
		se->flush = loop_after(se->loop, FLUSH_MS, on_flush, se);
}

static void
on_flush(void *arg)
{
	struct session_events *se = arg;

	se->flush = NULL;
	flush(se, 0);
	flush_later(se);
}

static void
tell(struct session_events *se, const struct event *e)
{
	struct buf one = { 0 };

	if (buf_len(&se->kept) >= KEPT_MAX) {
		se->sums[DROPPED]++;
		return;
	}
	event_put(&one, e);
	buf_put_string_buf(&se->kept, &one);
	buf_clear(&one);
	if (buf_len(&se->kept) >= MESSAGE_MAX)
		flush(se, 0);
	flush_later(se);
}

/* ---- sessions ------------------------------------------------------------ */

/* The job that the client names: a variable of Slurm's, if AcceptEnv lets it
 * in; or NULL. */
static const char *
job_of(const struct strlist *env)
{
	static const char name[] = "SLURM_JOB_ID=";

	for (size_t i = 0; i < env->n; i++)
		if (str_has_prefix(env->v[i], name))
			return env->v[i] + sizeof name - 1;
	return NULL;
}

void
session_events_open(struct session_events *se, uint32_t id,
    const struct session_start *start)
{
	const char *command = start->plan.command, *kind = "shell";
	char word[WORD_MAX] = "";
	size_t len;

	if (se == NULL)
		return;
	if (start->subsystem != NULL) {
		kind = "subsystem";
		command = start->subsystem;
	} else if (command != NULL) {
		kind = "exec";
	}
	if (command != NULL) {
		command += strspn(command, " \t\n");
		len = strcspn(command, " \t\n");
		len = MIN(len, sizeof word - 1);
		memcpy(word, command, len);
		word[len] = '\0';
	}
	tell(se, &(struct event){ .type = EVENT_SESSION_OPEN,
		     .texts = { kind, word, job_of(start->env) },
		     .numbers = { id } });
}

void
session_events_close(struct session_events *se, uint32_t id)
{
	if (se != NULL)
		tell(se, &(struct event){ .type = EVENT_SESSION_CLOSE,
			     .numbers = { id } });
}

/* ---- what was moved ------------------------------------------------------ */

static void
tell_sums(struct session_events *se)
{
	struct event e = { .type = EVENT_SUMMARY };

	memcpy(e.numbers, se->sums, sizeof se->sums);
	if (se->sums_wanted)
		tell(se, &e);
}

static void
on_summary(void *arg)
{
	struct session_events *se = arg;

	se->summary = NULL;
	tell_sums(se);
}

static void
count(struct session_events *se, const struct sftp_serve_event *e)
{
	switch (e->what) {
	case SFTP_SERVE_TRANSFER:
		se->sums[BYTES_READ] += e->bytes_read;
		se->sums[BYTES_WRITTEN] += e->bytes_written;
		if (e->result == SFTP_SERVE_FAILED)
			se->sums[FAILURES]++;
		else if (e->result == SFTP_SERVE_DONE)
			se->sums[e->writes ? FILES_WRITTEN : FILES_READ]++;
		break;
	case SFTP_SERVE_DELETE:
		se->sums[DELETES]++;
		break;
	case SFTP_SERVE_RENAME:
		se->sums[RENAMES]++;
		break;
	}
}

static void
tell_one(struct session_events *se, uint32_t id,
    const struct sftp_serve_event *e)
{
	static const char *const results[] = { [SFTP_SERVE_DONE] = "done",
		[SFTP_SERVE_PART] = "part", [SFTP_SERVE_FAILED] = "failed" };
	struct event out = { .paths = { e->path, e->path2 } };

	out.numbers[0] = id;
	switch (e->what) {
	case SFTP_SERVE_TRANSFER:
		out.type = EVENT_TRANSFER;
		out.texts[0] = e->writes ? "put" : "get";
		out.texts[1] = results[e->result];
		out.numbers[1] = e->bytes_read;
		out.numbers[2] = e->bytes_written;
		out.numbers[3] = e->ms;
		break;
	case SFTP_SERVE_DELETE:
		out.type = EVENT_DELETE;
		break;
	case SFTP_SERVE_RENAME:
		out.type = EVENT_RENAME;
		break;
	}
	tell(se, &out);
}

void
session_events_sftp(struct session_events *se, uint32_t id,
    const struct sftp_serve_event *e)
{
	if (se == NULL)
		return;
	count(se, e);
	if (se->detail == SERVER_EVENT_FILES)
		tell_one(se, id, e);
	if (se->summary == NULL && se->sums_wanted)
		se->summary = loop_after(se->loop, SUMMARY_MS, on_summary, se);
}

/* ---- the connection ------------------------------------------------------ */

/* What held back the data that this end has sent, for most of the time. "" if
 * this end has mostly received data: what held that back only the client's
 * kernel knows. */
static const char *
held_by(const struct tcp_numbers *t, uint64_t in, uint64_t out,
    uint64_t elapsed_us)
{
	static const char *const names[] = { "receive-buffer", "send-buffer",
		"path", "idle" };
	uint64_t busy = t->v[TCP_BUSY_TIME], buffers, v[4];
	size_t most = 3;

	if (out < BYTES_MIN || out < in || t->kernel == 0)
		return "";
	v[0] = t->v[TCP_RWND_LIMITED];
	v[1] = t->v[TCP_SNDBUF_LIMITED];
	buffers = v[0] + v[1];
	v[2] = busy > buffers ? busy - buffers : 0;
	v[3] = elapsed_us > busy ? elapsed_us - busy : 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (v[i] > v[most])
			most = i;
	return names[most];
}

static void
tell_figures(struct session_events *se, const struct packet *p, int socket_fd,
    const char *cipher)
{
	struct event e = { .type = EVENT_CONNECTION, .texts = { cipher } };
	struct tcp_numbers t;

	e.numbers[0] = packet_counters(p, PACKET_RX).bytes;
	e.numbers[1] = packet_counters(p, PACKET_TX).bytes;
	if (tcp_measure(socket_fd, &t) == 0) {
		e.numbers[2] = t.v[TCP_RTT];
		e.numbers[3] = t.v[TCP_TOTAL_RETRANS];
		e.numbers[4] = t.v[TCP_BUSY_TIME];
		e.numbers[5] = t.v[TCP_RWND_LIMITED];
		e.numbers[6] = t.v[TCP_SNDBUF_LIMITED];
		e.texts[1] = held_by(&t, e.numbers[0], e.numbers[1],
		    (clock_ms() - se->began_ms) * 1000);
	}
	tell(se, &e);
}

static void
on_figures(void *arg)
{
	struct session_events *se = arg;

	tell_figures(se, se->packet, se->socket_fd, NULL);
	se->figures = loop_after(se->loop, SUMMARY_MS, on_figures, se);
}

void
session_events_measure(struct session_events *se, const struct packet *p,
    int socket_fd, const struct server_conf *conf)
{
	if (se == NULL || conf->log.metrics_textfile == NULL)
		return;
	se->packet = p;
	se->socket_fd = socket_fd;
	se->figures = loop_after(se->loop, SUMMARY_MS, on_figures, se);
}

/* ---- the end ------------------------------------------------------------- */

static bool
has_moved(const struct session_events *se)
{
	for (size_t i = 0; i < SUMS; i++)
		if (se->sums[i] != 0)
			return true;
	return false;
}

/* Drops the events that the monitor has not taken in time, so that the sums can
 * be sent; the dropped ones are counted. */
static void
give_up(struct session_events *se)
{
	const uint8_t *p = buf_data(&se->kept);
	size_t len = buf_len(&se->kept);

	for (size_t at = 0; at + 4 <= len; se->sums[DROPPED]++)
		at += 4 + (size_t)wire_get_u32(p + at);
	buf_reset(&se->kept);
}

void
session_events_end(struct session_events *se, const struct packet *p,
    int socket_fd, const char *cipher)
{
	if (se == NULL)
		return;
	loop_cancel(se->loop, se->flush);
	loop_cancel(se->loop, se->summary);
	loop_cancel(se->loop, se->figures);
	flush(se, clock_ms() + END_MS);
	give_up(se);
	if (has_moved(se))
		tell_sums(se);
	tell_figures(se, p, socket_fd, cipher);
	loop_cancel(se->loop, se->flush);
	flush(se, clock_ms() + END_MS);
	buf_clear(&se->kept);
	free(se);
}
