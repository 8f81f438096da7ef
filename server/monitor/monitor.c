/* SPDX-License-Identifier: ISC */
#include "server/monitor/monitor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "server/monitor/monitor-events.h"
#include "server/monitor/monitor-shares.h"
#include "server/monitor/monitor-survive.h"

static int on_log(struct monitor *m, struct rd *in, struct buf *out);

enum {
	BEFORE_SESSION = MONITOR_PHASE_KEX | MONITOR_PHASE_AUTH |
	    MONITOR_PHASE_DIALOGUE | MONITOR_PHASE_ACCEPTED,
	TRIES_MAX = 1024, /* tries to log in, in one connection */
	LINE_MAX_BYTES = 4096, /* bytes of a log line */
	LINES_MAX = 256,  /* log lines of hpnsshd-auth; a login needs about a
			   * dozen */
};

/* All rules about requests: in which phases, how often and how fast they may be
 * made. hpnsshd-auth and the user's process have no request in common; the
 * user's process writes its log itself. docs/SECURITY-MODEL.md tells what each
 * request is worth to a process that was taken over. */
static const struct row {
	unsigned phases; /* enum monitor_phase: when it is admitted */
	bool once, answered;
	bool is_try; /* a try to log in: too many are refused */
	bool paced;  /* limited by monitor_sign_wait_ms() */
	/* Also admitted for a login that may do only SFTP, because rekeys need
	 * it. */
	bool for_sftp;
	monitor_handler handler; /* NULL: only converse_step() receives it */
} table[MONITOR_REQUEST_COUNT] = {
	[MONITOR_LOG] = { BEFORE_SESSION, .handler = on_log },
	[MONITOR_SIGN] = { MONITOR_PHASE_KEX, .once = true, .answered = true,
	    .handler = monitor_on_sign },
	[MONITOR_GSS_STEP] = { MONITOR_PHASE_KEX, .answered = true,
	    .handler = monitor_on_gss_step },
	[MONITOR_GSS_SIGN] = { MONITOR_PHASE_KEX, .once = true,
	    .answered = true, .handler = monitor_on_gss_sign },
	[MONITOR_USER] = { MONITOR_PHASE_KEX, .once = true, .answered = true,
	    .handler = monitor_on_user },
	[MONITOR_TRY] = { MONITOR_PHASE_AUTH, .answered = true,
	    .is_try = true, .handler = monitor_on_try },
	[MONITOR_TRY_ANSWER] = { MONITOR_PHASE_DIALOGUE, .answered = true,
	    .is_try = true },
	[MONITOR_HAND_OVER] = { MONITOR_PHASE_ACCEPTED, .once = true,
	    .handler = monitor_on_hand_over },
	[MONITOR_SIGN_REKEY] = { MONITOR_PHASE_SESSION, .answered = true,
	    .paced = true, .for_sftp = true,
	    .handler = monitor_on_sign_rekey },
	[MONITOR_GSS_STEP_REKEY] = { MONITOR_PHASE_SESSION, .answered = true,
	    .paced = true, .for_sftp = true,
	    .handler = monitor_on_gss_step_rekey },
	[MONITOR_GSS_SIGN_REKEY] = { MONITOR_PHASE_SESSION, .answered = true,
	    .for_sftp = true, .handler = monitor_on_gss_sign_rekey },
	[MONITOR_PTY] = { MONITOR_PHASE_SESSION, .answered = true,
	    .handler = monitor_on_pty },
	[MONITOR_PTY_END] = { MONITOR_PHASE_SESSION, .answered = true,
	    .handler = monitor_on_pty_end },
	[MONITOR_PROVE] = { MONITOR_PHASE_SESSION, .answered = true,
	    .paced = true, .handler = monitor_on_prove },
	[MONITOR_TICKETS] = { MONITOR_PHASE_SESSION, .answered = true,
	    .for_sftp = true, .handler = monitor_on_tickets },
	[MONITOR_SURVIVE] = { MONITOR_PHASE_SESSION, .answered = true,
	    .for_sftp = true, .handler = monitor_on_survive },
	[MONITOR_GRANT] = { MONITOR_PHASE_SESSION, .answered = true,
	    .for_sftp = true, .handler = monitor_on_grant },
	[MONITOR_GRANT_END] = { MONITOR_PHASE_SESSION, .answered = true,
	    .for_sftp = true, .handler = monitor_on_grant_end },
	[MONITOR_RECEIPT] = { MONITOR_PHASE_SESSION, .for_sftp = true,
	    .handler = monitor_on_receipt },
	[MONITOR_LOST] = { MONITOR_PHASE_SESSION, .once = true,
	    .for_sftp = true, .handler = monitor_on_lost },
	[MONITOR_EVENT] = { MONITOR_PHASE_SESSION, .for_sftp = true,
	    .handler = monitor_on_event },
	[MONITOR_SESSION] = { MONITOR_PHASE_SESSION, .answered = true,
	    .for_sftp = true, .handler = monitor_on_limited_session },
	[MONITOR_SHARES] = { MONITOR_PHASE_SESSION, .once = true,
	    .answered = true, .for_sftp = true, .handler = monitor_on_shares },
};

