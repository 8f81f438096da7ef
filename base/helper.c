/* SPDX-License-Identifier: ISC */
#include "base/helper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "compat/sock.h"

static int
spawn(struct helper *h, const char *path)
{
	char *argv[2] = { NULL, NULL };
	int pair[2], r;

	if (sock_pair(SOCK_STREAM, pair) == -1)
		return ERR_SYSTEM;
	h->fd = pair[0];
	argv[0] = strdup(path);
	r = argv[0] == NULL ? ERR_NOMEM : fd_set_nonblock(h->fd, true);
	if (r == 0 && child_spawn(&h->pid, argv, pair[1], pair[1]) != 0)
		r = h->useless;
	free(argv[0]);
	fd_close(&pair[1]);
	return r;
}

static const char *
path_of(const char *variable, const char *usual)
{
	const char *path = getenv(variable);

	return path != NULL && *path != '\0' ? path : usual;
}

bool
helper_is_there(const char *variable, const char *usual)
{
	return access(path_of(variable, usual), X_OK) == 0;
}

int
helper_start(struct helper *h, const char *variable, const char *usual,
    size_t answer_max, int useless)
{
	int r;

	*h = (struct helper){ .fd = -1, .useless = useless,
		.answer_max = answer_max };
	buf_init_secret(&h->out);
	child_reap_abandoned();
	r = spawn(h, path_of(variable, usual));
	if (r != 0)
		helper_give_up(h);
	return r;
}

void
helper_give_up(struct helper *h)
{
	fd_close(&h->fd);
	if (h->pid > 0)
		child_abandon(h->pid);
	h->pid = 0;
	buf_clear(&h->out);
	buf_clear(&h->in);
}

int
helper_ask(struct helper *h, const struct buf *request)
{
	if (h->fd == -1)
		return h->useless;
	buf_clear(&h->in);
	buf_clear(&h->out);
	buf_init_secret(&h->out);
	buf_put_string_buf(&h->out, request);
	return buf_err(&h->out);
}

bool
helper_writes(const struct helper *h)
{
	return buf_len(&h->out) > 0;
}

static int
write_request(struct helper *h)
{
	ssize_t n;

	while (buf_len(&h->out) > 0) {
		n = send(h->fd, buf_data(&h->out), buf_len(&h->out),
		    MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return errno == EAGAIN ? ERR_AGAIN : h->useless;
		buf_consume(&h->out, (size_t)n);
	}
	return 0;
}

/* Sets *n to the bytes that are missing from the answer. While its length is
 * not known these are those of the length. */
static int
lacks(const struct helper *h, size_t *n)
{
	size_t have = buf_len(&h->in), len;

	*n = 4 - have;
	if (have < 4)
		return 0;
	len = wire_get_u32(buf_data(&h->in));
	if (len > h->answer_max)
		return h->useless;
	*n = 4 + len - have;
	return 0;
}

static int
read_answer(struct helper *h)
{
	size_t more;
	uint8_t *room;
	ssize_t n;
	int r;

	for (;;) {
		r = lacks(h, &more);
		if (r != 0 || more == 0)
			return r;
		room = buf_reserve(&h->in, more);
		if (room == NULL)
			return buf_err(&h->in);
		n = fd_read(h->fd, room, more);
		if (n == -1 && errno == EAGAIN)
			return ERR_AGAIN;
		if (n <= 0)
			return h->useless;
		buf_commit(&h->in, (size_t)n);
	}
}

int
helper_step(struct helper *h, struct span *answer)
{
	int r = h->fd == -1 ? h->useless : write_request(h);

	if (r == 0)
		r = read_answer(h);
	if (r == 0)
		*answer = (struct span){ buf_data(&h->in) + 4,
			buf_len(&h->in) - 4 };
	else if (r != ERR_AGAIN)
		helper_give_up(h);
	return r;
}

int
helper_wait(const struct helper *h, uint64_t end_ms)
{
	struct pollfd pfd = { .fd = h->fd,
		.events = helper_writes(h) ? POLLOUT : POLLIN };
	uint64_t now = clock_ms();

	if (now >= end_ms)
		return ERR_TIMEOUT;
	(void)poll(&pfd, 1, (int)(end_ms - now));
	return 0;
}
