/* SPDX-License-Identifier: ISC */
/*
 * What this machine and this path can do without SSH, for comparison with SSH.
 *
 *	limit encrypt [-c CIPHER] [-b KIB] [-r KIB] [-p] IN OUT
 *		two processes and one TCP connection on loopback: reads IN,
 *		encrypts records in place, sends; the other decrypts them in
 *		place and writes OUT. CIPHER is an AEAD of OpenSSL's, or none.
 *		-b: bytes per write and read of the socket (default 1024)
 *		-r: bytes per record (default 32)
 *		-p: IN comes through a pipe from a process, OUT leaves through
 *		one, as in `ssh host 'cat >OUT' <IN`
 *		Prints: bytes seconds cpu-sender cpu-receiver
 *	limit tunnel [-c CIPHER] [-b KIB] [-r KIB] PORT TARGET
 *		what `ssh -L` does, and nothing else: who connects to PORT is
 *		connected to TARGET, another port of this host, through two
 *		processes a direction with encrypted records between them, of
 *		252 KiB by default. CIPHER none shows what the kernel takes
 *		for its four copies. Until it is killed
 *	limit serve PORT
 *		answers what `get` and `put` ask for, until it is killed. PORT
 *		may be the path of a socket
 *	limit get HOST PORT BYTES [CONGESTION-CONTROL]
 *	limit put HOST PORT BYTES [CONGESTION-CONTROL]
 *		one plain TCP connection, timed from before connect(2) until
 *		the last byte has arrived. Prints: bytes seconds. HOST may be
 *		the path of a socket (PORT is nothing then), or
 *		socks:P: through the SOCKS server at port P of this host to
 *		PORT of its own
 *
 * It authenticates nobody: only for networks in which all are trusted.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD 4	/* length in front of a record */
#define TAG  16 /* behind it */

struct request {
	char direction; /* 'g' or 'p' */
	char control[15];
	uint64_t bytes;
};

struct record_cipher {
	EVP_CIPHER_CTX *ctx; /* NULL: none */
	uint64_t count;
	bool encrypting;
};

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double
cpu_of(const struct rusage *ru)
{
	return (double)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) +
	    (double)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) / 1e6;
}

static void
write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0)
			err(1, "write");
		data += n;
		len -= (size_t)n;
	}
}

/* Reads until len bytes or the end. */
static size_t
read_most(int fd, uint8_t *data, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, data + have, len - have);

		if (n < 0)
			err(1, "read");
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return have;
}

static uint8_t *
memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

/* ---- encrypted records -------------------------------------------------- */

static void
record_cipher_init(struct record_cipher *s, const char *name, bool encrypting)
{
	static const uint8_t key[32] = { 1 };
	const EVP_CIPHER *cipher;

	memset(s, 0, sizeof *s);
	s->encrypting = encrypting;
	if (strcmp(name, "none") == 0)
		return;
	if ((cipher = EVP_get_cipherbyname(name)) == NULL)
		errx(1, "no cipher %s", name);
	if ((s->ctx = EVP_CIPHER_CTX_new()) == NULL ||
	    EVP_CipherInit_ex(s->ctx, cipher, NULL, key, NULL, encrypting) != 1)
		errx(1, "can't start %s", name);
}

/* Encrypts or decrypts len bytes in place. The tag follows them. */
static void
record_cipher_run(struct record_cipher *s, uint8_t *data, size_t len)
{
	uint8_t nonce[12] = { 0 };
	int n, good = 1;

	if (s->ctx == NULL)
		return;
	memcpy(nonce, &s->count, sizeof s->count);
	s->count++;
	good &= EVP_CipherInit_ex(s->ctx, NULL, NULL, NULL, nonce, -1);
	if (!s->encrypting)
		good &= EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, TAG,
		    data + len);
	good &= EVP_CipherUpdate(s->ctx, data, &n, data, (int)len);
	good &= EVP_CipherFinal_ex(s->ctx, data + len, &n);
	if (s->encrypting)
		good &= EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_GET_TAG, TAG,
		    data + len);
	if (good != 1)
		errx(1, "cipher failed");
}

