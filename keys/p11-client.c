/* SPDX-License-Identifier: ISC */
#include "keys/p11-client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

enum {
	LIMIT_MS = 20 * 1000, /* slow cards make a signature in a few */
	LIMIT_READER_MS = 120 * 1000, /* users type */
};

struct p11 {
	char *path;
	pid_t pid;
	int fd; /* -1: it was given up */
	struct buf out; /* with its length in front; holds the PIN */
	struct buf in;
	enum p11_op op;
	char *wanted;
	bool on_reader;
	/* Of a signature: whose, and over what. */
	struct key *key;
	char *alg;
	struct buf data;
};

/* ---- processes ----------------------------------------------------------- */

static int
spawn_helper(struct p11 *p)
{
	const char *path = getenv("SSH_PKCS11_HELPER");
	char *argv[2] = { NULL, NULL };
	int pair[2], r;

	if (path == NULL || *path == '\0')
		path = LIBEXECDIR "/hpnssh-pkcs11-helper";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return ERR_SYSTEM;
	p->fd = pair[0];
	argv[0] = strdup(path);
	r = argv[0] == NULL ? ERR_NOMEM : fd_set_nonblock(p->fd, true);
	if (r == 0 && child_spawn(&p->pid, argv, pair[1], pair[1]) != 0)
		r = ERR_P11;
	free(argv[0]);
	fd_close(&pair[1]);
	return r;
}

/* It is not asked again. */
static void
give_up(struct p11 *p)
{
	fd_close(&p->fd);
	if (p->pid > 0)
		child_abandon(p->pid);
	p->pid = 0;
	buf_clear(&p->out);
	buf_clear(&p->in);
}

int
p11_start(struct p11 **out, const char *path)
{
	struct p11 *p = calloc(1, sizeof *p);
	int r = ERR_NOMEM;

	if (p == NULL)
		return ERR_NOMEM;
	p->fd = -1;
	buf_init_secret(&p->out);
	p->path = strdup(path);
	child_reap_abandoned();
	if (p->path != NULL)
		r = spawn_helper(p);
	if (r == 0)
		*out = p;
	else
		p11_end(p);
	return r;
}

static void
forget_call(struct p11 *p)
{
	key_free(p->key);
	p->key = NULL;
	free(p->alg);
	p->alg = NULL;
	buf_clear(&p->data);
	buf_clear(&p->out);
	buf_clear(&p->in);
}

void
p11_end(struct p11 *p)
{
	if (p == NULL)
		return;
	give_up(p);
	forget_call(p);
	free(p->wanted);
	free(p->path);
	free(p);
}

/* ---- calls --------------------------------------------------------------- */

int
p11_fd(const struct p11 *p)
{
	return p->fd;
}

bool
p11_writes(const struct p11 *p)
{
	return buf_len(&p->out) > 0;
}

static int
begin(struct p11 *p, struct p11_request *q, const struct p11_pin *pin)
{
	struct buf body;
	int r;

	if (p->fd == -1)
		return ERR_P11;
	q->pin_kind = pin->kind;
	if (pin->kind == P11_PIN_GIVEN)
		q->pin = (struct span){ (const uint8_t *)pin->text,
			strlen(pin->text) };
	if (q->pin.len > P11_PIN_MAX)
		return ERR_LIMIT;
	p->op = q->op;
	buf_clear(&p->in);
	buf_set_max(&p->in, P11_ANSWER_MAX + 4);
	buf_init_secret(&p->out);
	buf_init_secret(&body);
	r = p11_put_request(q, &body);
	if (r == 0 && buf_len(&body) > P11_REQUEST_MAX)
		r = ERR_LIMIT;
	if (r == 0) {
		buf_put_string_buf(&p->out, &body);
		r = buf_err(&p->out);
	}
	buf_clear(&body);
	return r;
}

