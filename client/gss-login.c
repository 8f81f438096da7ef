/* SPDX-License-Identifier: ISC */
#include "client/gss-login.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gss/gss-wire.h"

enum {
	MESSAGE_MAX = 2 * GSS_TOKEN_MAX,
	WHY_MAX = 8 * 1024, /* bytes of the library's words */
};

struct gss_login {
	pid_t pid;
	int fd; /* a token each way, as long-framed messages */
	int limit_s;
};

/* ---- in the child ------------------------------------------------------- */

static void
set_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM,
		SIGALRM, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		int number = signals[i];

		(void)signal(number, SIG_DFL);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
send_reply(int fd, int result, const struct gss_proof *p, const char *why)
{
	struct buf b = { 0 };
	int r;

	buf_put_u32(&b, (uint32_t)result);
	buf_put_cstring(&b, why);
	buf_put_string_buf(&b, &p->token);
	buf_put_bool(&b, p->complete);
	buf_put_bool(&b, p->delegated);
	buf_put_string_buf(&b, &p->mic);
	r = buf_err(&b) != 0 ? buf_err(&b) : fd_send_msg(fd, &b);
	buf_clear(&b);
	return r;
}

/* A reply to each token, until nothing more can follow or the parent is
 * gone. */
static void
serve(const struct gss_wish *wish, int fd)
{
	struct gss_proof proof = { .complete = false };
	struct gss_initiator *i = NULL;
	struct buf token = { 0 };
	char *why;
	int r = gss_initiator_new(&i, wish, &why), sent;
	bool more;

	do {
		if (r == 0)
			r = gss_initiator_step(i,
			    (struct span){ buf_data(&token), buf_len(&token) },
			    &proof, &why);
		sent = send_reply(fd, r, &proof, why);
		more = sent == 0 && r == 0 && !proof.complete;
		gss_proof_clear(&proof);
		buf_reset(&token);
	} while (more && fd_receive_msg(fd, &token, GSS_TOKEN_MAX) == 0);
	gss_initiator_free(i);
}

static _Noreturn void
run_child(const struct gss_wish *wish, int fd)
{
	set_signals();
	/* Should the parent be gone, nobody else ends this process. */
	alarm(2 * GSS_LOGIN_MAX_S);
	serve(wish, fd);
	_exit(0);
}

/* ---- in the client ------------------------------------------------------ */

/* Until there is something to read, or the time is over. */
static int
wait_readable(const struct gss_login *login)
{
	uint64_t end_ms = clock_ms() + (uint64_t)login->limit_s * 1000, now_ms;
	struct pollfd p = { .fd = login->fd, .events = POLLIN };
	int n;

	while ((now_ms = clock_ms()) < end_ms) {
		n = poll(&p, 1, (int)(end_ms - now_ms));
		if (n > 0)
			return 0;
		if (n == -1 && errno != EINTR)
			return ERR_SYSTEM;
	}
	return ERR_TIMEOUT;
}

static int
parse_reply(const struct buf *b, struct gss_proof *out, char **why)
{
	struct rd in = rd_from_buf(b);
	int result = (int)rd_u32(&in), r;
	struct span token, mic;

	*why = rd_cstring(&in, WHY_MAX);
	token = rd_string(&in);
	out->complete = rd_bool(&in);
	out->delegated = rd_bool(&in);
	mic = rd_string(&in);
	if ((r = rd_end(&in)) != 0)
		return r;
	buf_put(&out->token, token.p, token.len);
	buf_put(&out->mic, mic.p, mic.len);
	if ((r = buf_err(&out->token)) == 0)
		r = buf_err(&out->mic);
	return r != 0 ? r : result;
}

static int
read_reply(const struct gss_login *login, struct gss_proof *out, char **why)
{
	struct buf b = { 0 };
	int r = wait_readable(login);

	if (r == 0)
		r = fd_receive_msg(login->fd, &b, MESSAGE_MAX);
	if (r == 0)
		r = parse_reply(&b, out, why);
	buf_clear(&b);
	return r;
}

int
gss_login_start(struct gss_login **login, const struct gss_wish *wish,
    int limit_s, struct gss_proof *out, char **why)
{
	struct gss_login *l;
	int ends[2], r;
	pid_t pid;

	*out = (struct gss_proof){ .complete = false };
	*why = NULL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
		return ERR_SYSTEM;
	if ((pid = fork()) == 0) {
		close(ends[0]);
		run_child(wish, ends[1]);
	}
	fd_close(&ends[1]);
	if (pid == -1) {
		fd_close(&ends[0]);
		return ERR_SYSTEM;
	}
	l = xcalloc(1, sizeof *l);
	l->pid = pid;
	l->fd = ends[0];
	l->limit_s = limit_s > 0 ? MIN(limit_s, GSS_LOGIN_MAX_S) :
				   GSS_LOGIN_MAX_S;
	if ((r = read_reply(l, out, why)) != 0) {
		gss_login_end(l);
		l = NULL;
	}
	*login = l;
	return r;
}

int
gss_login_step(struct gss_login *login, struct span token,
    struct gss_proof *out, char **why)
{
	struct buf b = { 0 };
	int r;

	*out = (struct gss_proof){ .complete = false };
	*why = NULL;
	if (token.len > GSS_TOKEN_MAX)
		return ERR_LIMIT;
	buf_put(&b, token.p, token.len);
	r = buf_err(&b) != 0 ? buf_err(&b) : fd_send_msg(login->fd, &b);
	buf_clear(&b);
	return r != 0 ? r : read_reply(login, out, why);
}

void
gss_login_end(struct gss_login *login)
{
	int status;

	if (login == NULL)
		return;
	fd_close(&login->fd);
	kill(login->pid, SIGKILL);
	(void)!child_reap(login->pid, &status);
	free(login);
}
