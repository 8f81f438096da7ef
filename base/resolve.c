/* SPDX-License-Identifier: ISC */
#include "base/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/lookup.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/queue.h"
#include "compat/sock.h"

enum {
	PROCESSES_MAX = 4, /* names that are looked up at the same time */
	TEXT_MAX = 128,	   /* bytes of the reason for a failure */
};

/* A question has one length. An answer begins with the number of addresses that
 * follow. */
struct question {
	int family;
	char port[8];
	char host[RESOLVE_HOST_MAX + 1];
};

struct answer {
	size_t n;
	char why[TEXT_MAX];
	struct dial_address v[DIAL_ADDRESSES_MAX];
};

struct resolve {
	TAILQ_ENTRY(resolve) entry; /* in the list of waiting questions */
	struct resolver *resolver;
	struct question question;
	resolve_fn fn; /* NULL: cancelled while a process works on it */
	void *arg;
};

struct process {
	int sock; /* -1: not started */
	struct loop_fd *watch;
	struct resolve *current; /* its question; NULL: it is free */
	struct answer answer; /* the answer that is arriving */
	size_t arrived;	      /* how many bytes of it have come */
	struct resolver *resolver;
};

struct resolver {
	struct loop *loop;
	TAILQ_HEAD(resolves, resolve) waiting;
	struct loop_timer *retry;
	struct process processes[PROCESSES_MAX];
};

/* ---- in a process of its own -------------------------------------------- */

/* Adds the loopback addresses of "localhost". They are needed in a root
 * directory of a user's, where no file (/etc/hosts) names them. */
static void
add_loopback(const struct question *q, struct answer *out)
{
	static const char *const texts[] = { "127.0.0.1", "::1" };
	uint16_t port = (uint16_t)atoi(q->port);

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (resolve_address(texts[i], port, q->family,
			&out->v[out->n]))
			out->n++;
}

