/* SPDX-License-Identifier: ISC */
/*
 * keep [PAIRS [MIB [CIPHER]]]: what it costs that sent messages are kept until
 * they are acknowledged (packet-keep.h): CPU seconds per GB of both ends of a
 * connection over loopback, with it and without, by turns in blocks of MIB, and
 * the difference with its interval of 95 %. Blocks are short, so that other
 * work on the machine meets both.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet-keep.h"

enum { PAYLOAD = 128 * 1024, ADJUST = 1024 * 1024, KEEP = 32 * 1024 * 1024 };

/* A connection. Its sender is one thread, its receiver another one. */
struct line {
	struct packet *from, *to;
	uint64_t block; /* bytes to be received in this block */
};

static int file;      /* what is sent; its pages are in memory */
static size_t length; /* of it */

static _Noreturn void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
must(int r, const char *what)
{
	if (r >= 0 || r == ERR_AGAIN)
		return;
	fprintf(stderr, "%s: %s\n", what, err_text(r));
	exit(1);
}

static void
tcp_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listening == -1 || fd[0] == -1 ||
	    bind(listening, (struct sockaddr *)&a, len) == -1 ||
	    listen(listening, 1) == -1 ||
	    getsockname(listening, (struct sockaddr *)&a, &len) == -1 ||
	    connect(fd[0], (struct sockaddr *)&a, len) == -1 ||
	    (fd[1] = accept(listening, NULL, NULL)) == -1)
		die("loopback");
	fd_set_nodelay(fd[0]);
	fd_set_nodelay(fd[1]);
	close(listening);
}

static struct packet *
end_of(int fd, bool server, const char *cipher, bool keeps)
{
	struct packet_keys k = { .cipher = cipher_by_name(cipher) };
	struct packet *p = packet_new(fd, fd, server);

	if (p == NULL || k.cipher == NULL)
		die(cipher);
	k.mac = k.cipher->needs_mac ? mac_at(0) : NULL;
	must(packet_set_keys(p, PACKET_TX, &k, true), "keys");
	must(packet_set_keys(p, PACKET_RX, &k, true), "keys");
	must(packet_authenticated(p), "login");
	if (keeps) {
		must(packet_keep_begin(p, KEEP), "keep");
		packet_keep_count(p);
		packet_handled(p);
	}
	return p;
}

static void
line_open(struct line *l, const char *cipher, bool keeps)
{
	int fd[2];

	tcp_pair(fd);
	l->from = end_of(fd[0], false, cipher, keeps);
	l->to = end_of(fd[1], true, cipher, keeps);
}

static void
wait_for(struct packet *p)
{
	struct pollfd f = { .fd = packet_fd_in(p), .events = POLLIN };

	if (packet_tx_ready(p) > 0)
		f.events |= POLLOUT;
	(void)poll(&f, 1, 1000);
}

/* The end of a turn of either end: what is due is said and written. */
static bool
end_turn(struct packet *p)
{
	uint32_t again_ms;
	int r;

	must(packet_keep_poll(p, &again_ms), "poll");
	must(r = packet_flush(p), "flush");
	return r == 0;
}

static void *
send_block(void *arg)
{
	struct line *l = arg;
	uint64_t left = l->block;
	struct rd payload;
	uint8_t *room;
	off_t at = 0;

	while (left > 0 || packet_tx_pending(l->from) > 0) {
		while (left > 0 &&
		    (room = packet_bulk_begin(l->from, PAYLOAD)) != NULL) {
			ssize_t n = pread(file, room + 1,
			    (size_t)MIN(left, (uint64_t)PAYLOAD - 1), at);

			if (n <= 0)
				die("file");
			room[0] = SSH_MSG_CHANNEL_DATA;
			must(packet_bulk_commit(l->from, (size_t)n + 1),
			    "commit");
			at = (at + n) % (off_t)length;
			left -= (uint64_t)n;
		}
		if (!end_turn(l->from))
			wait_for(l->from);
		if (packet_fill(l->from) > 0)
			while (packet_next(l->from, &payload) == 1)
				packet_handled(l->from);
	}
	return NULL;
}

