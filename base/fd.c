/* SPDX-License-Identifier: ISC */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/wire.h"
#include "compat/sock.h"

enum { READ_CHUNK = 16 * 1024 };

int
fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);
	int want;

	if (flags == -1)
		return ERR_SYSTEM;
	want = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	if (want != flags && fcntl(fd, F_SETFL, want) == -1)
		return ERR_SYSTEM;
	return 0;
}

int
fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) == -1 ? ERR_SYSTEM : 0;
}

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd != -1)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static void
wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	(void)poll(&p, 1, -1);
}

ssize_t
fd_read(int fd, void *p, size_t max)
{
	ssize_t n;

	do
		n = read(fd, p, max);
	while (n == -1 && errno == EINTR);
	return n;
}

ssize_t
fd_write(int fd, const void *p, size_t len)
{
	ssize_t n;

	do
		n = write(fd, p, len);
	while (n == -1 && errno == EINTR);
	return n;
}

ssize_t
fd_writev(int fd, const struct iovec *iov, int count)
{
	ssize_t n;

	do
		n = writev(fd, iov, count);
	while (n == -1 && errno == EINTR);
	return n;
}

ssize_t
fd_pread(int fd, void *p, size_t max, uint64_t offset)
{
	ssize_t n;

	do
		n = pread(fd, p, max, (off_t)offset);
	while (n == -1 && errno == EINTR);
	return n;
}

ssize_t
fd_pread_all(int fd, void *p, size_t len, uint64_t offset)
{
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = fd_pread(fd, (char *)p + got, len - got, offset + got);
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

bool
fd_stat_has_holes(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_blocks < st->st_size / 512;
}

bool
fd_has_holes(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && fd_stat_has_holes(&st);
}

bool
fd_is_hole(int fd, uint64_t offset, uint64_t len)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
	struct stat st;

	if (data >= 0)
		return (uint64_t)data >= offset &&
		    (uint64_t)data - offset >= len;
	/* ENXIO: no data up to the end of the file, or beyond its end. */
	return errno == ENXIO && fstat(fd, &st) == 0 &&
	    (uint64_t)st.st_size >= offset && (uint64_t)st.st_size - offset >=
	    len;
}

