/* SPDX-License-Identifier: ISC */
/*
 * Hands a connection that was let in by resume@hpnssh.org to the process of the
 * session that goes on over it. Then this process has nothing more to do.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/fd.h"
#include "base/log.h"
#include "compat/sock.h"
#include "server/monitor/monitor-survive.h"
#include "server/monitor/monitor.h"
#include "server/monitor/resume-wire.h"
#include "server/survive-talk.h"

enum { WAIT_S = 10 };

/* Sends the connection to the session's process, which may take WAIT_S to
 * receive it. */
static int
send_connection(const struct monitor *m, int sock)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	const struct survive_connection c = { .fd = m->socket_fd,
		.packet_state = m->packet_state,
		.kex_state = m->kex_state };

	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	return survive_send_connection(sock, &c);
}

/* Waits until the session's monitor tells that the session goes on. */
static int
wait_for_session(const struct monitor *m)
{
	uint8_t byte;
	ssize_t n;

	do
		n = recv(m->login->ticket_fd, &byte, sizeof byte, 0);
	while (n == -1 && errno == EINTR);
	return n == 1 ? 0 : n == 0 ? ERR_EOF : ERR_SYSTEM;
}

int
monitor_attach(struct monitor *m)
{
	static const uint8_t attach = RESUME_ATTACH;
	int pair[2], r;

	if (sock_pair(SOCK_STREAM, pair) == -1)
		fatal("socketpair: %s", strerror(errno));
	r = fd_send_with(m->login->ticket_fd, &attach, sizeof attach, pair[1]);
	fd_close(&pair[1]);
	if (r == 0)
		r = send_connection(m, pair[0]);
	fd_close(&pair[0]);
	fd_close(&m->socket_fd);
	buf_clear(&m->packet_state);
	buf_clear(&m->kex_state);
	if (r == 0)
		r = wait_for_session(m);
	if (r != 0)
		log_error("the session of %s does not take the connection from "
			  "%s: %s",
		    m->login->shown_name, m->peer_text, err_text(r));
	return r == 0 ? 0 : MONITOR_STATUS_FATAL;
}
