/* SPDX-License-Identifier: ISC */
/*
 * The clients of the agent: reading requests, waiting, writing answers. A
 * client has one request under way. What it sends meanwhile is kept, up to the
 * length of one message. After each answer the requests of other clients come
 * first.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent-internal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/cpu.h"
#include "compat/sock.h"

enum {
	LENGTH = 4, /* bytes of the length in front of a message */
	IN_MAX = LENGTH + AGENT_MESSAGE_MAX,
	READ_MAX = 16 * 1024,
	CLIENTS_MAX = 2048,
	/* Bytes of unanswered requests of all clients together. Beyond this
	 * limit, a client that has sent more than BUFFERED_EACH is
	 * disconnected. */
	BUFFERED_MAX = 32 * 1024 * 1024,
	BUFFERED_EACH = 16 * 1024,
	PAUSE_MS = 100,
};

static void on_event(void *arg, int fd, int events);
static void look(struct client *c);

/* ---- life ---------------------------------------------------------------- */

static void
listen_again(struct agentd *a)
{
	if (a->watch != NULL)
		loop_fd_want(a->watch,
		    a->pause == NULL && a->n_clients < CLIENTS_MAX ? LOOP_READ :
								     0);
}

static bool
is_waiting(const struct client *c)
{
	return c->waiting.dialog != NULL || c->waiting.job != NULL ||
	    c->waiting.timer != NULL;
}

static void
stop_waiting(struct client *c)
{
	dialog_drop(c->waiting.dialog);
	if (c->waiting.job != NULL)
		c->waiting.cancel(c->waiting.job);
	loop_cancel(c->a->loop, c->waiting.timer);
	c->waiting = (struct waiting){ 0 };
}

void
client_end(struct client *c)
{
	struct agentd *a = c->a;

	stop_waiting(c);
	loop_cancel(a->loop, c->turn);
	loop_unwatch(a->loop, c->watch);
	fd_close(&c->fd);
	a->buffered -= buf_len(&c->in);
	buf_clear(&c->in);
	buf_clear(&c->out);
	binds_clear(&c->binds);
	TAILQ_REMOVE(&a->clients, c, entry);
	free(c);
	a->n_clients--;
	listen_again(a);
}

void
agentd_take(struct agentd *a, int fd)
{
	struct client *c = calloc(1, sizeof *c);

	if (c == NULL || fd_set_nonblock(fd, true) != 0) {
		free(c);
		fd_close(&fd);
		return;
	}
	c->a = a;
	c->fd = fd;
	buf_init_secret(&c->in);
	TAILQ_INSERT_HEAD(&a->clients, c, entry);
	a->n_clients++;
	c->watch = loop_watch(a->loop, fd, LOOP_READ, on_event, c);
	if (c->watch == NULL)
		client_end(c);
}

/* ---- taking clients ------------------------------------------------------ */

static void
on_pause_over(void *arg)
{
	struct agentd *a = arg;

	a->pause = NULL;
	listen_again(a);
}

/* Stops accepting clients for PAUSE_MS after an accept that failed, most likely
 * because descriptors or memory are out, which passes. */
static void
pause_listening(struct agentd *a)
{
	log_error("a client could not be taken: %s", err_text(ERR_SYSTEM));
	a->pause = loop_after(a->loop, PAUSE_MS, on_pause_over, a);
	listen_again(a);
}

static void
on_client(void *arg, int listener, int events)
{
	struct agentd *a = arg;
	int fd = sock_accept(listener, NULL, NULL, SOCK_AT_ONCE);
	uid_t uid;
	gid_t gid;

	(void)events;
	if (fd == -1) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			pause_listening(a);
		return;
	}
	if (sock_peer_ids(fd, &uid, &gid) != 0 ||
	    (uid != 0 && uid != geteuid())) {
		log_error("a client of another user was refused");
		fd_close(&fd);
		return;
	}
	agentd_take(a, fd);
	listen_again(a);
}

int
agentd_listen(struct agentd *a, int fd)
{
	a->listener = fd;
	a->watch = loop_watch(a->loop, fd, LOOP_READ, on_client, a);
	return a->watch != NULL ? 0 : ERR_NOMEM;
}

/* ---- answers ------------------------------------------------------------- */

/* Tells the loop which events on the client's socket are wanted: it may be read
 * unless c->in is full, and written if there is an answer. */
static void
want(struct client *c)
{
	loop_fd_want(c->watch, (buf_len(&c->in) < IN_MAX ? LOOP_READ : 0) |
		(buf_len(&c->out) > 0 ? LOOP_WRITE : 0));
}

