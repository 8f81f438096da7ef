/* SPDX-License-Identifier: ISC */
#include "regress/unit/agent-host.h"
#include "regress/unit/help.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "keys/agent-wire.h"

enum { LONG_MS = 60 * 1000 };

void
agent_host_open(struct agent_host *h, const struct agent_params *params)
{
	log_set_level(LOG_LVL_QUIET);
	assert_non_null(h->loop = loop_new());
	assert_int_equal(agentd_new(&h->agentd, h->loop, params), 0);
}

void
agent_host_close(struct agent_host *h)
{
	agentd_free(h->agentd);
	loop_free(h->loop);
}

int
agent_host_client(struct agent_host *h)
{
	int pair[2];

	socket_pair(SOCK_STREAM, pair);
	agentd_take(h->agentd, pair[1]);
	return pair[0];
}

void
agent_host_send_raw(int fd, const void *p, size_t len)
{
	assert_int_equal(send(fd, p, len, MSG_NOSIGNAL), len);
}

void
agent_host_send(int fd, const struct buf *message)
{
	struct buf framed = { 0 };

	assert_int_equal(buf_err(message), 0);
	buf_put_string_buf(&framed, message);
	agent_host_send_raw(fd, buf_data(&framed), buf_len(&framed));
	buf_clear(&framed);
}

/* Exactly len bytes; a part of an answer is followed by the rest. */
static bool
receive(struct agent_host *h, int fd, uint8_t *p, size_t len, unsigned ms)
{
	uint64_t began = clock_ms();
	size_t have = 0;
	ssize_t n;

	while (have < len) {
		n = recv(fd, p + have, len - have, 0);
		if (n > 0)
			have += (size_t)n;
		else if (n == 0 || errno != EAGAIN ||
		    clock_ms() - began >= ms)
			return false;
		else
			assert_int_equal(loop_turn(h->loop, 5), 0);
	}
	return true;
}

bool
agent_host_answer(struct agent_host *h, int fd, struct buf *answer,
    unsigned ms)
{
	uint8_t length[4], *p;
	size_t len;

	if (!receive(h, fd, length, sizeof length, ms))
		return false;
	len = wire_get_u32(length);
	assert_in_range(len, 1, AGENT_MESSAGE_MAX);
	assert_non_null(p = buf_reserve(answer, len));
	assert_true(receive(h, fd, p, len, LONG_MS));
	buf_commit(answer, len);
	return true;
}

int
agent_host_ask(struct agent_host *h, int fd, struct buf *message)
{
	struct buf answer = { 0 };
	int type = -1;

	agent_host_send(fd, message);
	buf_clear(message);
	if (agent_host_answer(h, fd, &answer, LONG_MS))
		type = buf_data(&answer)[0];
	buf_clear(&answer);
	return type;
}

bool
agent_host_ended(struct agent_host *h, int fd)
{
	uint8_t byte;

	for (int i = 0; i < 10; i++) {
		ssize_t n = recv(fd, &byte, 1, 0);

		if (n == 0 || (n == -1 && errno == ECONNRESET))
			return true;
		assert_int_equal(loop_turn(h->loop, 0), 0);
	}
	return false;
}

void
agent_host_put_add(struct buf *b, const struct key *k, const char *comment,
    const struct buf *more)
{
	buf_put_u8(b, more != NULL ? AGENT_ADD_CONSTRAINED :
				     AGENT_ADD_IDENTITY);
	assert_int_equal(key_private_to_wire(k, b), 0);
	buf_put_cstring(b, comment);
	if (more != NULL)
		buf_put_buf(b, more);
}

void
agent_host_put_sign(struct buf *b, const struct key *k, const char *data,
    uint32_t flags)
{
	size_t mark;

	buf_put_u8(b, AGENT_SIGN_REQUEST);
	mark = buf_open_string(b);
	assert_int_equal(key_to_blob(k, b), 0);
	buf_close_string(b, mark);
	buf_put_cstring(b, data);
	buf_put_u32(b, flags);
}

void
agent_host_put_lock(struct buf *b, bool lock, const char *passphrase)
{
	buf_put_u8(b, lock ? AGENT_LOCK : AGENT_UNLOCK);
	buf_put_cstring(b, passphrase);
}

unsigned
agent_host_count(struct agent_host *h, int fd)
{
	struct buf b = { 0 };
	struct rd rd;
	unsigned n;

	buf_put_u8(&b, AGENT_REQUEST_IDENTITIES);
	agent_host_send(fd, &b);
	buf_clear(&b);
	assert_true(agent_host_answer(h, fd, &b, LONG_MS));
	rd = rd_from_buf(&b);
	assert_int_equal(rd_u8(&rd), AGENT_IDENTITIES_ANSWER);
	n = rd_u32(&rd);
	buf_clear(&b);
	return n;
}

void
agent_host_send_sign(int fd, const struct key *k)
{
	struct buf b = { 0 };

	agent_host_put_sign(&b, k, "data", 0);
	agent_host_send(fd, &b);
	buf_clear(&b);
}
