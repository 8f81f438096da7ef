/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "compat/file.h"
#include "compat/sock.h"
#include "crypto/rand.h"

enum {
	RETRY_MS = 20,
	RANDOM_BYTES = 6,
	TRIES = 10,
	/* How often find_socket() tries to open a socket that still has two
	 * names. */
	NAME_TRIES = 25,
};

static int
fill_address(struct sockaddr_un *sun, const char *path)
{
	memset(sun, 0, sizeof *sun);
	sun->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof sun->sun_path)
		return ERR_LIMIT;
	memcpy(sun->sun_path, path, strlen(path) + 1);
	return 0;
}

/* ---- listening ---------------------------------------------------------- */

/* Makes the temporary name of the socket. It is in the same directory, and
 * short, so that path may have nearly all the bytes that the system allows. */
static char *
temporary_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint8_t random[RANDOM_BYTES];
	char hex[2 * RANDOM_BYTES + 1], *name;

	rand_bytes(random, sizeof random);
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(hex + 2 * i, 3, "%02x", random[i]);
	xasprintf(&name, "%.*s.%s",
	    slash != NULL ? (int)(slash - path) + 1 : 0, path, hex);
	return name;
}

/* Binds the socket to a temporary name and listens, and notes which file it
 * is. */
static int
bind_hidden(struct mux_socket *s, const char *name)
{
	struct sockaddr_un sun;
	struct stat st;
	mode_t mask;
	int r;

	if ((r = fill_address(&sun, name)) != 0)
		return r;
	mask = umask(0177);
	r = bind(s->fd, (struct sockaddr *)&sun, sizeof sun);
	umask(mask);
	if (r == -1)
		return ERR_SYSTEM;
	if (listen(s->fd, SOMAXCONN) == -1 || lstat(name, &st) == -1) {
		(void)unlink(name);
		return ERR_SYSTEM;
	}
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

/* Gives the socket's file its name path, once it listens. link(2), unlike
 * rename(2), never replaces another file. */
static int
publish(const char *hidden, const char *path)
{
	int r = 0, saved;

	if (link(hidden, path) == -1)
		r = errno == EEXIST ? ERR_DENIED : ERR_SYSTEM;
	saved = errno;
	(void)unlink(hidden);
	errno = saved;
	return r;
}

int
mux_socket_listen(struct mux_socket *s, const char *path)
{
	char *hidden = NULL;
	int r = ERR_SYSTEM;

	*s = (struct mux_socket){ .fd = -1 };
	if (strlen(path) >= MUX_PATH_MAX)
		return ERR_LIMIT;
	s->fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE);
	if (s->fd == -1)
		return ERR_SYSTEM;
	for (int i = 0; i < TRIES; i++) {
		free(hidden);
		hidden = temporary_name(path);
		r = bind_hidden(s, hidden);
		if (r != ERR_SYSTEM || errno != EADDRINUSE)
			break;
	}
	if (r == 0)
		r = publish(hidden, path);
	if (r == 0)
		s->path = xstrdup(path);
	else
		fd_close(&s->fd);
	free(hidden);
	return r;
}

void
mux_socket_forget(struct mux_socket *s)
{
	fd_close(&s->fd);
	free(s->path);
	s->path = NULL;
}

void
mux_socket_stop(struct mux_socket *s)
{
	struct stat st;

	if (s->path != NULL && lstat(s->path, &st) == 0 &&
	    st.st_dev == s->dev && st.st_ino == s->ino)
		(void)unlink(s->path);
	mux_socket_forget(s);
}

/* ---- both ends ---------------------------------------------------------- */

static bool
may_talk(int fd)
{
	uid_t uid;
	gid_t gid;

	return sock_peer_ids(fd, &uid, &gid) == 0 &&
	    (uid == 0 || uid == geteuid());
}