static int
call_write(struct p11 *p)
{
	ssize_t n;

	while (buf_len(&p->out) > 0) {
		n = send(p->fd, buf_data(&p->out), buf_len(&p->out),
		    MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return errno == EAGAIN ? ERR_AGAIN : ERR_P11;
		buf_consume(&p->out, (size_t)n);
	}
	return 0;
}

/* How many bytes the answer lacks, as far as is known. */
static int
call_lacks(const struct p11 *p, size_t *lacks)
{
	size_t have = buf_len(&p->in), len;

	*lacks = 4 - have;
	if (have < 4)
		return 0;
	len = wire_get_u32(buf_data(&p->in));
	if (len > P11_ANSWER_MAX)
		return ERR_P11;
	*lacks = 4 + len - have;
	return 0;
}

static int
call_read(struct p11 *p)
{
	size_t lacks;
	uint8_t *room;
	ssize_t n;
	int r;

	for (;;) {
		r = call_lacks(p, &lacks);
		if (r != 0 || lacks == 0)
			return r;
		room = buf_reserve(&p->in, lacks);
		if (room == NULL)
			return buf_err(&p->in);
		n = fd_read(p->fd, room, lacks);
		if (n == -1 && errno == EAGAIN)
			return ERR_AGAIN;
		if (n <= 0)
			return ERR_P11;
		buf_commit(&p->in, (size_t)n);
	}
}

static int
take_wanted(struct p11 *p, struct rd *rd)
{
	free(p->wanted);
	p->wanted = NULL;
	return p11_read_wanted(rd, &p->wanted, &p->on_reader) == 0 ?
	    ERR_PIN_NEEDED :
	    ERR_P11;
}

static int
error_of(struct p11 *p, enum p11_status status, struct rd *rd)
{
	switch (status) {
	case P11_DONE:
		return 0;
	case P11_NEEDS_PIN:
		return take_wanted(p, rd);
	case P11_PIN_WRONG:
		return ERR_PIN;
	case P11_PIN_LOCKED:
		return ERR_PIN_LOCKED;
	case P11_NO_KEY:
		return ERR_NOT_FOUND;
	default:
		return ERR_P11;
	}
}

/* ERR_AGAIN; or the call is over: 0, with *rd behind the head, or an error. A
 * helper that breaks the rules is not asked again. */
static int
step(struct p11 *p, struct rd *rd)
{
	enum p11_status status = P11_FAILED;
	int r = p->fd == -1 ? ERR_P11 : call_write(p);

	if (r == 0)
		r = call_read(p);
	if (r == ERR_AGAIN)
		return r;
	if (r == 0 && p11_read_head((struct span){ buf_data(&p->in) + 4,
				       buf_len(&p->in) - 4 },
			  p->op, rd, &status) != 0)
		r = ERR_P11;
	if (r != 0) {
		give_up(p);
		return r;
	}
	return error_of(p, status, rd);
}

int
p11_begin_list(struct p11 *p, const struct p11_pin *pin)
{
	struct p11_request q = { .op = P11_LIST, .provider = p->path,
		.token = pin->token };

	forget_call(p);
	return begin(p, &q, pin);
}

int
p11_list_step(struct p11 *p, struct p11_list *out)
{
	struct rd rd;
	int r = step(p, &rd);

	if (r != 0)
		return r;
	if (p11_read_list(&rd, out) == 0)
		return 0;
	give_up(p);
	return ERR_P11;
}

int
p11_begin_sign(struct p11 *p, const struct key *k, const char *alg,
    struct span data, const struct p11_pin *pin)
{
	struct p11_request q = { .op = P11_SIGN, .data = data };
	struct buf blob = { 0 };
	int r;

	forget_call(p);
	p->alg = strdup(alg);
	buf_put(&p->data, data.p, data.len);
	r = p->alg == NULL ? ERR_NOMEM : buf_err(&p->data);
	if (r == 0)
		r = key_public_of(key_identity(k), &p->key);
	if (r == 0 && !key_serves(p->key, alg))
		r = ERR_KEY_TYPE;
	if (r == 0)
		r = key_to_blob(p->key, &blob);
	q.alg = p->alg;
	q.blob = (struct span){ buf_data(&blob), buf_len(&blob) };
	if (r == 0)
		r = begin(p, &q, pin);
	buf_clear(&blob);
	return r;
}

/* A wrong signature would be the server's to refuse; here it can be said
 * whose fault it is. */
int
p11_sign_step(struct p11 *p, struct buf *signature)
{
	struct span made;
	struct rd rd;
	int r = step(p, &rd);

	if (r != 0)
		return r;
	made = rd_string(&rd);
	if (rd_end(&rd) != 0)
		return ERR_P11;
	r = key_verify(p->key, p->alg,
	    (struct span){ buf_data(&p->data), buf_len(&p->data) }, made);
	if (r != 0)
		return r;
	buf_put(signature, made.p, made.len);
	return buf_err(signature);
}

/* ---- waiting ------------------------------------------------------------- */

static void
wait_until(const struct p11 *p, uint64_t end, uint64_t now)
{
	struct pollfd pfd = { .fd = p->fd,
		.events = p11_writes(p) ? POLLOUT : POLLIN };

	(void)poll(&pfd, 1, (int)(end - now));
}

/* True while it is worth another step. */
static bool
wait_more(struct p11 *p, uint64_t end, int *r)
{
	uint64_t now = clock_ms();

	if (*r != ERR_AGAIN)
		return false;
	if (now < end) {
		wait_until(p, end, now);
		return true;
	}
	give_up(p);
	*r = ERR_TIMEOUT;
	return false;
}

static uint64_t
end_of(const struct p11_pin *pin, unsigned limit_ms)
{
	if (limit_ms == 0)
		limit_ms = pin->kind == P11_PIN_ON_READER ? LIMIT_READER_MS :
							    LIMIT_MS;
	return clock_ms() + limit_ms;
}

int
p11_get_list(struct p11 *p, const struct p11_pin *pin, unsigned limit_ms,
    struct p11_list *out)
{
	uint64_t end = end_of(pin, limit_ms);
	int r = p11_begin_list(p, pin);

	if (r != 0)
		return r;
	do
		r = p11_list_step(p, out);
	while (wait_more(p, end, &r));
	return r;
}

int
p11_sign(struct p11 *p, const struct key *k, const char *alg,
    struct span data, const struct p11_pin *pin, unsigned limit_ms,
    struct buf *signature)
{
	uint64_t end = end_of(pin, limit_ms);
	int r = p11_begin_sign(p, k, alg, data, pin);

	if (r != 0)
		return r;
	do
		r = p11_sign_step(p, signature);
	while (wait_more(p, end, &r));
	return r;
}

const char *
p11_wanted(const struct p11 *p, bool *on_reader)
{
	*on_reader = p->on_reader;
	return p->wanted;
}