static void
put_adjust(struct packet *p)
{
	struct buf b;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_CHANNEL_WINDOW_ADJUST);
	buf_put_u32(&b, 0);
	buf_put_u32(&b, ADJUST);
	must(packet_put(p, &b), "adjust");
	buf_clear(&b);
}

static void
receive_block(struct line *l, int sink)
{
	uint64_t got = 0, told = 0;
	struct rd payload;

	while (got < l->block) {
		int r = packet_fill(l->to);

		if (r == ERR_AGAIN)
			wait_for(l->to);
		must(r, "read");
		while (packet_next(l->to, &payload) == 1) {
			if (write(sink, payload.p + 1, payload.len - 1) == -1)
				die("sink");
			got += payload.len - 1;
			packet_handled(l->to);
		}
		if (got - told >= ADJUST / 2) {
			put_adjust(l->to);
			told = got;
		}
		(void)end_turn(l->to);
	}
}

static double
cpu_s(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* CPU seconds of both ends for one block. */
static double
move(struct line *l, uint64_t bytes, int sink)
{
	double before = cpu_s();
	pthread_t sender;

	l->block = bytes;
	if (pthread_create(&sender, NULL, send_block, l) != 0)
		die("thread");
	receive_block(l, sink);
	(void)pthread_join(sender, NULL);
	return cpu_s() - before;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
tell(const char *cipher, int pairs, double *ratio, const double sum[2],
    double gb)
{
	double mean = 0, var = 0, half;

	for (int i = 0; i < pairs; i++)
		mean += ratio[i] / pairs;
	for (int i = 0; i < pairs; i++)
		var += (ratio[i] - mean) * (ratio[i] - mean) / (pairs - 1);
	half = 1.96 * sqrt(var / pairs);
	qsort(ratio, (size_t)pairs, sizeof *ratio, by_size);
	/* The places of the median's interval are those of a fair coin. */
	printf("%s: without %.3f s/GB, with %.3f; mean %+.2f %% "
	       "(%+.2f to %+.2f), median %+.2f %% (%+.2f to %+.2f)\n",
	    cipher, sum[0] / gb, sum[1] / gb, 100 * expm1(mean),
	    100 * expm1(mean - half), 100 * expm1(mean + half),
	    100 * expm1(ratio[pairs / 2]),
	    100 * expm1(ratio[(int)fmax(0, pairs / 2 - sqrt(pairs))]),
	    100 * expm1(ratio[(int)fmin(pairs - 1, pairs / 2 + sqrt(pairs))]));
}

int
main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 15;
	uint64_t bytes = (uint64_t)(argc > 2 ? atoi(argv[2]) : 256) << 20;
	const char *cipher = argc > 3 ? argv[3] : "aes128-gcm@openssh.com";
	double *ratio = calloc((size_t)pairs, sizeof *ratio), sum[2] = { 0 };
	int sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct line line[2];
	struct stat st;

	log_init("keep", LOG_LVL_ERROR);
	file = open(argv[0], O_RDONLY | O_CLOEXEC); /* any bytes will do */
	if (pairs < 2 || ratio == NULL || sink == -1 || file == -1 ||
	    fstat(file, &st) == -1)
		die("keep");
	length = (size_t)st.st_size;
	for (int i = 0; i < 2; i++) {
		line_open(&line[i], cipher, i == 1);
		(void)move(&line[i], bytes, sink);
	}
	for (int i = 0; i < pairs; i++) {
		double took[2];

		for (int j = 0; j < 2; j++) {
			int which = (i + j) % 2;

			took[which] = move(&line[which], bytes, sink);
			sum[which] += took[which];
		}
		ratio[i] = log(took[1] / took[0]);
	}
	tell(cipher, pairs, ratio, sum, pairs * (double)bytes / 1e9);
	for (int i = 0; i < 2; i++) {
		packet_free(line[i].from);
		packet_free(line[i].to);
	}
	free(ratio);
	return 0;
}
