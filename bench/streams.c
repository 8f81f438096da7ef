/* SPDX-License-Identifier: ISC */
/*
 * Many connections at once (TCP, or sockets of the system), each as fast as it
 * can: through a forward, or by itself. Shown are the rate of all together and
 * how equal they are (Jain's index: 1 if all are, 1/n if one has everything).
 *
 * usage: streams serve PORT|/SOCKET
 *	  streams get|put PORT|/SOCKET COUNT SECONDS [SOCKS-TARGET-PORT]
 *
 * Prints a line when measuring begins, and one at the end.
 * The first byte of a connection tells the server whether to send or to read:
 * d, D (one of many) or u.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024, MANY = 1000, SEND_BUFFER = 32 * 1024,
	EVENTS = 256, SETTLE_S = 2, SETTLE_MAX_S = 60, LIMIT_S = 120 };

struct stream {
	int fd;
	char what; /* 'd': we send, 'u': we read, 0: not known yet */
	uint64_t moved;
};

static char chunk[CHUNK];

static void
die(const char *what)
{
	fprintf(stderr, "streams: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A socket, and the address that is meant by a port of this host, or by the
 * path of a socket. */
static int
make_socket(const char *where, struct sockaddr_storage *sa, socklen_t *len)
{
	struct sockaddr_un *sun = (struct sockaddr_un *)sa;
	struct sockaddr_in *sin = (struct sockaddr_in *)sa;

	memset(sa, 0, sizeof *sa);
	if (*where == '/') {
		sun->sun_family = AF_UNIX;
		snprintf(sun->sun_path, sizeof sun->sun_path, "%s", where);
		*len = sizeof *sun;
	} else {
		sin->sin_family = AF_INET;
		sin->sin_port = htons((uint16_t)atoi(where));
		sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*len = sizeof *sin;
	}
	return socket(sa->ss_family, SOCK_STREAM, 0);
}

/* Bounds what the kernel keeps for a stream that sends. By itself it keeps up
 * to 2.6 MB on loopback: for thousands of streams that is more than all sockets
 * may have (net.ipv4.tcp_mem), and it drops packets of the SSH connection. */
static void
bound(int fd)
{
	int bytes = SEND_BUFFER;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* What is not sent when fd is closed is forgotten at once: it would be in the
 * way of the next measurement. */
static void
forget_at_end(int fd)
{
	const struct linger forget = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &forget, sizeof forget);
}

static void
watch(int ep, struct stream *s, uint32_t events, int op)
{
	struct epoll_event e = { .events = events, .data.ptr = s };

	if (epoll_ctl(ep, op, s->fd, &e) == -1)
		die("epoll_ctl");
}

/* False: it has ended. */
static bool
move(struct stream *s, bool sends)
{
	ssize_t n = sends ? write(s->fd, chunk, CHUNK) :
			    read(s->fd, chunk, CHUNK);

	if (n > 0)
		s->moved += (uint64_t)n;
	return n > 0 || (n == -1 && errno == EAGAIN);
}

static void
take(int ep, int listener)
{
	struct stream *s;
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) != -1) {
		if ((s = calloc(1, sizeof *s)) == NULL)
			die("memory");
		s->fd = fd;
		forget_at_end(fd);
		watch(ep, s, EPOLLIN, EPOLL_CTL_ADD);
	}
}

/* Takes the first byte. False: it is not there. */
static bool
greeted(struct stream *s)
{
	char c;

	if (read(s->fd, &c, 1) != 1)
		return false;
	if (c == 'D')
		bound(s->fd);
	s->what = c == 'D' ? 'd' : c;
	return true;
}

static void
serve(const char *where)
{
	struct sockaddr_storage sa;
	socklen_t len;
	int ep = epoll_create1(0), on = 1;
	struct stream listener = { .fd = make_socket(where, &sa, &len) };
	struct epoll_event e[EVENTS];

	fcntl(listener.fd, F_SETFL, O_NONBLOCK);
	setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener.fd, (struct sockaddr *)&sa, len) == -1 ||
	    listen(listener.fd, SOMAXCONN) == -1)
		die("listen");
	watch(ep, &listener, EPOLLIN, EPOLL_CTL_ADD);
	for (;;) {
		int n = epoll_wait(ep, e, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct stream *s = e[i].data.ptr;

			if (s == &listener) {
				take(ep, s->fd);
				continue;
			}
			if (s->what == 0 && greeted(s)) {
				if (s->what == 'd')
					watch(ep, s, EPOLLOUT, EPOLL_CTL_MOD);
				continue;
			}
			if (!move(s, s->what == 'd')) {
				close(s->fd);
				free(s);
			}
		}
	}
}

