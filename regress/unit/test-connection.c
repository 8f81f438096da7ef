/* SPDX-License-Identifier: ISC */
/*
 * Two processes with a connection and an event loop each, who send bulk both
 * ways on a channel while threads come and go and keys are renewed: nothing
 * is lost, and nobody sleeps while there is something to do.
 */
#include "regress/unit/help.h"
#include "regress/unit/trusting-kex.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "channels.h"
#include "connection.h"
#include "crypto/rand.h"
#include "kex.h"
#include "packet.h"

/* SECONDS_MAX: without a byte; the whole takes as long as the machine needs. */
enum { TOTAL = 24 * 1000 * 1000, CHURN_MS = 4, SECONDS_MAX = 100 };

static size_t total = TOTAL; /* bytes each way */

/* What becomes of the threads; in the last two only the client sends. */
enum mode { STEADY, CHURN, STOP, ONE_WAY };

struct end {
	bool server;
	enum mode mode;
	struct loop *loop;
	struct packet *packet;
	struct kex *kex;
	struct channels *channels;
	struct connection *connection;
	size_t sent, received;
};

/* ---- the bytes --------------------------------------------------------- */

/* Nobody may sleep for good; who goes on gets more time. */
static void
go_on(void)
{
	alarm(SECONDS_MAX);
}

static uint8_t
byte_at(size_t i)
{
	return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static ssize_t
read_bytes(void *arg, uint8_t *p, size_t max)
{
	struct end *e = arg;
	size_t len = MIN(max, total - e->sent);

	if (len > 0)
		go_on();
	for (size_t i = 0; i < len; i++)
		p[i] = byte_at(e->sent + i);
	e->sent += len;
	/* So that the threads sleep when the last packet comes. */
	if (e->sent == total && len > 0)
		usleep(500);
	return (ssize_t)len;
}

static ssize_t
write_bytes(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct end *e = arg;

	go_on();
	if (ext != 0)
		_exit(10);
	for (size_t i = 0; i < len; i++)
		if (p[i] != byte_at(e->received + i))
			_exit(11);
	e->received += len;
	return (ssize_t)len;
}

static const struct channel_io bytes = { .read = read_bytes,
	.write = write_bytes };

static void
on_eof(void *arg, struct channel *c)
{
	(void)arg;
	channel_close(c, true);
}

static void
on_closed(void *arg, struct channel *c)
{
	struct end *e = arg;

	(void)c;
	loop_stop(e->loop);
}

static void
on_opened(void *arg, struct channel *c)
{
	channel_set_io(c, &bytes, arg);
}

static const struct channel_ops ops = { .opened = on_opened, .eof = on_eof,
	.closed = on_closed };

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	(void)chs;
	(void)data;
	if (channel_accept(c, &ops, arg, CHANNEL_WINDOW_DEFAULT,
		CHANNEL_PACKET_DEFAULT) != 0)
		return ERR_NOMEM;
	channel_set_io(c, &bytes, arg);
	return CHANNEL_SUCCESS;
}

/* ---- an end ------------------------------------------------------------ */

static void
on_churn(void *arg)
{
	struct end *e = arg;

	if (rand_uniform(3) == 0)
		packet_threads_stop(e->packet);
	else
		(void)packet_threads_start(e->packet, rand_uniform(4));
	if (loop_after(e->loop, CHURN_MS, on_churn, e) == NULL)
		_exit(12);
}

static void
on_stop(void *arg)
{
	struct end *e = arg;

	packet_threads_stop(e->packet);
}

static void
on_keys(void *arg, bool first)
{
	struct end *e = arg;
	struct channel *c;

	if (!first)
		return;
	if (packet_authenticated(e->packet) != 0)
		_exit(13);
	connection_set_channels(e->connection, e->channels);
	(void)packet_threads_start(e->packet, 2);
	if (e->mode == CHURN)
		on_churn(e);
	else if (e->mode == STOP &&
	    loop_after(e->loop, 1 + rand_uniform(15), on_stop, e) == NULL)
		_exit(12);
	if (!e->server &&
	    channel_open(&c, e->channels, "bytes", NULL, &ops, e,
		CHANNEL_WINDOW_DEFAULT, CHANNEL_PACKET_DEFAULT) != 0)
		_exit(14);
}