static void
send_records(int in, int sock, const char *cipher, size_t record, size_t batch)
{
	uint8_t *buf = memory(batch + record + HEAD + TAG);
	struct record_cipher s;
	bool end = false;

	record_cipher_init(&s, cipher, true);
	while (!end) {
		size_t used = 0;

		while (!end && used < batch) {
			uint8_t *at = buf + used;
			/* As many bytes as are there, as a program of
			 * interactive use must; a file gives all of them. */
			ssize_t n = read(in, at + HEAD, record);
			uint32_t len;

			if (n < 0)
				err(1, "read");
			if (n == 0) {
				end = true;
				break;
			}
			len = htonl((uint32_t)n);
			memcpy(at, &len, HEAD);
			record_cipher_run(&s, at + HEAD, (size_t)n);
			used += HEAD + (size_t)n + TAG;
			if ((size_t)n < record)
				break; /* nothing more is there now */
		}
		write_all(sock, buf, used);
	}
}

static void
receive_records(int sock, int out, const char *cipher, size_t record,
    size_t batch)
{
	size_t room = batch + record + HEAD + TAG, have = 0;
	uint8_t *buf = memory(room);
	struct record_cipher s;
	ssize_t n;

	record_cipher_init(&s, cipher, false);
	while ((n = read(sock, buf + have, batch)) > 0) {
		size_t at = 0;

		have += (size_t)n;
		while (have - at >= HEAD) {
			uint32_t len;

			memcpy(&len, buf + at, HEAD);
			len = ntohl(len);
			if (len > record)
				errx(1, "bad record");
			if (have - at < HEAD + len + TAG)
				break;
			record_cipher_run(&s, buf + at + HEAD, len);
			write_all(out, buf + at + HEAD, len);
			at += HEAD + len + TAG;
		}
		memmove(buf, buf + at, have - at);
		have -= at;
	}
	if (n < 0)
		err(1, "read");
}

static int
listener(uint16_t port, uint16_t *bound)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	socklen_t len = sizeof sin;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&sin, sizeof sin) < 0 ||
	    listen(fd, 8) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) < 0)
		err(1, "can't listen");
	if (bound != NULL)
		*bound = ntohs(sin.sin_port);
	return fd;
}

/* A socket of the system: listens there, or is connected to it. */
static int
at_path(const char *path, bool listens)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof sun.sun_path)
		errx(1, "%s is too long", path);
	strcpy(sun.sun_path, path);
	if (listens ? bind(fd, (struct sockaddr *)&sun, sizeof sun) < 0 ||
		    listen(fd, 8) < 0 :
		      connect(fd, (struct sockaddr *)&sun, sizeof sun) < 0)
		err(1, "%s", path);
	return fd;
}

/* Asks a SOCKS 5 server (RFC 1928) for a connection to 127.0.0.1. */
static void
socks_ask(int fd, uint16_t port)
{
	const uint8_t methods[] = { 5, 1, 0 };
	const uint8_t connect_to[] = { 5, 1, 0, 1, 127, 0, 0, 1,
		(uint8_t)(port >> 8), (uint8_t)port };
	uint8_t answer[12];

	write_all(fd, methods, sizeof methods);
	write_all(fd, connect_to, sizeof connect_to);
	if (read_most(fd, answer, sizeof answer) != sizeof answer ||
	    answer[1] != 0 || answer[3] != 0)
		errx(1, "the SOCKS server refuses");
}

static int
dial(const char *host, uint16_t port, const char *control)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (inet_pton(AF_INET, host, &sin.sin_addr) != 1)
		errx(1, "bad address %s", host);
	if (*control != '\0' && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION,
	    control, (socklen_t)strlen(control)) < 0)
		err(1, "congestion control %s", control);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (struct sockaddr *)&sin, sizeof sin) < 0)
		err(1, "connect");
	return fd;
}

