/* SPDX-License-Identifier: ISC */
/*
 * How much worker threads speed up the packet layer. Only one end of a
 * connection is measured: it sends into a socket whose far end discards the
 * bytes, or receives from one that has them ready. Runs with 0, 1, ... threads
 * alternate, so that other load of the machine affects all of them alike.
 * Shown are medians: MB/s and its ratio to the rate without threads, and CPU
 * seconds per GB of the process and of its loop thread. MB/s depends on how
 * many processors are idle; the loop thread's CPU time shows what the rate
 * would be if every thread had a core.
 *
 * With -k the threads compute the keystream of CTR instead.
 *
 * usage: pipeline [-k] [-n runs] [-t most threads] [cipher [mac]]
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "packet.h"

enum {
	PAYLOAD = 32 * 1024 + 9, /* of a full CHANNEL_DATA packet */
	PACKETS = 6000,		 /* per run; about 200 MB */
	THREADS_MAX = 8,
	RUNS_MAX = 101,
};

struct sample {
	double rate, cpu, loop_cpu; /* MB/s, seconds per GB */
};

struct bench {
	struct loop *loop;
	struct packet *packet;
	struct loop_fd *watch;
	int left; /* packets */
	bool sending;
};

static const char *cipher_name, *mac_name;
static bool keystream;
static uint8_t payload[PAYLOAD];