static void
by_socks(int fd, int port)
{
	uint8_t ask[] = { 5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1,
		(uint8_t)(port >> 8), (uint8_t)port };
	uint8_t answer[12];

	if (write(fd, ask, sizeof ask) != sizeof ask ||
	    recv(fd, answer, sizeof answer, MSG_WAITALL) != sizeof answer ||
	    answer[3] != 0)
		die("socks");
}

static void
move_all(int ep, bool sends, double until, size_t *ended)
{
	struct epoll_event e[EVENTS];

	while (now() < until) {
		int n = epoll_wait(ep, e, EVENTS, 100);

		for (int i = 0; i < n; i++) {
			struct stream *s = e[i].data.ptr;

			if (!move(s, sends)) {
				(*ended)++;
				watch(ep, s, 0, EPOLL_CTL_DEL);
			}
		}
	}
}

/* The streams move until each has had its turn, and for SETTLE_S at least: on a
 * busy machine thousands of connections take longer than that to be there. */
static void
settle(int ep, bool sends, const struct stream *v, size_t count, size_t *ended)
{
	double began = now();
	size_t i = 0;

	move_all(ep, sends, began + SETTLE_S, ended);
	while (i < count && now() < began + SETTLE_MAX_S) {
		if (v[i].moved > 0)
			i++;
		else
			move_all(ep, sends, now() + 0.1, ended);
	}
}

static void
call(bool sends, const char *where, size_t count, double seconds, int target)
{
	struct stream *v = calloc(count, sizeof *v);
	struct sockaddr_storage sa;
	socklen_t len;
	double sum = 0, squares = 0, least = 1e30, most = 0, began;
	int ep = epoll_create1(0);
	size_t ended = 0;
	const char *greeting = sends ? "u" : count > MANY ? "D" : "d";

	for (size_t i = 0; i < count; i++) {
		v[i].fd = make_socket(where, &sa, &len);
		forget_at_end(v[i].fd);
		if (sends && count > MANY)
			bound(v[i].fd);
		if (connect(v[i].fd, (struct sockaddr *)&sa, len) == -1)
			die("connect");
		if (target != 0)
			by_socks(v[i].fd, target);
		if (write(v[i].fd, greeting, 1) != 1)
			die("write");
		fcntl(v[i].fd, F_SETFL, O_NONBLOCK);
		watch(ep, &v[i], sends ? EPOLLOUT : EPOLLIN, EPOLL_CTL_ADD);
	}
	settle(ep, sends, v, count, &ended);
	for (size_t i = 0; i < count; i++)
		v[i].moved = 0;
	puts("settled");
	fflush(stdout);
	began = now();
	move_all(ep, sends, began + seconds, &ended);
	seconds = now() - began;
	for (size_t i = 0; i < count; i++) {
		double x = (double)v[i].moved;

		sum += x;
		squares += x * x;
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	printf("%.1f MB/s, Jain %.3f, least %.3f most %.3f MB/s, %zu ended\n",
	    sum / seconds / 1e6,
	    squares > 0 ? sum * sum / (double)count / squares : 0.0,
	    least / seconds / 1e6, most / seconds / 1e6, ended);
	free(v);
}

int
main(int argc, char **argv)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve(argv[2]);
	if (argc < 5) {
		fprintf(stderr, "usage: streams serve PORT|/SOCKET\n       "
				"streams get|put PORT|/SOCKET COUNT SECONDS "
				"[SOCKS-TARGET]\n");
		return 1;
	}
	alarm(LIMIT_S);
	call(strcmp(argv[1], "put") == 0, argv[2],
	    (size_t)atol(argv[3]), atof(argv[4]),
	    argc > 5 ? atoi(argv[5]) : 0);
	return 0;
}