/* cat(1) between a descriptor and a pipe, whose other end is returned. */
static int
through_cat(int fd, bool reading)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		err(1, "pipe");
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		dup2(reading ? fd : p[0], STDIN_FILENO);
		dup2(reading ? p[1] : fd, STDOUT_FILENO);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	close(reading ? p[1] : p[0]);
	return reading ? p[0] : p[1];
}

struct options {
	const char *cipher;
	size_t record, batch; /* bytes */
	bool pipes;
};

/* Starts one half in a process of its own, so that its CPU time is known: it is
 * that of the process and its children. */
static pid_t
half_start(bool sending, int sock, int fd, const struct options *o)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid > 0)
		return pid;
	if (o->pipes)
		fd = through_cat(fd, sending);
	if (sending)
		send_records(fd, sock, o->cipher, o->record, o->batch);
	else
		receive_records(sock, fd, o->cipher, o->record, o->batch);
	(void)shutdown(fd, SHUT_WR); /* others may have it open too */
	close(fd);
	shutdown(sock, SHUT_RDWR);
	while (wait(NULL) > 0)
		continue;
	exit(0);
}

/* Two connected TCP sockets. */
static void
tcp_pair(int sock[2])
{
	uint16_t port;
	int lfd = listener(0, &port);

	sock[0] = dial("127.0.0.1", port, "");
	if ((sock[1] = accept(lfd, NULL, NULL)) < 0)
		err(1, "accept");
	close(lfd);
}

/* False: not as they should be, or not followed by two words. */
static bool
read_options(struct options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "c:b:r:p")) != -1) {
		if (opt == 'c')
			o->cipher = optarg;
		else if (opt == 'b')
			o->batch = strtoul(optarg, NULL, 10) << 10;
		else if (opt == 'r')
			o->record = strtoul(optarg, NULL, 10) << 10;
		else if (opt == 'p')
			o->pipes = true;
		else
			return false;
	}
	return argc - optind == 2 && o->record != 0 && o->batch >= o->record;
}

static int
cmd_encrypt(int argc, char **argv)
{
	struct options o = { "aes-128-gcm", 32 << 10, 1 << 20, false };
	int in, out, sock[2], status, failed = 0;
	struct rusage ru;
	double began, cpu[2] = { 0, 0 };
	pid_t pid[2];
	off_t size;

	if (!read_options(&o, argc, argv))
		return 2;
	if ((in = open(argv[optind], O_RDONLY | O_CLOEXEC)) < 0)
		err(1, "%s", argv[optind]);
	if ((out = open(argv[optind + 1], O_WRONLY | O_CREAT | O_CLOEXEC,
	    0600)) < 0)
		err(1, "%s", argv[optind + 1]);
	size = lseek(in, 0, SEEK_END);
	lseek(in, 0, SEEK_SET);
	tcp_pair(sock);
	began = now();
	pid[0] = half_start(true, sock[0], in, &o);
	pid[1] = half_start(false, sock[1], out, &o);
	close(sock[0]);
	close(sock[1]);
	for (int i = 0; i < 2; i++) {
		pid_t ended = wait4(-1, &status, 0, &ru);

		cpu[ended == pid[0] ? 0 : 1] = cpu_of(&ru);
		failed |= status;
	}
	if (failed)
		return 1;
	printf("%lld %.6f %.6f %.6f\n", (long long)size, now() - began, cpu[0],
	    cpu[1]);
	return 0;
}

/* Carries what comes from one socket to the other. */
static void
carry(int from, int to, const struct options *o)
{
	int sock[2];

	tcp_pair(sock);
	(void)half_start(true, sock[0], from, o);
	(void)half_start(false, sock[1], to, o);
	close(sock[0]);
	close(sock[1]);
}

static int
cmd_tunnel(int argc, char **argv)
{
	struct options o = { "aes-128-gcm", 252 << 10, 1 << 20, false };
	uint16_t target;
	int lfd, near, far;

	if (!read_options(&o, argc, argv))
		return 2;
	lfd = listener((uint16_t)strtoul(argv[optind], NULL, 10), NULL);
	target = (uint16_t)strtoul(argv[optind + 1], NULL, 10);
	for (;;) {
		if ((near = accept(lfd, NULL, NULL)) < 0)
			err(1, "accept");
		far = dial("127.0.0.1", target, "");
		carry(near, far, &o);
		carry(far, near, &o);
		close(near);
		close(far);
		while (wait(NULL) > 0)
			continue;
	}
}

