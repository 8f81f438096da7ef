/* SPDX-License-Identifier: ISC */
#include "server/events/event-sink.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/sock.h"
#include "conf/event-log.h"

enum {
	LOOK_MS = 1000,	  /* how often the name of a file is looked at */
	OPEN_AGAIN_MS = 1000, /* after a log that could not be opened */
	LAST_WAIT_MS = 100,
	FILE_MODE = 0640,
};

struct event_sink {
	const struct kind *kind;
	char *path;
	int facility;
	int fd; /* -1: not open */
	uint64_t looked_ms, failed_ms;
	bool torn; /* the file's last line has no end */
	size_t taken; /* after a write that a file took in part: bytes of whole
		       * lines in that part */
	bool told; /* an error was logged */
	struct buf waiting; /* lines that a socket has no room for */
	size_t waiting_lines;
	uint64_t dropped;
};

/* put() writes one line (a socket) or several (a file). ERR_AGAIN: there is no
 * room now. ERR_SYSTEM: the log has to be opened again. */
struct kind {
	bool datagrams;
	int (*open)(struct event_sink *s);
	int (*put)(struct event_sink *s, const char *line, size_t len);
};

/* ---- a file ------------------------------------------------------------- */

static int
open_file(struct event_sink *s)
{
	struct stat st;

	s->fd = open(s->path,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
		O_CLOEXEC,
	    FILE_MODE);
	if (s->fd == -1)
		return ERR_SYSTEM;
	if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	fd_close(&s->fd);
	errno = EINVAL;
	return ERR_SYSTEM;
}

/* Closes the file if it has lost its name, as by logrotate. */
static void
look_at_name(struct event_sink *s)
{
	uint64_t now = clock_ms();
	struct stat named, ours;

	if (s->fd == -1 || now - s->looked_ms < LOOK_MS)
		return;
	s->looked_ms = now;
	if (fstat(s->fd, &ours) == 0 &&
	    fstatat(AT_FDCWD, s->path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    named.st_dev == ours.st_dev && named.st_ino == ours.st_ino)
		return;
	fd_close(&s->fd);
	s->torn = false;
}

static size_t
after_last_line(const char *lines, size_t len)
{
	while (len > 0 && lines[len - 1] != '\n')
		len--;
	return len;
}

/* Takes back the beginning of a line at the end of the file, unless another
 * process has appended to it since. */
static bool
take_back(int fd, size_t len)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	return end != -1 && fstat(fd, &st) == 0 && st.st_size == end &&
	    ftruncate(fd, end - (off_t)len) == 0;
}

/* One write: other processes append to the same file. A line that a full disk
 * has cut is taken back, or gets an end before the next one: what another
 * process writes must not go on in it. */
static int
write_lines(struct event_sink *s, const char *lines, size_t len)
{
	ssize_t n;

	if (s->torn && fd_write(s->fd, "\n", 1) != 1)
		return ERR_SYSTEM;
	s->torn = false;
	n = fd_write(s->fd, lines, len);
	if (n == (ssize_t)len)
		return 0;
	if (n > 0) {
		s->taken = after_last_line(lines, (size_t)n);
		s->torn = s->taken < (size_t)n &&
		    !take_back(s->fd, (size_t)n - s->taken);
		errno = ENOSPC;
	}
	return ERR_SYSTEM;
}

/* Writes lines to the file. SIGXFSZ is ignored meanwhile, so that a file at its
 * limit (RLIMIT_FSIZE) counts as full and does not end the process; programs
 * that the process starts later find the default. */
static int
put_file(struct event_sink *s, const char *lines, size_t len)
{
	int r, saved;

	(void)signal(SIGXFSZ, SIG_IGN);
	r = write_lines(s, lines, len);
	saved = errno;
	(void)signal(SIGXFSZ, SIG_DFL);
	errno = saved;
	return r;
}

/* ---- sockets ------------------------------------------------------------ */

static int
open_socket(struct event_sink *s)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	memcpy(sun.sun_path, s->path, strlen(s->path));
	s->fd = sock_open(AF_UNIX, SOCK_DGRAM, 0, SOCK_AT_ONCE);
	if (s->fd == -1)
		return ERR_SYSTEM;
	if (connect(s->fd, (struct sockaddr *)&sun, sizeof sun) == 0)
		return 0;
	fd_close(&s->fd);
	return ERR_SYSTEM;
}

