/* SPDX-License-Identifier: ISC */
#include "client/auth/gss-login.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/sock.h"
#include "gss/gss-wire.h"

enum {
	MESSAGE_MAX = 2 * GSS_TOKEN_MAX,
	REQUEST_MAX = GSS_TOKEN_MAX + 1024,
	WHY_MAX = 8 * 1024, /* bytes of an error text of the library */
};

/* Requests to the child, which it answers after it has made the first token. */
enum request {
	REQUEST_STEP,	/* string: the server's token; the reply has the next
			 * token */
	REQUEST_SIGN,	/* string: data; the reply has the MIC over it */
	REQUEST_VERIFY, /* strings: data, and the server's MIC over it */
};

struct gss_login {
	pid_t pid;
	int fd; /* socket to the child: each request is one message, its reply
		 * another */
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
	buf_put_u64(&b, p->expires_s);
	buf_put_string_buf(&b, &p->mic);
	r = buf_err(&b) != 0 ? buf_err(&b) : fd_send_msg(fd, &b);
	buf_clear(&b);
	return r;
}

/* Handles one request in the child; *out becomes the reply. */
static int
answer(struct gss_initiator *i, const struct buf *request,
    struct gss_proof *out, char **why)
{
	struct rd in = rd_from_buf(request);
	uint8_t what = rd_u8(&in);
	struct span data = rd_string(&in), mic = rd_string(&in);

	*why = NULL;
	*out = (struct gss_proof){ .complete = false };
	if (rd_end(&in) != 0)
		return ERR_PROTOCOL;
	switch (what) {
	case REQUEST_STEP:
		return gss_initiator_step(i, data, out, why);
	case REQUEST_SIGN:
		return gss_initiator_sign(i, data, &out->mic, why);
	case REQUEST_VERIFY:
		return gss_initiator_verify(i, data, mic, why);
	default:
		return ERR_PROTOCOL;
	}
}

/* The name that the DNS has for the address; NULL if there is none, or if the
 * DNS does not have this address for that name. Caller frees. */
static char *
name_of_address(const char *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST }, *ai, *list;
	char name[NI_MAXHOST], back[NI_MAXHOST];
	bool found = false;

	if (getaddrinfo(address, NULL, &hints, &ai) != 0)
		return NULL;
	if (getnameinfo(ai->ai_addr, ai->ai_addrlen, name, sizeof name, NULL,
		0, NI_NAMEREQD) != 0)
		name[0] = '\0';
	freeaddrinfo(ai);
	hints.ai_flags = 0;
	if (name[0] == '\0' || getaddrinfo(name, NULL, &hints, &list) != 0)
		return NULL;
	for (ai = list; ai != NULL && !found; ai = ai->ai_next)
		found = getnameinfo(ai->ai_addr, ai->ai_addrlen, back,
			    sizeof back, NULL, 0, NI_NUMERICHOST) == 0 &&
		    strcmp(back, address) == 0;
	freeaddrinfo(list);
	return found ? xstrdup(name) : NULL;
}

/* The work of the child: makes the first token, and then answers requests until
 * one fails or the parent has closed its end. */
static void
serve(const struct gss_request *wanted, int fd)
{
	struct gss_request w = *wanted;
	struct gss_proof proof = { .complete = false };
	struct gss_initiator *i = NULL;
	struct buf request = { 0 };
	char *why, *name = NULL;
	int r, sent;

	if (w.address != NULL && (name = name_of_address(w.address)) != NULL)
		w.host = name;
	if ((r = gss_initiator_new(&i, &w, &why)) == 0)
		r = gss_initiator_step(i, (struct span){ 0 }, &proof, &why);
	for (;;) {
		sent = send_reply(fd, r, &proof, why);
		gss_proof_clear(&proof);
		free(why);
		buf_reset(&request);
		if (sent != 0 || r != 0 ||
		    fd_receive_msg(fd, &request, REQUEST_MAX) != 0)
			break;
		r = answer(i, &request, &proof, &why);
	}
	buf_clear(&request);
	gss_initiator_free(i);
	free(name);
}

static _Noreturn void
run_child(const struct gss_request *request, int fd)
{
	set_signals();
	/* Ends this process if a call of the library hangs after the parent has
	 * gone. (While it waits for a request, the end of the parent is
	 * seen.) */
	alarm(2 * GSS_LOGIN_MAX_S);
	serve(request, fd);
	_exit(0);
}

/* ---- in the client ------------------------------------------------------ */

/* Waits for a reply, for at most limit_s seconds. */
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
	out->expires_s = rd_u64(&in);
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
gss_login_begin(struct gss_login **login, const struct gss_request *request,
    int limit_s)
{
	struct gss_login *l;
	int ends[2];
	pid_t pid;

	*login = NULL;
	if (sock_pair(SOCK_STREAM, ends) == -1)
		return ERR_SYSTEM;
	if ((pid = fork()) == 0) {
		close(ends[0]);
		run_child(request, ends[1]);
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
	*login = l;
	return 0;
}

int
gss_login_fd(const struct gss_login *login)
{
	return login->fd;
}

int
gss_login_first(struct gss_login *login, struct gss_proof *out, char **why)
{
	*out = (struct gss_proof){ .complete = false };
	*why = NULL;
	return read_reply(login, out, why);
}

int
gss_login_start(struct gss_login **login, const struct gss_request *request,
    int limit_s, struct gss_proof *out, char **why)
{
	struct gss_login *l;
	int r;

	*out = (struct gss_proof){ .complete = false };
	*why = NULL;
	if ((r = gss_login_begin(&l, request, limit_s)) == 0 &&
	    (r = gss_login_first(l, out, why)) != 0) {
		gss_login_end(l);
		l = NULL;
	}
	*login = l;
	return r;
}

static int
ask(struct gss_login *login, enum request what, struct span data,
    struct span mic, struct gss_proof *out, char **why)
{
	struct buf b = { 0 };
	int r;

	*out = (struct gss_proof){ .complete = false };
	*why = NULL;
	if (data.len + mic.len > GSS_TOKEN_MAX)
		return ERR_LIMIT;
	buf_put_u8(&b, (uint8_t)what);
	buf_put_string(&b, data.p, data.len);
	buf_put_string(&b, mic.p, mic.len);
	r = buf_err(&b) != 0 ? buf_err(&b) : fd_send_msg(login->fd, &b);
	buf_clear(&b);
	return r != 0 ? r : read_reply(login, out, why);
}

int
gss_login_step(struct gss_login *login, struct span token,
    struct gss_proof *out, char **why)
{
	return ask(login, REQUEST_STEP, token, (struct span){ 0 }, out, why);
}

int
gss_login_sign(struct gss_login *login, struct span data, struct buf *mic,
    char **why)
{
	struct gss_proof p;
	int r = ask(login, REQUEST_SIGN, data, (struct span){ 0 }, &p, why);

	if (r == 0) {
		buf_put_buf(mic, &p.mic);
		r = buf_err(mic);
	}
	gss_proof_clear(&p);
	return r;
}

int
gss_login_verify(struct gss_login *login, struct span data, struct span mic,
    char **why)
{
	struct gss_proof p;
	int r = ask(login, REQUEST_VERIFY, data, mic, &p, why);

	gss_proof_clear(&p);
	return r;
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
