/* SPDX-License-Identifier: ISC */
#include "client/report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "client/report/report-command.h"
#include "client/report/report-data.h"
#include "client/report/report-page.h"
#include "compat/queue.h"
#include "xfer/whole-file.h"

enum { DIGEST_BYTES = 32 };

struct report_conn {
	struct report *report;
	report_measure_fn measure;
	void *arg;
	struct report_link *link; /* borrowed from the data */
	struct why_slow before;	  /* the last measurement */
	/* The server's last figures, and by how much they had grown since those
	 * before. */
	struct tcp_numbers remote_last, remote_since;
	uint64_t remote_ms, remote_since_ms;
	TAILQ_ENTRY(report_conn) entry;
};

struct report {
	const char *path;
	struct report_data *data; /* owned; NULL once the page was written */
	struct progress *progress;
	struct progress_watch watch;
	uint64_t began_ms;
	uint64_t moved, moved_last; /* bytes of all runs together; and of this
				     * run at the last sample */
	pid_t pid; /* the process that records: a child that calls exit(3)
		    * writes no page */
	TAILQ_HEAD(, report_conn) conns;
};

/* The report that at_exit() writes. */
static struct report *current;

/* ---- connections -------------------------------------------------------- */

static void
set_text(char **field, const char *text)
{
	char *copy;

	if (text == NULL || (*field != NULL && strcmp(*field, text) == 0) ||
	    (copy = strdup(text)) == NULL)
		return;
	free(*field);
	*field = copy;
}

/* Packets that both ends together have sent again. */
static uint64_t
resent_of(const struct why_slow *w)
{
	return w->local.v[TCP_TOTAL_RETRANS] + w->remote.v[TCP_TOTAL_RETRANS];
}

/* The round trip that the sender of most data sees, if it is known. */
static uint64_t
rtt_of(const struct why_slow *w)
{
	uint64_t remote = w->remote.v[TCP_RTT];

	return w->received > w->sent && remote > 0 ? remote :
						     w->local.v[TCP_RTT];
}

/* Takes new figures of the server. They come at times of their own, so the
 * growth between the last two is used until the next ones are there. */
static void
take_remote(struct report_conn *c, const struct why_slow *now)
{
	if (now->remote.kernel == 0 || now->remote_ms <= c->remote_ms)
		return;
	c->remote_since = why_slow_tcp_since(&now->remote, &c->remote_last);
	c->remote_since_ms = now->remote_ms - c->remote_ms;
	c->remote_last = now->remote;
	c->remote_ms = now->remote_ms;
}

static void
add_held(struct report_conn *c, const struct why_slow *now,
    struct report_point *p)
{
	struct why_slow since = why_slow_since(now, &c->before);
	unsigned percent[WHY_SLOW_KINDS];

	since.remote = c->remote_since;
	since.remote_ms = c->remote_since_ms;
	why_slow_shares(&since, now->sent > now->received, percent);
	for (size_t k = 0; k < WHY_SLOW_KINDS; k++)
		p->held_ms[k] += since.elapsed_ms * percent[k] / 100;
	p->open_ms += since.elapsed_ms;
}

static void
note_link(struct report_link *l, const struct why_slow *w, const char *peer)
{
	uint64_t least = w->local.v[TCP_MIN_RTT];

	l->sent = w->sent;
	l->received = w->received;
	set_text(&l->cipher, w->cipher);
	set_text(&l->peer, peer);
	if (!w->measured)
		return;
	l->has_tcp = true;
	l->resent = resent_of(w);
	if (w->remote.v[TCP_MIN_RTT] > 0)
		least = MIN(least, w->remote.v[TCP_MIN_RTT]);
	l->rtt_least_us = (uint32_t)MIN(least, UINT32_MAX);
}

/* Fills in the newest point of a connection. */
static void
sample_conn(struct report_conn *c, struct report_point *p)
{
	struct report_data *d = c->report->data;
	struct report_link_point *lp = &c->link->points[d->n_points - 1];
	struct why_slow now = { .elapsed_ms = 0 };
	const char *peer = NULL;

	if (!c->measure(c->arg, &now, false, &peer))
		return;
	/* A connection that was lost has no socket, and keeps its last
	 * figures. */
	if (!now.measured && c->before.measured)
		now.local = c->before.local;
	c->link->until_ms = p->ms;
	note_link(c->link, &now, peer);
	lp->bytes = now.sent + now.received;
	if (now.cipher == NULL)
		return;
	take_remote(c, &now);
	add_held(c, &now, p);
	lp->rtt_us = MAX(lp->rtt_us,
	    (uint32_t)MIN(rtt_of(&now), UINT32_MAX));
	lp->resent = resent_of(&now);
	c->before = now;
}

struct report_conn *
report_conn_new(struct report *r, const char *host, report_measure_fn measure,
    void *arg)
{
	struct report_conn *c;
	struct report_link *link;

	if (r == NULL || r->data == NULL ||
	    (link = report_data_link(r->data, host)) == NULL)
		return NULL;
	link->from_ms = link->until_ms = clock_ms() - r->began_ms;
	c = xcalloc(1, sizeof *c);
	*c = (struct report_conn){ .report = r, .measure = measure,
		.arg = arg, .link = link };
	TAILQ_INSERT_TAIL(&r->conns, c, entry);
	return c;
}

/* Takes a sample. always: if it is too early for a point, the last point is
 * updated. */
static void
sample(struct report *r, uint64_t now_ms, bool always)
{
	struct report_data *d = r->data;
	struct report_conn *c;
	struct report_point *p = report_data_point(d,
	    now_ms - MIN(now_ms, r->began_ms), always);

	if (p == NULL && always && d->n_points > 1)
		p = &d->points[d->n_points - 1];
	if (p == NULL)
		return;
	p->moved = r->moved;
	TAILQ_FOREACH(c, &r->conns, entry)
		sample_conn(c, p);
}