static int
put_datagram(struct event_sink *s, const char *p, size_t len)
{
	ssize_t n;

	do
		n = send(s->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	if (n != -1)
		return 0;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ?
	    ERR_AGAIN :
	    ERR_SYSTEM;
}

static int
put_line(struct event_sink *s, const char *line, size_t len)
{
	return put_datagram(s, line, len - 1);
}

static int
put_syslog(struct event_sink *s, const char *line, size_t len)
{
	struct buf b = { 0 };
	int r;

	buf_printf(&b, "<%d>hpnsshd[%ld]: ", s->facility | LOG_INFO,
	    (long)getpid());
	buf_put(&b, line, len - 1);
	r = put_datagram(s, (const char *)buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

/* The journal's own protocol: lines of NAME=value. */
static int
put_journal(struct event_sink *s, const char *line, size_t len)
{
	struct buf b = { 0 };
	int r;

	buf_printf(&b, "PRIORITY=6\nSYSLOG_IDENTIFIER=hpnsshd-events\n"
		       "MESSAGE=");
	buf_put(&b, line, len);
	r = put_datagram(s, (const char *)buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

/* ---- all of them -------------------------------------------------------- */

static const struct kind kinds[EVENT_LOG_KINDS] = {
	[EVENT_LOG_FILE] = { false, open_file, put_file },
	[EVENT_LOG_UNIX] = { true, open_socket, put_line },
	[EVENT_LOG_SYSLOG] = { true, open_socket, put_syslog },
	[EVENT_LOG_JOURNAL] = { true, open_socket, put_journal },
};

struct event_sink *
event_sink_new(const char *spec, int facility)
{
	enum event_log_kind kind;
	struct event_sink *s;
	const char *path;

	if (spec == NULL ||
	    (kind = event_log_split(spec, &path)) == EVENT_LOG_NONE ||
	    kind == EVENT_LOG_KINDS)
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->kind = &kinds[kind];
	s->path = xstrdup(path);
	s->facility = facility;
	s->fd = -1;
	return s;
}

static void
tell(struct event_sink *s)
{
	if (!s->told)
		log_error("EventLog: %s: %s", s->path, strerror(errno));
	s->told = true;
	s->failed_ms = clock_ms();
	fd_close(&s->fd);
}

/* Opens the log if it is not; after a failure not at once again. */
static bool
is_open(struct event_sink *s)
{
	if (s->fd != -1)
		return true;
	if (s->failed_ms != 0 && clock_ms() - s->failed_ms < OPEN_AGAIN_MS)
		return false;
	if (s->kind->open(s) == 0) {
		s->looked_ms = clock_ms();
		return true;
	}
	tell(s);
	return false;
}

/* Writes; a log that has failed is opened again once: its reader may have been
 * restarted. */
static int
put(struct event_sink *s, const char *p, size_t len)
{
	int r = ERR_SYSTEM;

	for (int turn = 0; turn < 2 && r == ERR_SYSTEM; turn++) {
		if (!is_open(s))
			return r;
		r = s->kind->put(s, p, len);
		if (r != ERR_SYSTEM || !s->kind->datagrams)
			break;
		fd_close(&s->fd);
	}
	if (r == ERR_SYSTEM)
		tell(s);
	return r;
}

/* Sends what waits, line by line, as far as there is room. */
static void
send_waiting(struct event_sink *s)
{
	const uint8_t *line, *end;
	size_t len;
	int r;

	while (buf_len(&s->waiting) > 0) {
		line = buf_data(&s->waiting);
		end = memchr(line, '\n', buf_len(&s->waiting));
		len = end != NULL ? (size_t)(end - line) + 1 :
				    buf_len(&s->waiting);
		if ((r = put(s, (const char *)line, len)) == ERR_AGAIN)
			return;
		s->dropped += r != 0;
		s->waiting_lines -= s->waiting_lines > 0;
		buf_consume(&s->waiting, len);
	}
}

static void
put_datagrams(struct event_sink *s, const struct buf *lines)
{
	const uint8_t *p = buf_data(lines), *end;
	size_t left = buf_len(lines), len;

	send_waiting(s);
	for (; left > 0; p += len, left -= len) {
		end = memchr(p, '\n', left);
		len = end != NULL ? (size_t)(end - p) + 1 : left;
		if (s->waiting_lines == EVENT_SINK_QUEUE)
			send_waiting(s);
		if (s->waiting_lines == EVENT_SINK_QUEUE) {
			s->dropped++;
			continue;
		}
		buf_put(&s->waiting, p, len);
		s->waiting_lines++;
	}
	send_waiting(s);
}

void
event_sink_put(struct event_sink *s, const struct buf *lines)
{
	if (s == NULL || buf_err(lines) != 0 || buf_len(lines) == 0)
		return;
	if (s->kind->datagrams) {
		put_datagrams(s, lines);
		return;
	}
	look_at_name(s);
	s->taken = 0;
	if (put(s, (const char *)buf_data(lines), buf_len(lines)) != 0)
		s->dropped += str_count_lines(buf_data(lines) + s->taken,
		    buf_len(lines) - s->taken);
}

uint64_t
event_sink_dropped(const struct event_sink *s)
{
	return s != NULL ? s->dropped : 0;
}

void
event_sink_free(struct event_sink *s)
{
	struct pollfd p = { .events = POLLOUT };

	if (s == NULL)
		return;
	if (buf_len(&s->waiting) > 0) {
		p.fd = s->fd;
		(void)poll(&p, 1, LAST_WAIT_MS);
		send_waiting(s);
	}
	fd_close(&s->fd);
	buf_clear(&s->waiting);
	free(s->path);
	free(s);
}