/* Whether a line of hpnsshd-auth is logged. Only lines up to level VERBOSE are
 * counted: debug levels are off unless an administrator looks for a fault. */
static bool
may_log(struct monitor *m, enum log_level level)
{
	if (level > LOG_LVL_VERBOSE)
		return true;
	if (m->lines < LINES_MAX && ++m->lines == LINES_MAX)
		log_error("further lines about %s are left out [preauth]",
		    m->peer.address);
	return m->lines < LINES_MAX;
}

static int
on_log(struct monitor *m, struct rd *in, struct buf *out)
{
	uint8_t byte = rd_u8(in), level = byte & ~MONITOR_LOG_FORCED;
	/* The flag of the other process counts only if LogVerbose is set. */
	bool forced = (byte & MONITOR_LOG_FORCED) != 0 &&
	    log_locations()->n > 0;
	char *text = rd_cstring(in, LINE_MAX_BYTES);
	int r = rd_end(in);

	(void)out;
	if (r == 0 && level > LOG_LVL_DEBUG3)
		r = ERR_PROTOCOL;
	if (r == 0 && may_log(m, (enum log_level)level))
		log_relay((enum log_level)level, forced, text, " [preauth]");
	free(text);
	return r;
}

/* Waits for a request. ERR_TIMEOUT: LoginGraceTime is over. */
static int
wait_request(const struct monitor *m)
{
	struct pollfd p = { .fd = m->fd, .events = POLLIN };
	uint64_t now;
	int wait_ms = -1, n;

	for (;;) {
		if (m->deadline_ms != 0) {
			now = clock_ms();
			if (now >= m->deadline_ms)
				return ERR_TIMEOUT;
			wait_ms = (int)MIN(m->deadline_ms - now, 60 * 1000);
		}
		n = poll(&p, 1, wait_ms);
		if (n > 0)
			return 0;
		if (n == -1 && errno != EINTR)
			return ERR_SYSTEM;
	}
}

static int
receive(struct monitor *m, struct buf *msg)
{
	int r;

	if (buf_len(&m->pending) > 0) {
		buf_put_buf(msg, &m->pending);
		buf_clear(&m->pending);
		return buf_err(msg);
	}
	if ((r = wait_request(m)) != 0)
		return r;
	r = fd_receive_msg(m->fd, msg, MONITOR_MSG_MAX);
	if (r == ERR_SYSTEM && (errno == ECONNRESET || errno == EPIPE)) {
		m->left_unread = true;
		r = ERR_EOF;
	}
	return r;
}

