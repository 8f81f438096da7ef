/* SPDX-License-Identifier: ISC */
/*
 * Many TCP connections at once, each as fast as it can: through a forward, or
 * by itself. Shown are the rate of all together and how equal they are (Jain's
 * index: 1 if all are, 1/n if one has everything).
 *
 * usage: streams serve PORT
 *	  streams get|put PORT COUNT SECONDS [SOCKS-TARGET-PORT]
 *
 * Prints a line when measuring begins, and one at the end.
 * The first byte of a connection tells the server whether to send or to read.
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
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024, EVENTS = 256, SETTLE_S = 2, SETTLE_MAX_S = 60,
	LIMIT_S = 120 };

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

static struct sockaddr_in
at(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
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
		watch(ep, s, EPOLLIN, EPOLL_CTL_ADD);
	}
}

static void
serve(int port)
{
	struct sockaddr_in sa = at(port);
	int ep = epoll_create1(0), on = 1;
	struct stream listener = { .fd = socket(AF_INET,
	    SOCK_STREAM | SOCK_NONBLOCK, 0) };
	struct epoll_event e[EVENTS];

	setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener.fd, (struct sockaddr *)&sa, sizeof sa) == -1 ||
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
			if (s->what == 0 && read(s->fd, &s->what, 1) == 1) {
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
call(bool sends, int port, size_t count, double seconds, int target)
{
	struct stream *v = calloc(count, sizeof *v);
	struct sockaddr_in sa = at(port);
	double sum = 0, squares = 0, least = 1e30, most = 0, began;
	int ep = epoll_create1(0);
	size_t ended = 0;

	for (size_t i = 0; i < count; i++) {
		v[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(v[i].fd, (struct sockaddr *)&sa, sizeof sa) == -1)
			die("connect");
		if (target != 0)
			by_socks(v[i].fd, target);
		if (write(v[i].fd, sends ? "u" : "d", 1) != 1)
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
		serve(atoi(argv[2]));
	if (argc < 5) {
		fprintf(stderr, "usage: streams serve PORT\n       streams "
				"get|put PORT COUNT SECONDS [SOCKS-TARGET]\n");
		return 1;
	}
	alarm(LIMIT_S);
	call(strcmp(argv[1], "put") == 0, atoi(argv[2]),
	    (size_t)atol(argv[3]), atof(argv[4]),
	    argc > 5 ? atoi(argv[5]) : 0);
	return 0;
}
