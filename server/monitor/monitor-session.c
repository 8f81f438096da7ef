/* SPDX-License-Identifier: ISC */
/*
 * Handlers of the requests of the user's process: terminals, signatures for new
 * keys, proofs of the host's other keys.
 */
#include "base/clock.h"
#include "server/monitor/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "server/monitor/loginrec.h"
#include "server/monitor/sign-rules.h"
#include "server/pty.h"

enum {
	ALG_MAX = 256,	     /* bytes of an algorithm's name */
	SIGN_COST_MS = 10,   /* time that one signature counts as: 100 in a
			      * second */
	/* How far signatures may be ahead of that: enough for one of each host
	 * key at once, because a client wants proofs of all of them. */
	SIGN_BURST_MS = HOSTKEYS_MAX * SIGN_COST_MS,
};

static struct loginrec
record_of(const struct monitor *m, const char *tty)
{
	return (struct loginrec){ .user = m->login->user->name,
		.host = m->tty_host != NULL ? m->tty_host : m->peer.host,
		.tty = tty,
		.pid = m->child, /* the process that has the terminal's
				  * master */
		.uid = m->login->user->uid };
}

static void
put_last_login(const struct monitor *m, struct buf *text)
{
	struct loginrec_last last;
	char when[64];
	struct tm tm;
	time_t t;

	if (!m->login->conf.session.print_last_log ||
	    !loginrec_last_of(m->login->user->uid, &last))
		return;
	t = (time_t)last.when;
	if (localtime_r(&t, &tm) == NULL ||
	    strftime(when, sizeof when, "%a %b %e %H:%M:%S %Y", &tm) == 0)
		return;
	if (last.host[0] != '\0')
		buf_printf(text, "Last login: %s from %s\n", when, last.host);
	else
		buf_printf(text, "Last login: %s\n", when);
}

static void
forget_tty(struct monitor *m, size_t i)
{
	struct loginrec rec = record_of(m, m->ttys[i]);

	if (geteuid() == 0)
		loginrec_logout(&rec);
	free(m->ttys[i]);
	m->ttys[i] = m->ttys[--m->tty_count];
}

static void
forget_tty_of_name(struct monitor *m, const char *name)
{
	for (size_t i = 0; i < m->tty_count; i++)
		if (strcmp(m->ttys[i], name) == 0) {
			forget_tty(m, i);
			return;
		}
}

static bool
may_have_tty(const struct monitor *m)
{
	const struct login *l = m->login;
	size_t max = MIN((size_t)MAX(l->conf.session.max_sessions, 0),
	    MONITOR_TTYS_MAX);

	return l->conf.session.permit_tty && l->permits.pty &&
	       m->tty_count < max;
}

/* Records the login on a terminal. Terminal and process are not taken from the
 * request, so the user's process cannot have anything else recorded. */
static void
record_login(struct monitor *m, const char *name)
{
	struct loginrec rec = record_of(m, name);

	/* A terminal of this name that is still recorded was closed without
	 * MONITOR_PTY_END: otherwise the kernel would not have reused the
	 * name. */
	forget_tty_of_name(m, name);
	if (geteuid() == 0)
		loginrec_login(&rec);
	m->ttys[m->tty_count++] = xstrdup(name);
}

static int
pass_tty(struct monitor *m, const char *name, const int fds[2])
{
	struct buf fields = { 0 }, text = { 0 };
	int r;

	if (m->login->pam != NULL)
		pam_take_messages(m->login->pam, &text);
	put_last_login(m, &text);
	record_login(m, name);
	buf_put_cstring(&fields, name);
	buf_put_string_buf(&fields, &text);
	r = monitor_answer(m, &fields);
	if (r == 0)
		r = fd_send_fds(m->fd, fds, 2);
	buf_clear(&fields);
	buf_clear(&text);
	return r;
}

int
monitor_on_pty(struct monitor *m, struct rd *in, struct buf *out)
{
	char name[PTY_NAME_MAX];
	int fds[2], r = rd_end(in);

	if (r != 0)
		return r;
	if (may_have_tty(m)) {
		r = pty_open(&fds[0], &fds[1], name);
		if (r == 0 &&
		    (r = pty_give(fds[1], m->login->user->uid,
			 m->login->user->gid)) == 0)
			r = pass_tty(m, name, fds);
		if (r != 0)
			log_error("cannot open a terminal: %s", err_text(r));
		fd_close(&fds[0]);
		fd_close(&fds[1]);
	}
	if (m->owes_answer) { /* not answered yet: no terminal could be had */
		buf_put_cstring(out, "");
		buf_put_cstring(out, "");
		r = 0;
	}
	return r;
}

/* Ends the login record of a terminal. Only terminals that were opened for this
 * connection are found. */
int
monitor_on_pty_end(struct monitor *m, struct rd *in, struct buf *out)
{
	char *name = rd_cstring(in, PTY_NAME_MAX);
	int r = rd_end(in);

	(void)out;
	if (r == 0)
		forget_tty_of_name(m, name);
	free(name);
	return r;
}

void
monitor_move_ttys(struct monitor *m, const char *host)
{
	struct loginrec rec;

	free(m->tty_host);
	m->tty_host = xstrdup(host);
	for (size_t i = 0; geteuid() == 0 && i < m->tty_count; i++) {
		rec = record_of(m, m->ttys[i]);
		loginrec_move(&rec);
	}
}

void
monitor_logout_all(struct monitor *m)
{
	while (m->tty_count > 0)
		forget_tty(m, m->tty_count - 1);
	free(m->tty_host);
	m->tty_host = NULL;
}

uint64_t
monitor_sign_wait_ms(uint64_t *busy_ms, uint64_t now_ms)
{
	*busy_ms = MAX(*busy_ms, now_ms) + SIGN_COST_MS;
	return *busy_ms - now_ms > SIGN_BURST_MS ?
	    *busy_ms - now_ms - SIGN_BURST_MS :
	    0;
}

/* Waits until the next signature may be made. The limit is a fixed one, because
 * signing costs the system time, and only the user's process could tell how
 * much data was sent since the last rekey. */
void
monitor_wait_to_sign(struct monitor *m)
{
	uint64_t wait_ms = monitor_sign_wait_ms(&m->sign_busy_ms,
	    clock_ms());

	if (wait_ms > 0)
		clock_sleep_us(wait_ms * 1000);
}

/* Proves a host key. The data to sign are composed here for this connection;
 * the user's process only names the key. */
int
monitor_on_prove(struct monitor *m, struct rd *in, struct buf *out)
{
	char *rsa_alg = rd_cstring(in, ALG_MAX);
	struct span blob = rd_string(in);
	struct buf signature = { 0 };
	int r = rd_end(in);

	if (r == 0 && !sign_rules_rsa_proof(&m->state.conf, rsa_alg))
		r = ERR_PROTOCOL;
	if (r == 0)
		r = hostkeys_prove(&m->state.keys, blob, rsa_alg,
		    (struct span){ m->session_id, m->session_id_len },
		    monitor_signer_ms(m), &signature);
	if (r == ERR_NOT_FOUND || r == ERR_AGENT) /* no error: the answer is an
						   * empty signature */
		r = 0;
	buf_put_string_buf(out, &signature);
	buf_clear(&signature);
	free(rsa_alg);
	return r;
}
