/* SPDX-License-Identifier: ISC */
#include "server/monitor/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/sock.h"
#include "conf/defaults.h"
#include "crypto/rand.h"
#include "server/monitor/rendezvous-wire.h"
#include "server/state.h"

enum {
	WAIT_S = 2,
	WAIT_LONG_S = 10,
	WAITING_MAX = 16, /* connections that may wait to be accepted */
	SWEEP_MAX = 256,  /* names of which a sweep looks whether anybody
			   * listens */
	SETTLED_S = 10,
	PAUSE_US = 20 * 1000,
};

#define DIRECTORY RUNSTATEDIR "/hpnsshd-rendezvous"

/* ---- the directory ------------------------------------------------------ */

int
rendezvous_open_at(const char *path, uint32_t owner, int *dir)
{
	struct stat st;

	*dir = -1;
	if (mkdir(path, 0700) == -1 && errno != EEXIST)
		return ERR_SYSTEM;
	*dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*dir == -1)
		return ERR_SYSTEM;
	if (fstat(*dir, &st) == 0 && st.st_uid == owner &&
	    (st.st_mode & 07777) == 0700)
		return 0;
	log_error("%s is not the superuser's alone (mode 0700): no tickets",
	    path);
	fd_close(dir);
	return ERR_PERMISSION;
}

int
rendezvous_open(int *dir)
{
	*dir = -1;
	if (geteuid() != 0)
		return ERR_UNSUPPORTED;
	state_make_run_directory();
	return rendezvous_open_at(DIRECTORY, 0, dir);
}

/* ---- names -------------------------------------------------------------- */

/* A name in the directory, and the address of its socket. The address goes
 * through the directory's descriptor, so it stays right when the path leads
 * elsewhere. */
struct meeting {
	char name[2 * RENDEZVOUS_HANDLE_LEN + 1];
	struct sockaddr_un address;
};

static void
make_address(struct meeting *p, int dir, const char *name)
{
	memcpy(p->name, name, sizeof p->name);
	memset(&p->address, 0, sizeof p->address);
	p->address.sun_family = AF_UNIX;
	snprintf(p->address.sun_path, sizeof p->address.sun_path,
	    "/proc/self/fd/%d/%s", dir, p->name);
}

static void
make_meeting(struct meeting *p, int dir, const uint8_t *handle)
{
	char name[sizeof p->name];

	for (size_t i = 0; i < RENDEZVOUS_HANDLE_LEN; i++)
		snprintf(name + 2 * i, 3, "%02x", handle[i]);
	make_address(p, dir, name);
}