static void
die(const char *what)
{
	fprintf(stderr, "pipeline: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
check(int r)
{
	if (r == 0)
		return;
	fprintf(stderr, "pipeline: %s\n", err_text(r));
	exit(1);
}

static struct packet *
new_packet(int fd, bool server)
{
	struct packet *p = packet_new(fd, fd, server);
	struct packet_keys k = { 0 };

	if (p == NULL)
		die("packet_new");
	if ((k.cipher = cipher_by_name(cipher_name)) == NULL)
		die(cipher_name);
	if (k.cipher->needs_mac && (k.mac = mac_by_name(mac_name)) == NULL)
		die(mac_name);
	check(packet_set_keys(p, PACKET_TX, &k, true));
	check(packet_set_keys(p, PACKET_RX, &k, true));
	check(packet_authenticated(p));
	return p;
}

static void
tcp_pair(int fd[2])
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof sin;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (s == -1 || bind(s, (struct sockaddr *)&sin, len) == -1 ||
	    listen(s, 1) == -1 ||
	    getsockname(s, (struct sockaddr *)&sin, &len) == -1)
		die("listen");
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (fd[0] == -1 ||
	    connect(fd[0], (struct sockaddr *)&sin, len) == -1 ||
	    (fd[1] = accept(s, NULL, NULL)) == -1)
		die("connect");
	close(s);
	fd_set_nodelay(fd[0]);
	fd_set_nodelay(fd[1]);
}

/* ---- the end that is measured ------------------------------------------- */

static void
wake(void *arg)
{
	loop_wake(arg);
}

static int
send_some(struct bench *b, bool *busy)
{
	uint8_t *at;
	int r;

	while (b->left > 0 &&
	    (at = packet_bulk_begin(b->packet, PAYLOAD)) != NULL) {
		memcpy(at, payload, PAYLOAD); /* what read(2) does */
		check(packet_bulk_commit(b->packet, PAYLOAD));
		b->left--;
	}
	r = packet_flush(b->packet);
	if (r != ERR_AGAIN)
		check(r);
	if (b->left == 0 && packet_tx_pending(b->packet) == 0)
		loop_stop(b->loop);
	*busy = b->left > 0 && r == 0;
	return packet_tx_ready(b->packet) > 0 ? LOOP_WRITE : 0;
}

static void
receive_some(struct bench *b)
{
	struct rd r;
	int err;

	while ((err = packet_next(b->packet, &r)) == 1)
		b->left--;
	check(err);
	if (b->left == 0)
		loop_stop(b->loop);
}

static bool
on_turn(void *arg)
{
	struct bench *b = arg;
	bool busy = false;

	if (b->sending)
		loop_fd_want(b->watch, send_some(b, &busy));
	else
		receive_some(b);
	return busy || !packet_prepare_wait(b->packet, !b->sending);
}

static void
on_socket(void *arg, int fd, int events)
{
	struct bench *b = arg;
	int r;

	(void)fd;
	(void)events;
	if (b->sending)
		return;
	r = packet_fill(b->packet);
	if (r < 0 && r != ERR_AGAIN)
		check(r);
	receive_some(b);
}

static double
seconds(struct timespec t)
{
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sample
run_end(int fd, bool sending, size_t threads)
{
	struct bench b = { .left = PACKETS, .sending = sending };
	struct timespec wall[2], cpu[2], own[2];
	double gb = (double)PACKETS * PAYLOAD / 1e9;

	b.loop = loop_new();
	b.packet = new_packet(fd, !sending);
	b.watch = loop_watch(b.loop, fd, sending ? 0 : LOOP_READ, on_socket,
	    &b);
	packet_set_notify(b.packet, wake, b.loop);
	if (threads > 0 &&
	    (keystream ? packet_keystream_start(b.packet, threads) :
			 packet_threads_start(b.packet, threads)) == 0)
		die("threads");
	check(loop_on_turn(b.loop, on_turn, &b));
	clock_gettime(CLOCK_MONOTONIC, &wall[0]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own[0]);
	check(loop_run(b.loop));
	clock_gettime(CLOCK_MONOTONIC, &wall[1]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own[1]);
	packet_free(b.packet);
	loop_free(b.loop);
	return (struct sample){
		.rate = gb * 1000 / (seconds(wall[1]) - seconds(wall[0])),
		.cpu = (seconds(cpu[1]) - seconds(cpu[0])) / gb,
		.loop_cpu = (seconds(own[1]) - seconds(own[0])) / gb,
	};
}

/* ---- the far end -------------------------------------------------------- */

/* Reads and discards all bytes of the socket. */
static void
throw_away(int fd)
{
	static char unused[1024 * 1024];

	while (recv(fd, unused, sizeof unused, MSG_TRUNC) > 0)
		;
}

/* All packets of a run, which were encrypted before it. */
static struct buf *
make_stream(void)
{
	static struct buf out;
	struct packet *p;
	uint8_t chunk[65536];
	uint8_t *at;
	int fd[2], left = PACKETS;
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == -1)
		die("socketpair");
	check(fd_set_nonblock(fd[1], true));
	p = new_packet(fd[0], false);
	buf_init(&out);
	buf_set_max(&out, (size_t)PACKETS * (PAYLOAD + 512));
	while (left > 0 || packet_tx_pending(p) > 0) {
		while (left > 0 &&
		    (at = packet_bulk_begin(p, PAYLOAD)) != NULL) {
			memcpy(at, payload, PAYLOAD);
			check(packet_bulk_commit(p, PAYLOAD));
			left--;
		}
		if (packet_flush(p) == ERR_SYSTEM)
			die("write");
		while ((n = read(fd[1], chunk, sizeof chunk)) > 0)
			buf_put(&out, chunk, (size_t)n);
	}
	check(buf_err(&out));
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
	return &out;
}

static struct sample
run(bool sending, size_t threads, const struct buf *stream)
{
	struct sample s;
	int fd[2];
	pid_t pid;

	tcp_pair(fd);
	if ((pid = fork()) == -1)
		die("fork");
	if (pid == 0) {
		close(fd[0]);
		if (sending)
			throw_away(fd[1]);
		else
			(void)!fd_write_all(fd[1], buf_data(stream),
			    buf_len(stream));
		_exit(0);
	}
	close(fd[1]);
	s = run_end(fd[0], sending, threads);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	return s;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	return v[n / 2];
}

static void
compare(int runs, size_t most)
{
	static double rate[THREADS_MAX + 1][RUNS_MAX];
	static double cpu[THREADS_MAX + 1][RUNS_MAX];
	static double own[THREADS_MAX + 1][RUNS_MAX];
	struct buf *stream = NULL;

	for (int sending = 1; sending >= 0; sending--) {
		if (!sending)
			stream = make_stream();
		for (int i = 0; i < runs; i++) {
			for (size_t t = 0; t <= most; t++) {
				struct sample s = run(sending, t, stream);

				rate[t][i] = s.rate;
				cpu[t][i] = s.cpu;
				own[t][i] = s.loop_cpu;
			}
		}
		double serial = median(rate[0], runs);

		for (size_t t = 0; t <= most; t++)
			printf("%-30s %-7s %zu threads %6.0f MB/s %5.2f "
			       "%7.3f s/GB, loop %.3f\n",
			    cipher_name, sending ? "send" : "receive", t,
			    median(rate[t], runs),
			    median(rate[t], runs) / serial,
			    median(cpu[t], runs), median(own[t], runs));
		fflush(stdout);
	}
	buf_clear(stream);
}

int
main(int argc, char **argv)
{
	int runs = 7, opt;
	size_t most = 1;

	cipher_use_wide_gcm();
	while ((opt = getopt(argc, argv, "kn:t:")) != -1) {
		if (opt == 'k')
			keystream = true;
		else if (opt == 'n')
			runs = (int)strtonum(optarg, 1, RUNS_MAX, NULL);
		else if (opt == 't')
			most = (size_t)strtonum(optarg, 1, THREADS_MAX, NULL);
		if (opt == '?' || runs == 0 || most == 0) {
			fprintf(stderr, "usage: pipeline [-k] [-n runs] "
					"[-t most threads] [cipher [mac]]\n");
			return 2;
		}
	}
	payload[0] = SSH_MSG_CHANNEL_DATA;
	signal(SIGPIPE, SIG_IGN);
	log_init("pipeline", LOG_LVL_ERROR);
	cipher_name = optind < argc ? argv[optind] : "aes128-gcm@openssh.com";
	mac_name = optind + 1 < argc ? argv[optind + 1] :
				       "umac-128-etm@openssh.com";
	compare(runs, most);
	return 0;
}
