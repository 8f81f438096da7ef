/* SPDX-License-Identifier: ISC */
#include "server/session/session-pipes.h"

#include <sys/socket.h>

#include "base/fd.h"
#include "compat/sock.h"

/* Large pipes let the session and its program wake up less often. Only the
 * first sessions of a connection have such: Linux gives the pipes of a user
 * 64 MiB in sum (pipe-user-pages-soft), and from then on each new pipe of this
 * user, of other programs too, has two pages. */
enum { LARGE_BYTES = 1024 * 1024, LARGE_SESSIONS = 12 };

static int
make_one(struct session_pipe *p, bool we_read)
{
	int ends[2];

	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return ERR_SYSTEM;
	p->ours = ends[we_read ? 0 : 1];
	p->theirs = ends[we_read ? 1 : 0];
	return fd_set_nonblock(p->ours, true);
}

int
session_pipes_make(struct session_pipe v[3], size_t sessions)
{
	int r = 0;

	for (int i = 0; i < 3; i++)
		v[i] = (struct session_pipe){ -1, -1 };
	for (int i = 0; i < 3 && r == 0; i++)
		r = make_one(&v[i], i > 0);
	for (int i = 0; i < 2 && r == 0 && sessions <= LARGE_SESSIONS; i++)
		sock_pipe_room(v[i].ours, LARGE_BYTES);
	return r;
}