static void
set_limits(int fd, int seconds)
{
	const struct timeval t = { .tv_sec = seconds };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static int
receive(int fd, struct buf *out)
{
	uint8_t *room = xmalloc(RENDEZVOUS_MESSAGE_MAX + 1);
	ssize_t n;
	int r = 0;

	do
		n = recv(fd, room, RENDEZVOUS_MESSAGE_MAX + 1, 0);
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		r = n == 0 ? ERR_EOF : ERR_SYSTEM;
	else if (n > RENDEZVOUS_MESSAGE_MAX)
		r = ERR_LIMIT;
	else
		buf_put(out, room, (size_t)n);
	mem_free_secret(room, n > 0 ? (size_t)n : 0);
	return r != 0 ? r : buf_err(out);
}

static int
transmit(int fd, const struct buf *message)
{
	ssize_t n;

	if (buf_err(message) != 0)
		return buf_err(message);
	do
		n = send(fd, buf_data(message), buf_len(message),
		    MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return n == (ssize_t)buf_len(message) ? 0 : ERR_SYSTEM;
}

/* ---- names of the dead -------------------------------------------------- */

/* True if nobody listens at the name. A connection from a socket of another
 * type is refused either way, with different errors, and a process that listens
 * does not notice it. */
static bool
is_dead(const struct meeting *p)
{
	int fd = sock_open(AF_UNIX, SOCK_DGRAM, 0, SOCK_AT_ONCE);
	bool dead;

	if (fd == -1)
		return false;
	dead = connect(fd, (const struct sockaddr *)&p->address,
		   sizeof p->address) == -1 && errno == ECONNREFUSED;
	fd_close(&fd);
	return dead;
}

/* True if the name is that of a socket made some time ago. A new socket has its
 * name a moment before its process listens. */
static bool
is_settled(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISSOCK(st.st_mode) && st.st_mtime + SETTLED_S < time(NULL);
}

void
rendezvous_sweep(int dir, size_t most)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd != -1 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	struct meeting p;

	if (d == NULL) {
		fd_close(&fd);
		return;
	}
	while (most-- > 0 && (e = readdir(d)) != NULL) {
		if (strlen(e->d_name) != sizeof p.name - 1 ||
		    !is_settled(dir, e->d_name))
			continue;
		make_address(&p, dir, e->d_name);
		if (is_dead(&p))
			(void)unlinkat(dir, p.name, 0);
	}
	closedir(d);
}

/* ---- who answers -------------------------------------------------------- */

int
rendezvous_listen(int dir, uint8_t handle[RENDEZVOUS_HANDLE_LEN], int *fd)
{
	struct meeting p;

	rendezvous_sweep(dir, SWEEP_MAX);
	rand_bytes(handle, RENDEZVOUS_HANDLE_LEN);
	make_meeting(&p, dir, handle);
	*fd = sock_open(AF_UNIX, SOCK_SEQPACKET, 0, SOCK_AT_ONCE);
	if (*fd != -1 &&
	    bind(*fd, (struct sockaddr *)&p.address, sizeof p.address) == 0) {
		if (listen(*fd, WAITING_MAX) == 0)
			return 0;
		rendezvous_forget(dir, handle);
	}
	fd_close(fd);
	return ERR_SYSTEM;
}

void
rendezvous_forget(int dir, const uint8_t handle[RENDEZVOUS_HANDLE_LEN])
{
	struct meeting p;

	make_meeting(&p, dir, handle);
	(void)unlinkat(dir, p.name, 0);
}

int
rendezvous_accept(int listening, int *fd, struct buf *question)
{
	uid_t uid;
	gid_t gid;
	int r;

	*fd = sock_accept(listening, NULL, NULL, SOCK_WAITS);
	if (*fd == -1) {
		/* Who waits still waits if there was no descriptor: without a
		 * pause the loop would come back here at once. */
		clock_sleep_us(PAUSE_US);
		return ERR_SYSTEM;
	}
	set_limits(*fd, WAIT_S);
	if (sock_peer_ids(*fd, &uid, &gid) != 0 || uid != geteuid())
		r = ERR_PERMISSION;
	else
		r = receive(*fd, question);
	if (r != 0)
		fd_close(fd);
	return r;
}

int
rendezvous_answer(int fd, const struct buf *answer)
{
	return transmit(fd, answer);
}

/* ---- who asks ----------------------------------------------------------- */

/* Connects to the socket of that name, and checks that a process of the same
 * user listens there. */
static int
reach(int dir, const uint8_t *handle, int seconds, int *fd)
{
	struct meeting p;
	uid_t uid;
	gid_t gid;

	make_meeting(&p, dir, handle);
	*fd = sock_open(AF_UNIX, SOCK_SEQPACKET, 0, SOCK_WAITS);
	if (*fd == -1)
		return ERR_SYSTEM;
	set_limits(*fd, seconds);
	if (connect(*fd, (struct sockaddr *)&p.address, sizeof p.address) ==
	    0)
		return sock_peer_ids(*fd, &uid, &gid) == 0 &&
			uid == geteuid() ? 0 : ERR_PERMISSION;
	if (errno == ECONNREFUSED)
		(void)unlinkat(dir, p.name, 0);
	return errno == ECONNREFUSED || errno == ENOENT ? ERR_NOT_FOUND :
							  ERR_SYSTEM;
}

static int
ask(int dir, struct span handle, int seconds, const struct buf *question,
    struct buf *answer, int *fd)
{
	int r;

	*fd = -1;
	if (handle.len != RENDEZVOUS_HANDLE_LEN)
		return ERR_NOT_FOUND;
	r = reach(dir, handle.p, seconds, fd);
	if (r == 0)
		r = transmit(*fd, question);
	if (r == 0)
		r = receive(*fd, answer);
	if (r != 0)
		fd_close(fd);
	return r;
}

int
rendezvous_ask(int dir, struct span handle, const struct buf *question,
    struct buf *answer, int *fd)
{
	return ask(dir, handle, WAIT_S, question, answer, fd);
}

int
rendezvous_ask_long(int dir, struct span handle, const struct buf *question,
    struct buf *answer, int *fd)
{
	return ask(dir, handle, WAIT_LONG_S, question, answer, fd);
}