static int
no_auth(void *arg, uint8_t type, struct rd payload)
{
	(void)arg;
	(void)type;
	(void)payload;
	return ERR_PROTOCOL;
}

static void
on_ended(void *arg, int err)
{
	struct end *e = arg;

	if (err != ERR_CLOSED)
		fprintf(stderr, "%s: %s\n", e->server ? "server" : "client",
		    err_text(err));
	loop_stop(e->loop);
}

static int
run_end(int fd, bool server, const char *cipher, enum mode mode)
{
	struct end e = { .server = server, .mode = mode };
	const struct kex_hooks hooks = { .arg = &e,
		.check_hostkey = trusting_check,
		.hostkey_blob = trusting_blob,
		.sign = trusting_sign,
		.verify = trusting_verify,
		.done = on_keys };
	struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		cipher, "umac-64-etm@openssh.com", "none" };
	const struct connection_hooks conn = { .arg = &e, .auth = no_auth,
		.ended = on_ended };

	/* One way only: silence shows who sleeps too deeply. */
	if (mode >= STOP && server)
		e.sent = total;
	e.loop = loop_new();
	e.packet = packet_new(fd, fd, server);
	if (kex_new(&e.kex, e.packet, &hooks, &mine, server ? "s" : "c",
		server ? "c" : "s") != 0 ||
	    channels_new(&e.channels, e.packet, e.loop) != 0 ||
	    channels_on_open(e.channels, "bytes", on_open, &e) != 0 ||
	    connection_new(&e.connection, e.loop, e.packet, e.kex, &conn) !=
		0 ||
	    kex_start(e.kex) != 0)
		_exit(15);
	packet_set_rekey_limit(e.packet, 5 * 1000 * 1000, 0);
	if (loop_run(e.loop) != 0)
		_exit(16);
	connection_free(e.connection);
	/* The far end may wait for our CLOSE. */
	while (packet_flush(e.packet) == ERR_AGAIN)
		usleep(1000);
	channels_free(e.channels);
	kex_free(e.kex);
	packet_free(e.packet);
	loop_free(e.loop);
	return e.sent == total &&
		(e.received == total || (mode >= STOP && !server)) ?
	    0 :
	    17;
}

static void
check(const char *cipher, enum mode mode)
{
	pid_t pid[2];
	int fd[2];

	tcp_pair(fd);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			close(fd[1 - i]);
			go_on();
			_exit(run_end(fd[i], i == 1, cipher, mode));
		}
	}
	close(fd[0]);
	close(fd[1]);
	for (int i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
}

static void
test_steady_threads(void **state)
{
	(void)state;
	check("aes128-gcm@openssh.com", STEADY);
	check("chacha20-poly1305@openssh.com", STEADY);
}

static void
test_threads_come_and_go(void **state)
{
	(void)state;
	check("aes128-gcm@openssh.com", CHURN);
	check("aes128-ctr", CHURN);
}

static void
test_threads_stop(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		check("aes128-gcm@openssh.com", STOP);
}

/* The last bytes of a transfer: nothing comes after them to wake anybody. */
static void
test_short(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		total = 150 * 1000 + rand_uniform(300 * 1000);
		check("aes128-gcm@openssh.com", ONE_WAY);
	}
	total = TOTAL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_threads),
		cmocka_unit_test(test_threads_come_and_go),
		cmocka_unit_test(test_threads_stop),
		cmocka_unit_test(test_short),
	};

	signal(SIGPIPE, SIG_IGN);
	log_init("test-connection", LOG_LVL_ERROR);
	return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