/* Sends as much of the answer as the socket takes. False: the connection
 * failed, and c is freed. */
static bool
flush(struct client *c)
{
	ssize_t n;

	while (buf_len(&c->out) > 0) {
		n = send(c->fd, buf_data(&c->out), buf_len(&c->out),
		    MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1) {
			client_end(c);
			return false;
		}
		buf_consume(&c->out, (size_t)n);
	}
	if (buf_len(&c->out) == 0)
		buf_clear(&c->out);
	want(c);
	return true;
}

/* The length of the first message in c->in, with the four bytes of its length
 * field; 0: the message is not complete. */
static size_t
first_len(const struct client *c)
{
	size_t have = buf_len(&c->in), len;

	if (have < LENGTH)
		return 0;
	len = LENGTH + (size_t)wire_get_u32(buf_data(&c->in));
	return len <= have ? len : 0;
}

static void
forget_first(struct client *c)
{
	size_t len = first_len(c);

	buf_consume(&c->in, len);
	c->a->buffered -= len;
	if (buf_len(&c->in) == 0) {
		buf_clear(&c->in);
		buf_init_secret(&c->in);
	}
	c->confirmed = 0;
	c->may_try = false;
}

static void
on_turn(void *arg)
{
	struct client *c = arg;

	c->turn = NULL;
	look(c);
}

/* Sends the answer to the client's first request. The client's next request
 * waits for the next turn of the loop, so that other clients come first. May
 * free c. */
static void
deliver(struct client *c, const struct buf *message)
{
	buf_put_string_buf(&c->out, message);
	if (buf_err(message) != 0 || buf_err(&c->out) != 0) {
		client_end(c);
		return;
	}
	forget_first(c);
	if (!flush(c))
		return;
	if (buf_len(&c->in) > 0 && c->turn == NULL &&
	    (c->turn = loop_after(c->a->loop, 0, on_turn, c)) == NULL)
		client_end(c);
}

/* ---- requests ------------------------------------------------------------ */

static void
run_first(struct client *c, size_t len)
{
	struct buf answer = { 0 };
	struct span message = { buf_data(&c->in) + LENGTH, len - LENGTH };

	if (requests_run(c, message, &answer) == ANSWERED)
		deliver(c, &answer);
	buf_clear(&answer);
	/* The request may have left parts of a private key in registers and on
	 * the stack. */
	cpu_clear_vectors();
	cpu_clear_stack();
}

/* Runs the client's next request if there is a complete one and nothing else is
 * under way. May free c. */
static void
look(struct client *c)
{
	size_t announced, len;

	if (is_waiting(c) || c->turn != NULL || buf_len(&c->out) > 0 ||
	    buf_len(&c->in) < LENGTH)
		return;
	announced = wire_get_u32(buf_data(&c->in));
	if (announced == 0 || announced > AGENT_MESSAGE_MAX) {
		log_debug("a message of %zu bytes: the client is ended",
		    announced);
		client_end(c);
		return;
	}
	len = first_len(c);
	if (len > 0)
		run_first(c, len);
}

void
client_again(struct client *c)
{
	run_first(c, first_len(c));
}

void
client_answer(struct client *c, const struct buf *message)
{
	deliver(c, message);
}

void
client_fail(struct client *c)
{
	struct buf b = { 0 };

	buf_put_u8(&b, AGENT_FAILURE);
	deliver(c, &b);
	buf_clear(&b);
}

/* Reads bytes from the client. False: the client has gone or has sent too much,
 * and c is freed. */
static bool
fill(struct client *c)
{
	size_t room = MIN(IN_MAX - buf_len(&c->in), (size_t)READ_MAX);
	uint8_t *p;
	ssize_t n;

	if (room == 0)
		return true;
	p = buf_reserve(&c->in, room);
	n = p != NULL ? fd_read(c->fd, p, room) : 0;
	if (n == -1 && errno == EAGAIN)
		return true;
	if (n > 0) {
		buf_commit(&c->in, (size_t)n);
		c->a->buffered += (size_t)n;
		if (c->a->buffered <= BUFFERED_MAX ||
		    buf_len(&c->in) <= BUFFERED_EACH)
			return true;
		log_error("too much is asked at once: a client is ended");
	}
	client_end(c);
	return false;
}

static void
on_event(void *arg, int fd, int events)
{
	struct client *c = arg;

	(void)fd;
	if ((events & LOOP_READ) != 0 && !fill(c))
		return;
	if (!flush(c))
		return;
	look(c);
}