/* Notes what held the connection back, by the figures of its whole life. */
static void
note_why(struct report_conn *c)
{
	struct why_slow w = { .elapsed_ms = 0 };
	const char *peer = NULL;
	struct buf text;

	if (!c->measure(c->arg, &w, true, &peer))
		return;
	note_link(c->link, &w, peer);
	if (w.cipher == NULL)
		return;
	buf_init(&text);
	if (why_slow_text(&w, &text))
		c->link->why = buf_dup_string(&text);
	buf_clear(&text);
}

void
report_conn_end(struct report_conn *c)
{
	if (c == NULL)
		return;
	if (c->report->data != NULL) {
		sample(c->report, clock_ms(), true);
		note_why(c);
	}
	TAILQ_REMOVE(&c->report->conns, c, entry);
	free(c);
}

/* ---- the progress ------------------------------------------------------- */

static void
on_sampled(void *arg, uint64_t moved, uint64_t now_ms)
{
	struct report *r = arg;

	r->moved += moved > r->moved_last ? moved - r->moved_last : 0;
	r->moved_last = moved;
	sample(r, now_ms, false);
}

static void
on_finished(void *arg, const struct progress_item *item, uint64_t now_ms)
{
	const struct report *r = arg;

	report_data_file(r->data, item->name, item->done, item->kept,
	    now_ms - item->start_ms);
}

static void
on_failed(void *arg, const char *path, const char *text)
{
	const struct report *r = arg;
	char *shown_path = report_without_password(path != NULL ? path : "");
	char *shown_text = report_without_password(text);

	report_data_failure(r->data, shown_path, shown_text);
	free(shown_text);
	free(shown_path);
}

void
report_watch(struct report *r, struct progress *p)
{
	if (r == NULL || p == NULL)
		return;
	r->watch = (struct progress_watch){ .sampled = on_sampled,
		.finished = on_finished, .failed = on_failed, .arg = r };
	r->progress = p;
	progress_set_watch(p, &r->watch);
}

const char *
report_path(const struct report *r)
{
	return r->path;
}

void
report_set_tries(struct report *r, unsigned tries)
{
	if (r != NULL)
		r->data->tries = tries;
}

void
report_digest(struct report *r, const char *name, const uint8_t *digest)
{
	if (r != NULL && r->data != NULL)
		report_data_digest(r->data, name, digest, DIGEST_BYTES);
}

/* ---- life --------------------------------------------------------------- */

/* Tries to make the file, before anything is copied. */
static int
try_out(const char *path)
{
	struct whole_file *f;

	return whole_file_create(&f, path, 0600) != 0 ? ERR_SYSTEM :
	    whole_file_end(f, false);
}

static int
write_page(const struct report *r)
{
	struct whole_file *f;
	struct buf page;
	int error;

	if (whole_file_create(&f, r->path, 0600) != 0)
		return ERR_SYSTEM;
	buf_init(&page);
	report_page(r->data, &page);
	error = buf_err(&page);
	whole_file_write(f, buf_data(&page), buf_len(&page));
	buf_clear(&page);
	if (error == 0)
		return whole_file_end(f, true);
	(void)!whole_file_end(f, false);
	errno = ENOMEM;
	return ERR_SYSTEM;
}

/* Ends the recording and writes the page. */
static int
finish(struct report *r, int status, bool interrupted)
{
	struct report_data *d = r->data;
	int result, error;

	if (r->progress != NULL) {
		d->verified = progress_verified_files(r->progress);
		progress_set_watch(r->progress, NULL);
	}
	d->ended = time(NULL);
	d->took_ms = clock_ms() - r->began_ms;
	d->status = status;
	d->interrupted = interrupted;
	result = write_page(r);
	error = errno;
	report_data_free(d);
	r->data = NULL;
	errno = error;
	return result;
}

/* Writes the page when the program ends early by exit(3). The connections are
 * not asked any more, because their state is unknown then. */
static void
at_exit(void)
{
	if (current == NULL || current->data == NULL ||
	    current->pid != getpid())
		return;
	if (finish(current, -1, false) != 0)
		log_error("%s: %s", current->path, strerror(errno));
}

int
report_new(struct report **out, const char *program, const char *path,
    struct strlist *command, size_t left_out)
{
	char host[256] = "";
	struct report *r;

	if (try_out(path) != 0)
		return ERR_SYSTEM;
	r = xcalloc(1, sizeof *r);
	if ((r->data = report_data_new()) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	TAILQ_INIT(&r->conns);
	r->path = path;
	r->pid = getpid();
	r->began_ms = clock_ms();
	r->data->began = time(NULL);
	r->data->program = program;
	r->data->version = HPN_IDENT;
	r->data->command = *command;
	*command = (struct strlist){ NULL, 0 };
	r->data->names_left_out = left_out;
	if (gethostname(host, sizeof host - 1) == 0)
		r->data->here = strdup(host);
	current = r;
	if (atexit(at_exit) != 0)
		log_debug("no report if the program ends early");
	*out = r;
	return 0;
}

int
report_end(struct report *r, int status, bool interrupted)
{
	struct report_conn *c;

	if (r == NULL || r->data == NULL)
		return 0;
	sample(r, clock_ms(), true);
	TAILQ_FOREACH(c, &r->conns, entry)
		note_why(c);
	return finish(r, status, interrupted);
}

void
report_free(struct report *r)
{
	if (r == NULL)
		return;
	ENSURE(TAILQ_EMPTY(&r->conns));
	report_data_free(r->data);
	current = NULL;
	free(r);
}
