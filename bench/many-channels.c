/* SPDX-License-Identifier: ISC */
/*
 * What channels that idle cost those that do not. Both ends of a connection
 * run in this process, over a socketpair and without a cipher. Of so many idle
 * channels each has a socket as source and sink at both ends, as forwards
 * have; one further channel is busy. Shown are, for a number of idle channels:
 * microseconds of a byte that travels alone from the source of the busy one to
 * its sink, MB/s of its bulk, and KiB of memory that an idle channel takes at
 * each end.
 *
 * usage: many-channels [number of idle channels...]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "channels.h"
#include "packet.h"

enum {
	TRIPS = 5000,
	BULK_BYTES = 400 * 1000 * 1000,
	CHUNK = 256 * 1024,
	OPENING_TURNS = 100 * 1000,
};

struct end {
	struct packet *packet;
	struct channels *chs;
	struct channel *last; /* opened or accepted last */
	size_t opened;
	bool more;
};

struct world {
	struct loop *loop;
	int sock[2];
	struct end a, b;
	int in, out; /* far ends of the busy source and sink */
};

static void
die(const char *what)
{
	fprintf(stderr, "many-channels: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
on_opened(void *arg, struct channel *c)
{
	struct end *e = arg;

	e->last = c;
	e->opened++;
}

static const struct channel_ops ops = { .opened = on_opened };

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)chs;
	(void)data;
	on_opened(arg, c);
	return channel_accept(c, &ops, arg, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT) == 0 ? CHANNEL_SUCCESS : ERR_SYSTEM;
}

static void
start_end(struct world *w, struct end *e, int fd, bool server)
{
	e->packet = packet_new(fd, fd, server);
	if (e->packet == NULL || packet_authenticated(e->packet) != 0 ||
	    channels_new(&e->chs, e->packet, w->loop) != 0 ||
	    channels_on_open(e->chs, "bench", on_open, e) != 0)
		die("end");
}

static void
step(struct end *e)
{
	struct rd payload;
	int r = packet_fill(e->packet);

	if (r < 0 && r != ERR_AGAIN)
		die("fill");
	while ((r = packet_next(e->packet, &payload)) == 1)
		if (channels_input(e->chs, payload) != 0)
			die("input");
	if (r != 0 || channels_turn(e->chs, &e->more) != 0)
		die("turn");
	r = packet_flush(e->packet);
	if (r != 0 && r != ERR_AGAIN)
		die("flush");
}

static void
turn(struct world *w)
{
	if (loop_turn(w->loop, 0) != 0)
		die("loop");
	step(&w->a);
	step(&w->b);
}

/* A socket as source and sink of both ends; the far ends. */
static void
open_channel(struct world *w, int *far_a, int *far_b)
{
	size_t want = w->b.opened + 1;
	int a[2], b[2];
	struct channel *c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b) == -1)
		die("socketpair");
	if (channel_open(&c, w->a.chs, "bench", NULL, &ops, &w->a,
		CHANNEL_WINDOW_DEFAULT, CHANNEL_PACKET_DEFAULT) != 0)
		die("open");
	for (int i = 0; i < OPENING_TURNS && w->a.opened < want; i++)
		turn(w);
	if (w->a.opened != want || w->b.opened != want)
		die("open");
	channel_set_fds(w->a.last, a[0], a[0], -1, -1);
	channel_set_fds(w->b.last, b[0], b[0], -1, -1);
	*far_a = a[1];
	*far_b = b[1];
}

static double
trip_us(struct world *w)
{
	uint64_t begin = clock_us();
	char c = 'x';

	for (int i = 0; i < TRIPS; i++) {
		if (write(w->in, &c, 1) != 1)
			die("write");
		while (read(w->out, &c, 1) != 1)
			turn(w);
	}
	return (double)(clock_us() - begin) / TRIPS;
}

static double
bulk_rate(struct world *w)
{
	static char chunk[CHUNK];
	uint64_t begin = clock_us(), moved = 0;
	ssize_t n;

	while (moved < BULK_BYTES) {
		while (write(w->in, chunk, sizeof chunk) > 0)
			;
		turn(w);
		while ((n = read(w->out, chunk, sizeof chunk)) > 0)
			moved += (uint64_t)n;
	}
	return (double)moved / (double)(clock_us() - begin);
}

static double
rss_kib(void)
{
	unsigned long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL || fscanf(f, "%lu %lu", &size, &resident) != 2)
		die("/proc/self/statm");
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void
measure(size_t idle)
{
	struct world w = { .loop = loop_new() };
	int *far = calloc(2 * idle + 1, sizeof *far);
	double before, after, trip, rate;

	if (w.loop == NULL || far == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, w.sock) == -1)
		die("start");
	start_end(&w, &w.a, w.sock[0], false);
	start_end(&w, &w.b, w.sock[1], true);
	open_channel(&w, &w.in, &w.out);
	before = rss_kib();
	for (size_t i = 0; i < idle; i++)
		open_channel(&w, &far[2 * i], &far[2 * i + 1]);
	for (int i = 0; i < 10; i++)
		turn(&w);
	after = rss_kib();
	trip = trip_us(&w);
	rate = bulk_rate(&w);
	printf("%6zu idle: %8.1f us a byte, %7.0f MB/s, %6.2f KiB a channel\n",
	    idle, trip, rate,
	    idle > 0 ? (after - before) / 2 / (double)idle : 0.0);
	/* The process ends soon; only descriptors are given back. */
	for (size_t i = 0; i < 2 * idle; i++)
		close(far[i]);
	free(far);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	/* A loop is one to a process. */
	for (int i = 1; i < MAX(argc, 2); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			measure(argc > i ? strtoul(argv[i], NULL, 10) : 1000);
			_exit(0);
		}
		if (pid == -1 || waitpid(pid, NULL, 0) == -1)
			die("fork");
	}
	return 0;
}
