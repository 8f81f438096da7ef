/* SPDX-License-Identifier: ISC */
/*
 * What the user's process may ask: records of logins on terminals, proofs of
 * the host's other keys.
 */
#include "server/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "server/loginrec.h"
#include "server/pty.h"

enum {
	ALG_MAX = 256,	     /* bytes of an algorithm's name */
	SIGN_COST_MS = 20,   /* of one signature: 50 in a second */
	SIGN_BURST_MS = 512 * SIGN_COST_MS, /* may be owed */
};

/* Terminals are /dev/pts/N: nothing else gets into the records. */
static bool
tty_name_ok(const char *name)
{
	static const char dir[] = "/dev/pts/";
	const char *number = name + sizeof dir - 1;

	return str_has_prefix(name, dir) && number[0] != '\0' &&
	    number[strspn(number, "0123456789")] == '\0';
}

static struct loginrec
record_of(const struct monitor *m, const char *tty, pid_t pid)
{
	return (struct loginrec){ .user = m->login->user->name,
		.host = m->peer.host,
		.tty = tty,
		.pid = pid,
		.uid = m->login->user->uid };
}

static void
put_last_login(const struct monitor *m, struct buf *text)
{
	struct loginrec_last last;
	char when[64];
	struct tm tm;
	time_t t;

	if (!m->login->conf.print_last_log ||
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

static int
read_tty(struct rd *in, char **tty, pid_t *pid)
{
	uint32_t n;
	int r;

	*tty = rd_cstring(in, PTY_NAME_MAX);
	n = rd_u32(in);
	if ((r = rd_end(in)) == 0 &&
	    (!tty_name_ok(*tty) || n == 0 || n > INT32_MAX))
		r = ERR_FORMAT;
	if (r != 0) {
		free(*tty);
		*tty = NULL;
	}
	*pid = (pid_t)n;
	return r;
}

int
monitor_on_login(struct monitor *m, struct rd *in, struct buf *out)
{
	struct buf text = { 0 };
	struct loginrec rec;
	char *tty;
	pid_t pid;
	int r = read_tty(in, &tty, &pid);

	if (r != 0)
		return r;
	if (m->login->pam != NULL)
		pam_take_messages(m->login->pam, &text);
	put_last_login(m, &text);
	if (geteuid() == 0 && m->tty_count < MONITOR_TTYS_MAX) {
		rec = record_of(m, tty, pid);
		loginrec_login(&rec);
		m->ttys[m->tty_count++] = (struct monitor_tty){ tty, pid };
		tty = NULL;
	}
	buf_put_string_buf(out, &text);
	buf_clear(&text);
	free(tty);
	return 0;
}

static void
forget_tty(struct monitor *m, size_t i)
{
	struct loginrec rec = record_of(m, m->ttys[i].name, m->ttys[i].pid);

	loginrec_logout(&rec);
	free(m->ttys[i].name);
	m->ttys[i] = m->ttys[--m->tty_count];
}

int
monitor_on_logout(struct monitor *m, struct rd *in, struct buf *out)
{
	char *tty;
	pid_t pid;
	int r = read_tty(in, &tty, &pid);

	for (size_t i = 0; r == 0 && i < m->tty_count; i++)
		if (m->ttys[i].pid == pid && strcmp(m->ttys[i].name, tty) == 0)
			forget_tty(m, i);
	buf_put_string(out, NULL, 0);
	free(tty);
	return r;
}

void
monitor_logout_all(struct monitor *m)
{
	while (m->tty_count > 0)
		forget_tty(m, m->tty_count - 1);
}

uint64_t
monitor_sign_wait_ms(uint64_t *busy_ms, uint64_t now_ms)
{
	*busy_ms = MAX(*busy_ms, now_ms) + SIGN_COST_MS;
	return *busy_ms - now_ms > SIGN_BURST_MS ?
	    *busy_ms - now_ms - SIGN_BURST_MS :
	    0;
}

/* They are made with the host's keys and at the system's cost. More often than
 * keys change, even with small limits, nobody needs one; waiting stops no
 * honest client. */
void
monitor_wait_to_sign(struct monitor *m)
{
	uint64_t wait_ms = monitor_sign_wait_ms(&m->sign_busy_ms,
	    loop_now_ms());
	const struct timespec ts = { .tv_sec = (time_t)(wait_ms / 1000),
		.tv_nsec = (long)(wait_ms % 1000) * 1000000 };

	if (wait_ms > 0)
		(void)nanosleep(&ts, NULL);
}

/* What is signed is made here, and belongs to this connection: the user's
 * process only names the key. */
int
monitor_on_prove(struct monitor *m, struct rd *in, struct buf *out)
{
	char *rsa_alg = rd_cstring(in, ALG_MAX);
	struct span blob = rd_string(in);
	struct buf signature = { 0 };
	int r = rd_end(in);

	if (r == 0)
		monitor_wait_to_sign(m);
	if (r == 0)
		r = hostkeys_prove(&m->state.keys, blob, rsa_alg,
		    (struct span){ m->session_id, m->session_id_len },
		    &signature);
	if (r == ERR_NOT_FOUND) /* that is an answer */
		r = 0;
	buf_put_string_buf(out, &signature);
	buf_clear(&signature);
	free(rsa_alg);
	return r;
}