/* ---- plain TCP ---------------------------------------------------------- */

static void
pour(int fd, uint64_t bytes)
{
	uint8_t *buf = memory(1 << 20);

	while (bytes > 0) {
		size_t n = bytes < (1 << 20) ? (size_t)bytes : 1 << 20;

		write_all(fd, buf, n);
		bytes -= n;
	}
	munmap(buf, 1 << 20);
}

static void
drain(int fd, uint64_t bytes)
{
	uint8_t *buf = memory(1 << 20);

	while (bytes > 0) {
		ssize_t n = read(fd, buf, 1 << 20);

		if (n <= 0)
			errx(1, "the connection ended early");
		bytes -= (uint64_t)n;
	}
	munmap(buf, 1 << 20);
}

static void
serve_one(int fd)
{
	struct request rq;
	uint8_t done = 1;

	if (read_most(fd, (uint8_t *)&rq, sizeof rq) != sizeof rq)
		exit(1);
	rq.control[sizeof rq.control - 1] = '\0';
	if (rq.control[0] != '\0' && setsockopt(fd, IPPROTO_TCP,
	    TCP_CONGESTION, rq.control, (socklen_t)strlen(rq.control)) < 0)
		err(1, "congestion control %s", rq.control);
	if (rq.direction == 'g') {
		pour(fd, rq.bytes);
	} else {
		drain(fd, rq.bytes);
		write_all(fd, &done, 1);
	}
	exit(0);
}

static int
cmd_serve(const char *port)
{
	int lfd = *port == '/' ?
	    at_path(port, true) :
	    listener((uint16_t)strtoul(port, NULL, 10), NULL);

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(lfd, NULL, NULL);

		if (fd < 0)
			err(1, "accept");
		if (fork() == 0)
			serve_one(fd);
		close(fd);
	}
}

static int
cmd_move(char direction, int argc, char **argv)
{
	const char *control = argc > 4 ? argv[4] : "";
	struct request rq = { .direction = direction };
	uint8_t done;
	uint16_t port;
	double began;
	int fd;

	if (argc < 4)
		return 2;
	rq.bytes = strtoull(argv[3], NULL, 10);
	strncpy(rq.control, control, sizeof rq.control - 1);
	began = now();
	port = (uint16_t)strtoul(argv[2], NULL, 10);
	if (argv[1][0] == '/') {
		fd = at_path(argv[1], false);
	} else if (strncmp(argv[1], "socks:", 6) == 0) {
		fd = dial("127.0.0.1", (uint16_t)atoi(argv[1] + 6), "");
		socks_ask(fd, port);
	} else {
		fd = dial(argv[1], port, control);
	}
	write_all(fd, (uint8_t *)&rq, sizeof rq);
	if (direction == 'g') {
		drain(fd, rq.bytes);
	} else {
		pour(fd, rq.bytes);
		if (read_most(fd, &done, 1) != 1)
			errx(1, "the connection ended early");
	}
	printf("%llu %.6f\n", (unsigned long long)rq.bytes, now() - began);
	return 0;
}

int
main(int argc, char **argv)
{
	int r = 2;

	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "encrypt") == 0)
		r = cmd_encrypt(argc - 1, argv + 1);
	else if (argc > 1 && strcmp(argv[1], "tunnel") == 0)
		r = cmd_tunnel(argc - 1, argv + 1);
	else if (argc > 2 && strcmp(argv[1], "serve") == 0)
		r = cmd_serve(argv[2]);
	else if (argc > 1 && strcmp(argv[1], "get") == 0)
		r = cmd_move('g', argc - 1, argv + 1);
	else if (argc > 1 && strcmp(argv[1], "put") == 0)
		r = cmd_move('p', argc - 1, argv + 1);
	if (r == 2)
		fprintf(stderr, "usage: see the head of limit.c\n");
	return r;
}