int
mux_socket_accept(const struct mux_socket *s, int *fd)
{
	*fd = sock_accept(s->fd, NULL, NULL, SOCK_AT_ONCE);
	if (*fd == -1) {
		switch (errno) {
		case EAGAIN:
#if EWOULDBLOCK != EAGAIN
		case EWOULDBLOCK:
#endif
		case EINTR:
		case ECONNABORTED:
			return ERR_AGAIN;
		default:
			return ERR_SYSTEM;
		}
	}
	if (may_talk(*fd))
		return 0;
	fd_close(fd);
	errno = 0;
	return ERR_AGAIN;
}

/* ---- connecting --------------------------------------------------------- */

/* Connects once, with a non-blocking socket. ERR_AGAIN: the master's queue is
 * full. */
static int
connect_once(int *fd, const struct sockaddr_un *sun)
{
	*fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE);
	if (*fd == -1)
		return ERR_SYSTEM;
	if (connect(*fd, (const struct sockaddr *)sun, sizeof *sun) == 0)
		return 0;
	fd_close(fd);
	return errno == EAGAIN || errno == EINTR ? ERR_AGAIN : ERR_SYSTEM;
}

/* Opens the file of the socket, and makes *sun lead to that file and not to its
 * name, so that a link which somebody else puts there cannot lead to another
 * master of ours. A file with two names is refused: but a master's new socket
 * has two for a moment, so this is tried again. */
static int
find_socket(int *socket, const char *path, struct sockaddr_un *sun)
{
	char held[32];

	for (int i = 0; i < NAME_TRIES; i++) {
		*socket = open_named_socket(path);
		if (*socket != -1 || errno != EACCES)
			break;
		(void)poll(NULL, 0, RETRY_MS);
	}
	if (*socket == -1)
		return errno == ELOOP || errno == EACCES ? ERR_DENIED :
							   ERR_SYSTEM;
	/* Where the system cannot connect by an open file, *sun stays the path:
	 * mux_socket_connect() then relies on the check of the peer's user id,
	 * which it makes in any case. */
	return file_name_of(*socket, held) && access(held, F_OK) == 0 ?
	    fill_address(sun, held) :
	    0;
}

static int
connect_within(int *fd, const struct sockaddr_un *sun, int timeout_ms)
{
	uint64_t began = clock_ms();
	int r;

	while ((r = connect_once(fd, sun)) == ERR_AGAIN) {
		if (timeout_ms >= 0 &&
		    clock_ms() - began >= (uint64_t)timeout_ms)
			return ERR_TIMEOUT;
		(void)poll(NULL, 0, RETRY_MS);
	}
	return r;
}

int
mux_socket_connect(int *fd, const char *path, int timeout_ms)
{
	struct sockaddr_un sun;
	int r, socket;

	*fd = -1;
	if ((r = fill_address(&sun, path)) != 0 ||
	    (r = find_socket(&socket, path, &sun)) != 0)
		return r;
	r = connect_within(fd, &sun, timeout_ms);
	fd_close(&socket);
	if (r != 0 || may_talk(*fd))
		return r;
	fd_close(fd);
	return ERR_DENIED;
}

bool
mux_socket_remove_stale(const char *path)
{
	struct sockaddr_un sun;
	struct stat before, now;
	int fd, r;

	if (fill_address(&sun, path) != 0)
		return false;
	if (lstat(path, &before) == -1)
		return errno == ENOENT;
	if (!S_ISSOCK(before.st_mode))
		return false;
	r = connect_once(&fd, &sun);
	if (r == 0)
		fd_close(&fd);
	if (r != ERR_SYSTEM || errno != ECONNREFUSED)
		return r == ERR_SYSTEM && errno == ENOENT;
	/* If the file is another one by now, a new master has made it: it
	 * stays. */
	if (lstat(path, &now) == -1)
		return errno == ENOENT;
	return now.st_dev == before.st_dev && now.st_ino == before.st_ino &&
	    unlink(path) == 0;
}