int
fd_pwrite_all(int fd, const void *p, size_t len, uint64_t offset)
{
	const char *from = p;
	ssize_t n;

	while (len > 0) {
		n = pwrite(fd, from, len, (off_t)offset);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -1;
		from += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_read_all(int fd, void *p, size_t len)
{
	uint8_t *to = p;
	ssize_t n;

	while (len > 0) {
		n = fd_read(fd, to, len);
		if (n == 0)
			return ERR_EOF;
		if (n == -1) {
			if (errno == EAGAIN)
				wait_for(fd, POLLIN);
			else
				return ERR_SYSTEM;
			continue;
		}
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_write_all(int fd, const void *p, size_t len)
{
	const uint8_t *from = p;
	ssize_t n;

	while (len > 0) {
		n = fd_write(fd, from, len);
		if (n == -1) {
			if (errno == EAGAIN)
				wait_for(fd, POLLOUT);
			else
				return ERR_SYSTEM;
			continue;
		}
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Waits for events on fd; ERR_TIMEOUT at end_ms. */
static int
wait_until(int fd, short events, uint64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t now = clock_ms();

	if (now >= end_ms)
		return ERR_TIMEOUT;
	(void)poll(&p, 1, (int)MIN(end_ms - now, 60 * 1000));
	return 0;
}

int
fd_read_until(int fd, void *p, size_t len, uint64_t end_ms)
{
	uint8_t *to = p;
	ssize_t n;
	int r;

	while (len > 0) {
		n = fd_read(fd, to, len);
		if (n == 0)
			return ERR_EOF;
		if (n == -1 && errno != EAGAIN)
			return ERR_SYSTEM;
		if (n == -1) {
			if ((r = wait_until(fd, POLLIN, end_ms)) != 0)
				return r;
			continue;
		}
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_write_until(int fd, const void *p, size_t len, uint64_t end_ms)
{
	const uint8_t *from = p;
	ssize_t n;
	int r;

	while (len > 0) {
		n = fd_write(fd, from, len);
		if (n == -1 && errno != EAGAIN)
			return ERR_SYSTEM;
		if (n == -1) {
			if ((r = wait_until(fd, POLLOUT, end_ms)) != 0)
				return r;
			continue;
		}
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_read_file(int fd, struct buf *out, size_t max)
{
	size_t total = 0;
	uint8_t *to;
	ssize_t n;

	for (;;) {
		to = buf_reserve(out, READ_CHUNK);
		if (to == NULL)
			return buf_err(out);
		n = fd_read(fd, to, READ_CHUNK);
		if (n == -1)
			return ERR_SYSTEM;
		if (n == 0)
			return 0;
		total += (size_t)n;
		if (total > max)
			return ERR_LIMIT;
		buf_commit(out, (size_t)n);
	}
}

int
file_read(const char *path, struct buf *out, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd == -1)
		return ERR_SYSTEM;
	r = fd_read_file(fd, out, max);
	fd_close(&fd);
	return r;
}

enum { RANDOM_BYTES = 8 };

/* Makes a new file in the directory of name: its descriptor, or -1. *tmp is the
 * new file's name; the caller frees it. */
static int
make_beside(int dir, const char *name, char **tmp)
{
	uint8_t bytes[RANDOM_BYTES];

	*tmp = NULL;
	if (getentropy(bytes, sizeof bytes) == -1 ||
	    asprintf(tmp, "%s.%02x%02x%02x%02x%02x%02x%02x%02x", name,
		bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
		bytes[6], bytes[7]) == -1)
		return -1;
	return openat(dir, *tmp,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int
replace(const char *path, const void *p, size_t len, mode_t mode, bool sync)
{
	const char *name;
	char *tmp = NULL;
	int dir, fd, r = ERR_SYSTEM, saved;

	if ((dir = open_named_parent(path, &name)) == -1)
		return ERR_SYSTEM;
	if ((fd = make_beside(dir, name, &tmp)) == -1)
		goto out;
	if (fchmod(fd, mode) == 0 && fd_write_all(fd, p, len) == 0 &&
	    (!sync || fsync(fd) == 0) && renameat(dir, tmp, dir, name) == 0)
		r = 0;
	if (r != 0) {
		saved = errno;
		unlinkat(dir, tmp, 0);
		errno = saved;
	}
out:
	fd_close(&fd);
	fd_close(&dir);
	free(tmp);
	return r;
}

int
file_replace(const char *path, const void *p, size_t len, mode_t mode)
{
	return replace(path, p, len, mode, true);
}

int
file_replace_quick(const char *path, const void *p, size_t len, mode_t mode)
{
	return replace(path, p, len, mode, false);
}

int
fd_send_msg(int sock, const struct buf *body)
{
	uint8_t head[4];
	int r = buf_err(body);

	if (r != 0)
		return r;
	if (buf_len(body) > UINT32_MAX)
		return ERR_LIMIT;
	wire_put_u32(head, (uint32_t)buf_len(body));
	if ((r = fd_write_all(sock, head, sizeof head)) != 0)
		return r;
	return fd_write_all(sock, buf_data(body), buf_len(body));
}

int
fd_try_send_msg(int sock, const struct buf *body, uint64_t end_ms)
{
	struct buf whole = { 0 };
	ssize_t n;
	int r;

	buf_put_string_buf(&whole, body);
	if ((r = buf_err(&whole)) != 0)
		return r;
	for (;;) {
		n = send(sock, buf_data(&whole), buf_len(&whole),
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n != -1)
			break;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN) {
			r = ERR_SYSTEM;
			break;
		}
		if (wait_until(sock, POLLOUT, end_ms) != 0) {
			r = ERR_AGAIN;
			break;
		}
	}
	if (r == 0)
		r = fd_write_all(sock, buf_data(&whole) + n,
		    buf_len(&whole) - (size_t)n);
	buf_clear(&whole);
	return r;
}

int
fd_receive_msg(int sock, struct buf *body, size_t max)
{
	uint8_t head[4], *to;
	uint32_t len;
	int r;

	if ((r = fd_read_all(sock, head, sizeof head)) != 0)
		return r;
	len = wire_get_u32(head);
	if (len > max)
		return ERR_LIMIT;
	if ((to = buf_reserve(body, len)) == NULL)
		return buf_err(body);
	if ((r = fd_read_all(sock, to, len)) == 0)
		buf_commit(body, len);
	return r;
}

/* Room for the descriptors that one message carries, aligned as sendmsg(2)
 * wants it. */
union fd_control {
	struct cmsghdr head;
	char space[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
};

/* Sends len bytes, and n descriptors with them. */
static int
send_message(int sock, const void *p, size_t len, const int *fds, size_t n)
{
	union fd_control control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)p,
		.iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t sent;

	memset(&control, 0, sizeof control);
	if (n > 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(n * sizeof *fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof *fds);
		memcpy(CMSG_DATA(c), fds, n * sizeof *fds);
	}
	do {
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (sent == -1 && errno == EINTR);
	return sent == (ssize_t)len ? 0 : ERR_SYSTEM;
}

int
fd_send_fds(int sock, const int *fds, size_t n)
{
	static const char byte;

	ENSURE(n > 0 && n <= FD_PASS_MAX);
	return send_message(sock, &byte, 1, fds, n);
}

int
fd_send_with(int sock, const void *p, size_t len, int fd)
{
	return send_message(sock, p, len, &fd, fd != -1 ? 1 : 0);
}

/* Copies the descriptors of a message to fds; returns how many. */
static size_t
take_fds(struct msghdr *msg, int *fds, size_t max)
{
	size_t n = 0, here;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		here = (c->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
		here = MIN(here, max - n);
		memcpy(fds + n, CMSG_DATA(c), here * sizeof *fds);
		n += here;
	}
	return n;
}

/* As recvmsg(2). fds gets the descriptors of the message, *n of them;
 * *left_out: the system has dropped some. */
static ssize_t
receive_message(int sock, void *p, size_t max, int fds[FD_PASS_MAX], size_t *n,
    bool *left_out)
{
	union fd_control control;
	struct iovec iov = { .iov_base = p, .iov_len = max };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof control.space };
	ssize_t len;

	*n = 0;
	do {
		len = sock_receive(sock, &msg);
	} while (len == -1 && errno == EINTR);
	if (len > 0)
		*n = take_fds(&msg, fds, FD_PASS_MAX);
	*left_out = (msg.msg_flags & MSG_CTRUNC) != 0;
	return len;
}

int
fd_receive_fds(int sock, int *fds, size_t n)
{
	int got[FD_PASS_MAX];
	bool left_out;
	size_t count;
	char byte;
	ssize_t len;

	ENSURE(n > 0 && n <= FD_PASS_MAX);
	len = receive_message(sock, &byte, 1, got, &count, &left_out);
	if (len <= 0)
		return len == 0 ? ERR_EOF : ERR_SYSTEM;
	if (count == n && !left_out) {
		memcpy(fds, got, n * sizeof *fds);
		return 0;
	}
	while (count > 0)
		fd_close(&got[--count]);
	return ERR_PROTOCOL;
}

ssize_t
fd_receive_with(int sock, void *p, size_t len, int *fd)
{
	int got[FD_PASS_MAX];
	bool left_out;
	size_t count;
	ssize_t n = receive_message(sock, p, len, got, &count, &left_out);

	*fd = count > 0 ? got[0] : -1;
	while (count > 1)
		fd_close(&got[--count]);
	/* A descriptor comes with the first bytes, which may be few. */
	if (n <= 0 || (size_t)n == len ||
	    fd_read_all(sock, (uint8_t *)p + n, len - (size_t)n) == 0)
		return n <= 0 ? n : (ssize_t)len;
	fd_close(fd);
	return -1;
}

static int
buffer_of(int fd, int option)
{
	socklen_t len = sizeof(int);
	int size;

	if (getsockopt(fd, SOL_SOCKET, option, &size, &len) == -1)
		return 0;
	return size;
}

int
fd_rcvbuf(int fd)
{
	return buffer_of(fd, SO_RCVBUF);
}

int
fd_sndbuf(int fd)
{
	return buffer_of(fd, SO_SNDBUF);
}

void
fd_set_nodelay(int fd)
{
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void
fd_set_quickack(int fd)
{
#ifdef TCP_QUICKACK
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
#else
	(void)fd;
#endif
}

static rlim_t limit_before; /* 0: not raised */

void
fd_raise_limit(void)
{
	struct rlimit l;

	if (limit_before != 0 || getrlimit(RLIMIT_NOFILE, &l) == -1 ||
	    l.rlim_cur == 0 || l.rlim_cur >= l.rlim_max)
		return;
	limit_before = l.rlim_cur;
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l) == -1)
		limit_before = 0;
}

void
fd_restore_limit(void)
{
	struct rlimit l;

	if (limit_before == 0 || getrlimit(RLIMIT_NOFILE, &l) == -1)
		return;
	l.rlim_cur = MIN(limit_before, l.rlim_max);
	(void)setrlimit(RLIMIT_NOFILE, &l);
	limit_before = 0;
}

size_t
fd_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == -1 || l.rlim_cur > INT_MAX)
		return INT_MAX; /* no descriptor is larger */
	return (size_t)l.rlim_cur;
}

void
fd_sanitise_stdio(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", O_RDWR) != fd)
			_exit(255); /* nobody could be told */
}