int
monitor_answer(struct monitor *m, const struct buf *fields)
{
	struct buf answer;
	int r;

	buf_init_secret(&answer);
	buf_put_bool(&answer, true);
	buf_put_buf(&answer, fields);
	r = fd_send_msg(m->fd, &answer);
	buf_clear(&answer);
	m->owes_answer = false;
	return r;
}

/* Whether another try is allowed. hpnsshd-auth also counts and disconnects;
 * this count also limits an hpnsshd-auth that an attacker has taken over. */
static bool
may_try(struct monitor *m)
{
	return m->tries++ < TRIES_MAX && m->login != NULL &&
	    m->login->failures <= m->login->conf.login.max_auth_tries;
}

/* Returns the row of a request that is admitted now, and counts the request.
 * NULL: it is not admitted. */
static const struct row *
admit(struct monitor *m, uint8_t type)
{
	const struct row *row;

	if (type == 0 || type >= MONITOR_REQUEST_COUNT)
		return NULL;
	row = &table[type];
	if (!(row->phases & m->phase) || (row->once && m->asked[type] > 0) ||
	    (row->is_try && !may_try(m)) || (m->sftp_only && !row->for_sftp &&
		m->phase == MONITOR_PHASE_SESSION))
		return NULL;
	m->asked[type]++;
	return row;
}

static int
dispatch(struct monitor *m, const struct buf *msg)
{
	struct rd r = rd_from_buf(msg);
	uint8_t type = rd_u8(&r);
	const struct row *row = admit(m, type);
	struct buf out;
	int err;

	if (row == NULL || row->handler == NULL) {
		log_error("monitor: request %u has no place in phase %u", type,
		    (unsigned)m->phase);
		return ERR_PROTOCOL;
	}
	m->owes_answer = row->answered;
	if (row->paced)
		monitor_wait_to_sign(m);
	buf_init_secret(&out);
	err = row->handler(m, &r, &out);
	if (err == 0 && m->owes_answer)
		err = monitor_answer(m, &out);
	buf_clear(&out);
	return err;
}

int
monitor_step(struct monitor *m)
{
	struct buf msg;
	int r;

	buf_init_secret(&msg);
	if ((r = receive(m, &msg)) == 0)
		r = dispatch(m, &msg);
	buf_clear(&msg);
	return r;
}

/* Receives the next request while a try waits for the client's answer. 1: it
 * was the answer. 0: it was a request that is admitted meanwhile.
 * ERR_CANCELLED: it was any other; it is kept in m->pending. */
static int
converse_step(struct monitor *m, struct buf *answer)
{
	struct buf msg;
	uint8_t type;
	int r;

	buf_init_secret(&msg);
	if ((r = receive(m, &msg)) != 0)
		goto out;
	type = buf_len(&msg) > 0 ? buf_data(&msg)[0] : 0;
	if (type >= MONITOR_REQUEST_COUNT ||
	    !(table[type].phases & MONITOR_PHASE_DIALOGUE)) {
		/* A dialogue that the client ends counts as a failure. */
		m->login->failures++;
		buf_put_buf(&m->pending, &msg);
		r = ERR_CANCELLED;
	} else if (table[type].handler != NULL) {
		r = dispatch(m, &msg);
	} else if (admit(m, type) == NULL) {
		r = ERR_LIMIT;
	} else {
		m->owes_answer = table[type].answered;
		buf_put(answer, buf_data(&msg) + 1, buf_len(&msg) - 1);
		r = buf_err(answer) != 0 ? buf_err(answer) : 1;
	}
out:
	buf_clear(&msg);
	return r;
}

int
monitor_converse(struct monitor *m, const struct monitor_verdict *v,
    struct buf *answer)
{
	enum monitor_phase phase = m->phase;
	struct buf fields = { 0 };
	int r;

	monitor_verdict_put(&fields, v);
	r = monitor_answer(m, &fields);
	buf_clear(&fields);
	m->phase = MONITOR_PHASE_DIALOGUE;
	while (r == 0)
		r = converse_step(m, answer);
	m->phase = phase;
	return MIN(r, 0);
}