static void
look_up(const struct question *q, struct answer *out)
{
	const struct addrinfo hints = { .ai_family = q->family,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int r = getaddrinfo(q->host, q->port, &hints, &list);

	memset(out, 0, sizeof *out);
	if (r != 0 && str_equal_nocase(q->host, "localhost")) {
		add_loopback(q, out);
		return;
	}
	if (r != 0) {
		snprintf(out->why, sizeof out->why, "%s",
		    r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
		return;
	}
	for (struct addrinfo *ai = list;
	     ai != NULL && out->n < DIAL_ADDRESSES_MAX; ai = ai->ai_next) {
		struct dial_address *a = &out->v[out->n];

		if (ai->ai_addrlen > sizeof a->sa)
			continue;
		memcpy(&a->sa, ai->ai_addr, ai->ai_addrlen);
		a->len = ai->ai_addrlen;
		out->n++;
	}
	freeaddrinfo(list);
	if (out->n == 0)
		snprintf(out->why, sizeof out->why, "%s",
		    gai_strerror(EAI_NONAME));
}

static size_t
answer_len(const struct answer *a)
{
	return offsetof(struct answer, v) + a->n * sizeof a->v[0];
}

void
resolve_serve(int sock)
{
	static struct answer answer;
	struct question q;

	while (fd_read_all(sock, &q, sizeof q) == 0) {
		q.port[sizeof q.port - 1] = '\0';
		q.host[sizeof q.host - 1] = '\0';
		look_up(&q, &answer);
		if (fd_send_with(sock, &answer, answer_len(&answer), -1) != 0)
			return;
	}
}

/* ---- in the loop -------------------------------------------------------- */

static void hand_out(struct resolver *r);

static void
end_process(struct process *p)
{
	loop_unwatch(p->resolver->loop, p->watch);
	p->watch = NULL;
	fd_close(&p->sock);
}

static void
finish(struct resolve *q, const struct answer *a)
{
	if (q->fn != NULL)
		q->fn(q->arg, a->v, a->n, a->why);
	free(q);
}

/* Reads more of an answer. 0: it is whole; ERR_AGAIN; or the process has
 * ended. */
static int
read_answer(struct process *p)
{
	struct answer *a = &p->answer;
	size_t len = offsetof(struct answer, v);
	ssize_t n;

	for (;;) {
		if (p->arrived >= offsetof(struct answer, v)) {
			if (p->current == NULL || a->n > DIAL_ADDRESSES_MAX)
				return ERR_PROTOCOL;
			len = answer_len(a);
		}
		if (p->arrived == len)
			return 0;
		n = recv(p->sock, (uint8_t *)a + p->arrived, len - p->arrived,
		    MSG_DONTWAIT);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return ERR_AGAIN;
		if (n <= 0)
			return ERR_EOF;
		p->arrived += (size_t)n;
	}
}

static void
on_answer(void *arg, int fd, int events)
{
	struct process *p = arg;
	struct resolver *r = p->resolver;
	struct resolve *q = p->current;
	struct answer a;
	int e = read_answer(p);

	(void)fd;
	(void)events;
	if (e == ERR_AGAIN)
		return;
	if (e != 0) {
		end_process(p);
		memset(&p->answer, 0, sizeof p->answer);
	}
	p->arrived = 0;
	a = p->answer;
	a.why[sizeof a.why - 1] = '\0';
	if (a.n == 0 && a.why[0] == '\0')
		snprintf(a.why, sizeof a.why, "the resolver has ended");
	p->current = NULL;
	hand_out(r);
	if (q != NULL)
		finish(q, &a);
}

static bool
open_process(struct process *p)
{
	int ends[2];

	if (p->sock != -1)
		return true;
	if (sock_pair(SOCK_STREAM, ends) == -1)
		return false;
	p->sock = ends[0];
	p->watch = loop_watch(p->resolver->loop, p->sock, LOOP_READ, on_answer,
	    p);
	if (p->watch == NULL || lookup_process(LOOKUP_HOSTS, ends[1]) != 0)
		end_process(p);
	fd_close(&ends[1]);
	return p->sock != -1;
}

static bool
give(struct process *p, struct resolve *q)
{
	if (!open_process(p))
		return false;
	if (send(p->sock, &q->question, sizeof q->question,
		MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)sizeof q->question) {
		end_process(p);
		return false;
	}
	p->current = q;
	return true;
}

/* A process that is free; if possible one that has been started. */
static struct process *
free_process(struct resolver *r)
{
	struct process *found = NULL;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *p = &r->processes[i];

		if (p->current == NULL && p->sock != -1)
			return p;
		if (p->current == NULL && found == NULL)
			found = p;
	}
	return found;
}

static void
on_retry(void *arg)
{
	struct resolver *r = arg;

	r->retry = NULL;
	hand_out(r);
}

/* The first waiting question fails, as no process could be started for it. */
static void
fail_first(struct resolver *r)
{
	struct resolve *q = TAILQ_FIRST(&r->waiting);
	struct answer a = { .n = 0 };

	snprintf(a.why, sizeof a.why, "%s", strerror(errno));
	TAILQ_REMOVE(&r->waiting, q, entry);
	finish(q, &a);
}

static void
hand_out(struct resolver *r)
{
	struct process *p;
	struct resolve *q;

	while ((q = TAILQ_FIRST(&r->waiting)) != NULL &&
	    (p = free_process(r)) != NULL) {
		if (q->fn != NULL && !give(p, q)) {
			fail_first(r);
			continue;
		}
		TAILQ_REMOVE(&r->waiting, q, entry);
		if (q->fn == NULL)
			free(q);
	}
}

/* ---- what others call --------------------------------------------------- */

struct resolver *
resolver_new(struct loop *l)
{
	struct resolver *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->loop = l;
	TAILQ_INIT(&r->waiting);
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		r->processes[i] =
		    (struct process){ .sock = -1, .resolver = r };
	return r;
}

void
resolver_free(struct resolver *r)
{
	struct resolve *q;

	if (r == NULL)
		return;
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		end_process(&r->processes[i]);
		free(r->processes[i].current);
	}
	while ((q = TAILQ_FIRST(&r->waiting)) != NULL) {
		TAILQ_REMOVE(&r->waiting, q, entry);
		free(q);
	}
	loop_cancel(r->loop, r->retry);
	free(r);
}

bool
resolve_address(const char *host, uint16_t port, int family,
    struct dial_address *out)
{
	const struct addrinfo hints = { .ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *ai = NULL;
	char text[8];

	snprintf(text, sizeof text, "%u", port);
	if (getaddrinfo(host, text, &hints, &ai) != 0)
		return false;
	memset(out, 0, sizeof *out);
	memcpy(&out->sa, ai->ai_addr, ai->ai_addrlen);
	out->len = ai->ai_addrlen;
	freeaddrinfo(ai);
	return true;
}

int
resolve_start(struct resolve **out, struct resolver *r, const char *host,
    uint16_t port, int family, resolve_fn fn, void *arg)
{
	struct resolve *q;

	if (strlen(host) > RESOLVE_HOST_MAX)
		return ERR_LIMIT;
	if ((q = calloc(1, sizeof *q)) == NULL)
		return ERR_NOMEM;
	if (r->retry == NULL &&
	    (r->retry = loop_after(r->loop, 0, on_retry, r)) == NULL) {
		free(q);
		return ERR_NOMEM;
	}
	q->resolver = r;
	q->fn = fn;
	q->arg = arg;
	q->question.family = family;
	snprintf(q->question.port, sizeof q->question.port, "%u", port);
	snprintf(q->question.host, sizeof q->question.host, "%s", host);
	TAILQ_INSERT_TAIL(&r->waiting, q, entry);
	*out = q;
	return 0;
}

void
resolve_cancel(struct resolve *q)
{
	if (q != NULL)
		q->fn = NULL;
}
