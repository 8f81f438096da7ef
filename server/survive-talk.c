/* SPDX-License-Identifier: ISC */
#include "server/survive-talk.h"

#include <sys/socket.h>

#include "base/fd.h"
#include "base/wire.h"
#include "server/monitor-wire.h"

enum { MESSAGE_LEN = 9 };

int
survive_say(int sock, const struct survive_message *m)
{
	uint8_t bytes[MESSAGE_LEN] = { (uint8_t)m->word };

	wire_put_u64(bytes + 1, m->n);
	return fd_send_with(sock, bytes, sizeof bytes, m->fd);
}

int
survive_hear(int sock, struct survive_message *m)
{
	uint8_t bytes[MESSAGE_LEN];

	/* A datagram that is too short is an error: nothing more would come for
	 * it. */
	if (recv(sock, bytes, sizeof bytes, MSG_PEEK) !=
		(ssize_t)sizeof bytes ||
	    fd_receive_with(sock, bytes, sizeof bytes, &m->fd) !=
	    (ssize_t)sizeof bytes)
		return ERR_SYSTEM;
	m->word = (enum survive_word)bytes[0];
	m->n = wire_get_u64(bytes + 1);
	if (bytes[0] != 0 && bytes[0] < SURVIVE_WORDS &&
	    (m->word == SURVIVE_ATTACH) == (m->fd != -1))
		return 0;
	fd_close(&m->fd);
	return ERR_PROTOCOL;
}

int
survive_send_connection(int sock, const struct survive_connection *c)
{
	struct buf b;
	int r = fd_send_fds(sock, &c->fd, 1);

	buf_init_secret(&b);
	buf_put_string_buf(&b, &c->packet_state);
	buf_put_string_buf(&b, &c->kex_state);
	if (r == 0 && (r = buf_err(&b)) == 0)
		r = fd_send_msg(sock, &b);
	buf_clear(&b);
	return r;
}

static int
take_state(struct survive_connection *c, struct rd r)
{
	struct span packet = rd_string(&r), kex = rd_string(&r);
	int err = rd_end(&r);

	if (err != 0)
		return err;
	buf_put(&c->packet_state, packet.p, packet.len);
	buf_put(&c->kex_state, kex.p, kex.len);
	err = buf_err(&c->packet_state);
	return err != 0 ? err : buf_err(&c->kex_state);
}

int
survive_receive_connection(int sock, struct survive_connection *c)
{
	struct buf b;
	int r;

	c->fd = -1;
	buf_init_secret(&c->packet_state);
	buf_init_secret(&c->kex_state);
	buf_init_secret(&b);
	if ((r = fd_receive_fds(sock, &c->fd, 1)) == 0 &&
	    (r = fd_receive_msg(sock, &b, 2 * MONITOR_MSG_MAX)) == 0)
		r = take_state(c, rd_from_buf(&b));
	buf_clear(&b);
	return r;
}

void
survive_connection_clear(struct survive_connection *c)
{
	fd_close(&c->fd);
	buf_clear(&c->packet_state);
	buf_clear(&c->kex_state);
}
