/* SPDX-License-Identifier: ISC */
/*
 * The forwards of the client against a server in the same loop: what it is
 * asked for, what it may open and what not, how much it can make us hold, and
 * what is told to whoever has added a forward.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "regress/unit/channels-host.h"
#include "client/forwards-internal.h"
#include "client/from-server.h"
#include "client/uses.h"

enum { WAIT_MS = 20 * 1000, HELD_MAX = 512 };

static struct world w; /* a is the client, b the server */
static struct client_conf conf;
static struct uses uses;
static struct forwards *f;
static struct from_server from_server;
static char said[4096]; /* what the server was asked, and what was logged */

/* ---- the server --------------------------------------------------------- */

static bool refuses;	    /* requests to listen */
static uint32_t gives_port; /* for port 0 */
static bool holds;	    /* does not answer opens */
static struct channel *held[HELD_MAX];
static size_t held_count;
static uint32_t refused_with; /* the reason of our last refusal */
static int opened, closed;
static int far[2]; /* the server's channel is tied to far[1] */

static void
say(const char *fmt, ...)
{
	size_t len = strlen(said);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said + len, sizeof said - len, fmt, ap);
	va_end(ap);
}

static int
on_listen(void *arg, struct rd *data, struct buf *reply)
{
	char *host = rd_cstring(data, 1024);
	uint32_t port = rd_u32(data);

	assert_int_equal(rd_end(data), 0);
	say("%s %s:%u\n", (const char *)arg, host, port);
	free(host);
	if (port == 0)
		buf_put_u32(reply, gives_port);
	return refuses ? CHANNEL_FAILURE : CHANNEL_SUCCESS;
}

static int
on_listen_path(void *arg, struct rd *data, struct buf *reply)
{
	char *path = rd_cstring(data, 1024);

	(void)reply;
	assert_int_equal(rd_end(data), 0);
	say("%s %s\n", (const char *)arg, path);
	free(path);
	return refuses ? CHANNEL_FAILURE : CHANNEL_SUCCESS;
}

static void
on_server_closed(void *arg, struct channel *c)
{
	(void)arg;
	(void)c;
	closed++;
}

static const struct channel_ops server_ops = { .closed = on_server_closed };

static int
accept_held(struct channel *c)
{
	int r = channel_accept(c, &server_ops, NULL, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);

	channel_set_fds(c, far[1], far[1], -1, -1);
	return r != 0 ? r : CHANNEL_SUCCESS;
}

static int
on_direct(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	char *host = rd_cstring(data, 1024);
	uint32_t port = rd_u32(data);
	char *from = rd_cstring(data, 1024);

	(void)arg;
	(void)chs;
	assert_true(rd_u32(data) > 0);
	assert_int_equal(rd_end(data), 0);
	say("open %s:%u from %s\n", host, port, from);
	free(host);
	free(from);
	opened++;
	if (refuses)
		return CHANNEL_FAILURE;
	if (!holds)
		return accept_held(c);
	assert_true(held_count < HELD_MAX);
	held[held_count++] = c;
	channel_defer(c, &server_ops, NULL);
	return CHANNEL_LATER;
}

static void
on_opened(void *arg, struct channel *c)
{
	(void)arg;
	opened++;
	channel_set_fds(c, far[1], far[1], -1, -1);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	(void)arg;
	(void)c;
	(void)text;
	refused_with = reason;
}

static const struct channel_ops opener_ops = {
	.opened = on_opened,
	.refused = on_refused,
	.closed = on_server_closed,
};

/* The server opens a channel; path NULL: an address and a port. */
static void
server_opens(const char *address, uint32_t port, const char *path)
{
	struct buf b = { 0 };
	struct channel *c;

	if (path != NULL) {
		buf_put_cstring(&b, path);
		buf_put_cstring(&b, "");
	} else {
		buf_put_cstring(&b, address);
		buf_put_u32(&b, port);
		buf_put_cstring(&b, "192.0.2.1");
		buf_put_u32(&b, 1234);
	}
	assert_int_equal(channel_open(&c, w.b.chs,
	    path != NULL ? "forwarded-streamlocal@openssh.com" :
			   "forwarded-tcpip",
	    &b, &opener_ops, NULL, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT), 0);
	buf_clear(&b);
}

/* ---- the client --------------------------------------------------------- */

static void
on_line(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	if (level <= LOG_LVL_INFO)
		say("log %s\n", text);
}

static void
on_unused(void *arg)
{
	(void)arg;
}

static void
on_done(void *arg, const char *error, uint16_t allocated)
{
	say("%s %s %u\n", (const char *)arg, error != NULL ? "failed" :
	    "stands", allocated);
}

static void
begin(bool distrusted)
{
	const struct forwards_params p = {
		.conf = &conf,
		.loop = w.loop,
		.channels = w.a.chs,
		.uses = &uses,
		.distrusted = distrusted,
	};

	assert_int_equal(forwards_new(&f, &p), 0);
	from_server = (struct from_server){ .conf = &conf, .forwards = f };
	assert_int_equal(from_server_allow(&from_server, w.a.chs), 0);
}

static int
setup(void **state)
{
	static char tcp[] = "listen", cancel[] = "cancel";

	(void)state;
	said[0] = '\0';
	refuses = holds = false;
	gives_port = 4711;
	held_count = 0;
	refused_with = 0;
	opened = closed = 0;
	client_conf_init(&conf);
	assert_int_equal(client_conf_finish(&conf), 0);
	uses = (struct uses){ .unused = on_unused };
	world_open(&w);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    far), 0);
	assert_int_equal(channels_on_global(w.b.chs, "tcpip-forward",
	    on_listen, tcp), 0);
	assert_int_equal(channels_on_global(w.b.chs, "cancel-tcpip-forward",
	    on_listen, cancel), 0);
	assert_int_equal(channels_on_global(w.b.chs,
	    "streamlocal-forward@openssh.com", on_listen_path, tcp), 0);
	assert_int_equal(channels_on_global(w.b.chs,
	    "cancel-streamlocal-forward@openssh.com", on_listen_path, cancel),
	    0);
	assert_int_equal(channels_on_open(w.b.chs, "direct-tcpip", on_direct,
	    NULL), 0);
	log_to_sink(on_line, NULL);
	begin(false);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	forwards_free(f);
	world_close(&w);
	fd_close(&far[0]);
	fd_close(&far[1]);
	client_conf_clear(&conf);
	return 0;
}

static void
add(enum forward_kind kind, const char *text, char *name)
{
	struct forward_spec s;

	assert_int_equal(forward_spec_parse(&s, kind, text), 0);
	forwards_add(f, &s, on_done, name);
	forward_spec_clear(&s);
}

static bool
cancel(enum forward_kind kind, const char *text)
{
	struct forward_spec s;
	bool found;

	assert_int_equal(forward_spec_parse(&s, kind, text), 0);
	found = forwards_cancel(f, &s);
	forward_spec_clear(&s);
	return found;
}

static void
run(void)
{
	assert_int_equal(world_run(&w, 20), 0);
}

static void
expect_said(const char *text)
{
	run();
	assert_string_equal(said, text);
	said[0] = '\0';
}

static int
bound_socket(uint16_t *port, bool listens)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&a, len), 0);
	if (listens)
		assert_int_equal(listen(fd, 512), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static int
connect_to(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a),
	    0);
	assert_int_equal(fd_set_nonblock(fd, true), 0);
	return fd;
}

/* A free port that is listened on by a forward with this target. */
static uint16_t
listen_here(enum forward_kind kind, const char *target)
{
	static char name[] = "here";
	char text[128];
	uint16_t port;
	int fd = bound_socket(&port, false);

	fd_close(&fd);
	snprintf(text, sizeof text, "127.0.0.1:%u%s%s", port,
	    *target != '\0' ? ":" : "", target);
	add(kind, text, name);
	expect_said("here stands 0\n");
	return port;
}

/* What arrives, until want is there, or (NULL) the end. */
static void
expect_bytes(int fd, const char *want)
{
	uint64_t end = clock_ms() + WAIT_MS;
	char got[64];
	size_t len = 0;
	ssize_t n = -1;

	while (clock_ms() < end) {
		assert_int_equal(world_run(&w, 1), 0);
		n = read(fd, got + len, sizeof got - len);
		if (n == 0)
			break;
		len += n > 0 ? (size_t)n : 0;
		if (want != NULL && len == strlen(want))
			break;
	}
	assert_int_equal(len, want != NULL ? strlen(want) : 0);
	if (want != NULL)
		assert_memory_equal(got, want, len);
	else
		assert_int_equal(n, 0);
}

/* ---- -R: requests ------------------------------------------------------- */

static char one[] = "one", two[] = "two";

static void
test_addresses_of_requests(void **state)
{
	(void)state;
	add(FORWARD_REMOTE, "80:h:1", one);
	add(FORWARD_REMOTE, "*:81:h:1", one);
	add(FORWARD_REMOTE, ":82:h:1", one);
	add(FORWARD_REMOTE, "LocalHost:83:h:1", one);
	add(FORWARD_REMOTE, "/a/path:h:1", one);
	expect_said("listen localhost:80\nlisten :81\nlisten :82\n"
		    "listen LocalHost:83\nlisten /a/path\n"
		    "one stands 0\none stands 0\none stands 0\none stands "
		    "0\none stands 0\n");
}

static void
test_same_again(void **state)
{
	(void)state;
	add(FORWARD_REMOTE, "0:h:1", one);
	add(FORWARD_REMOTE, "0:h:1", two);
	expect_said("listen localhost:0\n"
		    "log Allocated port 4711 for remote forward to h:1\n"
		    "one stands 4711\ntwo stands 4711\n");
	add(FORWARD_REMOTE, "0:h:1", two);
	expect_said("two stands 4711\n");
	assert_false(cancel(FORWARD_REMOTE, "0:h:2"));
	assert_true(cancel(FORWARD_REMOTE, "0:h:1"));
	assert_false(cancel(FORWARD_REMOTE, "0:h:1"));
	expect_said("cancel localhost:4711\n");
}

static void
test_refused_request(void **state)
{
	(void)state;
	refuses = true;
	add(FORWARD_REMOTE, "80:h:1", one);
	add(FORWARD_REMOTE, "/a/path:h:1", two);
	expect_said("listen localhost:80\nlisten /a/path\n"
		    "one failed 0\ntwo failed 0\n");
	assert_false(cancel(FORWARD_REMOTE, "80:h:1"));
}

/* A server that says yes to port 0 has to say which one it took. */
static void
test_no_port_for_port_0(void **state)
{
	static const uint32_t bad[] = { 0, 65536, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		gives_port = bad[i];
		add(FORWARD_REMOTE, "0:h:1", one);
		expect_said("listen localhost:0\none failed 0\n");
		server_opens("localhost", bad[i], NULL);
		run();
		assert_int_equal(refused_with, CHANNEL_OPEN_PROHIBITED);
		said[0] = '\0';
	}
}

static void
test_cancelled_before_the_answer(void **state)
{
	(void)state;
	add(FORWARD_REMOTE, "80:h:1", one);
	assert_true(cancel(FORWARD_REMOTE, "80:h:1"));
	expect_said("listen localhost:80\none failed 0\n"
		    "cancel localhost:80\n");
}

/* ---- -R: channels ------------------------------------------------------- */

static void
check_unknown(const char *address, uint32_t port, const char *path)
{
	refused_with = 0;
	said[0] = '\0';
	server_opens(address, port, path);
	run();
	assert_int_equal(refused_with, CHANNEL_OPEN_PROHIBITED);
	assert_non_null(strstr(said, "WARNING: Server requests forwarding for "
	    "unknown"));
	assert_int_equal(uses.count[USE_FORWARDED], 0);
	said[0] = '\0';
}

static void
test_only_what_was_asked_for(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true), got;
	char text[64];

	(void)state;
	check_unknown("localhost", 80, NULL);
	check_unknown(NULL, 0, "/a/path");
	snprintf(text, sizeof text, "80:127.0.0.1:%u", port);
	add(FORWARD_REMOTE, text, one);
	run();
	check_unknown("localhost", 81, NULL);
	check_unknown("LOCALHOST", 80, NULL);
	check_unknown("", 80, NULL);
	check_unknown("localhost", 80 + 65536, NULL);
	check_unknown(NULL, 0, "localhost");
	server_opens("localhost", 80, NULL);
	run();
	assert_int_equal(opened, 1);
	assert_int_equal(uses.count[USE_FORWARDED], 1);
	assert_true((got = accept(fd, NULL, NULL)) != -1);
	assert_true(cancel(FORWARD_REMOTE, text));
	refused_with = 0;
	server_opens("localhost", 80, NULL);
	run();
	assert_int_equal(refused_with, CHANNEL_OPEN_PROHIBITED);
	/* The connection that was there goes on. */
	assert_int_equal(write(far[0], "hello", 5), 5);
	assert_int_equal(fd_set_nonblock(got, true), 0);
	expect_bytes(got, "hello");
	fd_close(&got);
	fd_close(&fd);
}

/* The server opens a channel in front of its answer. */
static void
test_before_the_answer_nothing_stands(void **state)
{
	(void)state;
	add(FORWARD_REMOTE, "80:h:1", one);
	server_opens("localhost", 80, NULL);
	run();
	assert_int_equal(refused_with, CHANNEL_OPEN_PROHIBITED);
	assert_non_null(strstr(said, "one stands"));
}

static void
test_warnings_have_a_limit(void **state)
{
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		server_opens("localhost", 80, NULL);
		run();
	}
	for (const char *p = said; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	assert_int_equal(lines, FORWARDS_WARNINGS_MAX + 1);
}

/* ---- -L ----------------------------------------------------------------- */

static void
test_connection_and_originator(void **state)
{
	uint16_t port = listen_here(FORWARD_LOCAL, "target:7");
	int fd = connect_to(port);

	(void)state;
	expect_said("open target:7 from 127.0.0.1\n");
	assert_int_equal(uses.count[USE_FORWARDED], 1);
	assert_int_equal(write(fd, "hello", 5), 5);
	expect_bytes(far[0], "hello");
	fd_close(&fd);
	run();
	assert_int_equal(shutdown(far[0], SHUT_WR), 0);
	run();
	assert_int_equal(uses.count[USE_FORWARDED], 0);
}

/* A refusal closes what was accepted; the forward stands. */
static void
test_refused_open(void **state)
{
	uint16_t port = listen_here(FORWARD_LOCAL, "target:7");
	int fd = connect_to(port);

	(void)state;
	refuses = true;
	expect_bytes(fd, NULL);
	assert_non_null(strstr(said, "open failed: administratively "
	    "prohibited"));
	fd_close(&fd);
	assert_int_equal(uses.count[USE_FORWARDED], 0);
	assert_int_equal(f->unanswered, 0);
	refuses = false;
	fd = connect_to(port);
	run();
	assert_int_equal(uses.count[USE_FORWARDED], 1);
	fd_close(&fd);
}

/* A server that does not answer has so many channels to think about, and no
 * more; when it answers one, one more is accepted. */
static void
test_unanswered_have_a_limit(void **state)
{
	uint16_t port = listen_here(FORWARD_LOCAL, "target:7");
	int fd[FORWARDS_UNANSWERED_MAX + 10];

	(void)state;
	holds = true;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = connect_to(port);
		run();
	}
	assert_int_equal(held_count, FORWARDS_UNANSWERED_MAX);
	run();
	assert_int_equal(held_count, FORWARDS_UNANSWERED_MAX);
	assert_int_equal(channel_refuse(held[0], CHANNEL_OPEN_CONNECT_FAILED,
	    NULL), 0);
	run();
	assert_int_equal(held_count, FORWARDS_UNANSWERED_MAX + 1);
	assert_int_equal(accept_held(held[1]), CHANNEL_SUCCESS);
	run();
	assert_int_equal(held_count, FORWARDS_UNANSWERED_MAX + 2);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
}

/* Added while it is so, a forward waits too. */
static void
test_added_while_unanswered(void **state)
{
	uint16_t first = listen_here(FORWARD_LOCAL, "target:7"), second;
	int fd[FORWARDS_UNANSWERED_MAX], late;

	(void)state;
	holds = true;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = connect_to(first);
		run();
	}
	said[0] = '\0';
	second = listen_here(FORWARD_LOCAL, "other:8");
	late = connect_to(second);
	run();
	assert_int_equal(held_count, FORWARDS_UNANSWERED_MAX);
	forwards_stop_listening(f);
	expect_bytes(late, NULL);
	fd_close(&late);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
}

/* ---- -D ----------------------------------------------------------------- */

static const char request[] = "\5\1\0\5\1\0\3\1h\0\7more";

static void
test_socks_in_pieces(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd = connect_to(port);

	(void)state;
	for (size_t i = 0; i < sizeof request - 1; i++) {
		assert_int_equal(write(fd, &request[i], 1), 1);
		run();
	}
	expect_bytes(far[0], "more");
	expect_said("open h:7 from 127.0.0.1\n");
	fd_close(&fd);
}

static void
test_socks_answer_waits_for_the_server(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd = connect_to(port);
	char got[16];

	(void)state;
	holds = true;
	assert_int_equal(write(fd, request, sizeof request - 1),
	    sizeof request - 1);
	run();
	assert_int_equal(read(fd, got, sizeof got), 2); /* the method */
	assert_int_equal(read(fd, got, sizeof got), -1);
	assert_int_equal(accept_held(held[0]), CHANNEL_SUCCESS);
	run();
	assert_int_equal(read(fd, got, sizeof got), 10);
	expect_bytes(far[0], "more");
	fd_close(&fd);
}

/* Those who say nothing do not keep others out. */
static void
test_undecided_have_a_limit(void **state)
{
	uint16_t port = listen_here(FORWARD_DYNAMIC, "");
	int fd[FORWARDS_UNDECIDED_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = connect_to(port);
		run();
	}
	assert_int_equal(f->undecided_count, FORWARDS_UNDECIDED_MAX);
	expect_bytes(fd[0], NULL);
	assert_int_equal(write(fd[1], request, sizeof request - 1),
	    sizeof request - 1);
	expect_bytes(far[0], "more");
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd_close(&fd[i]);
	assert_int_equal(shutdown(far[0], SHUT_WR), 0);
	run();
	assert_int_equal(f->undecided_count, 0);
	assert_int_equal(uses.count[USE_FORWARDED], 0);
}

/* ---- -R with SOCKS ------------------------------------------------------ */

static void
ask_for_socks(const char *host, uint16_t port, const char *rest)
{
	char text[64];
	size_t len = strlen(host);

	memcpy(text, "\5\1\0\5\1\0\3", 7);
	text[7] = (char)len;
	memcpy(text + 8, host, len);
	text[8 + len] = (char)(port >> 8);
	text[9 + len] = (char)(port & 0xff);
	assert_int_equal(write(far[0], text, 10 + len), 10 + len);
	assert_int_equal(write(far[0], rest, strlen(rest)), strlen(rest));
}

static void
test_remote_socks(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true), got;
	char answer[16];

	(void)state;
	add(FORWARD_REMOTE, "80", one);
	run();
	server_opens("localhost", 80, NULL);
	run();
	assert_int_equal(opened, 1);
	assert_int_equal(uses.count[USE_FORWARDED], 0);
	ask_for_socks("127.0.0.1", port, "behind it");
	run();
	assert_true((got = accept(fd, NULL, NULL)) != -1);
	assert_int_equal(fd_set_nonblock(got, true), 0);
	expect_bytes(got, "behind it");
	assert_int_equal(uses.count[USE_FORWARDED], 1);
	assert_int_equal(read(far[0], answer, sizeof answer), 12);
	assert_int_equal(write(got, "back", 4), 4);
	expect_bytes(far[0], "back");
	fd_close(&got);
	run();
	fd_close(&fd);
}

static void
check_permitted(const char *list, const char *host, uint16_t port, bool is)
{
	int before = closed;

	strlist_clear(&conf.forward.permit_remote_open);
	assert_int_equal(strlist_split(&conf.forward.permit_remote_open, list,
	    " "), 0);
	server_opens("localhost", 80, NULL);
	run();
	said[0] = '\0';
	ask_for_socks(host, port, "");
	for (int i = 0; i < 400 && closed == before; i++)
		run();
	/* Nobody listens, so it fails in any case; but who was asked? */
	assert_int_equal(closed, before + 1);
	assert_int_equal(strstr(said, "PermitRemoteOpen") == NULL, is);
	for (char rest[64]; read(far[0], rest, sizeof rest) > 0;)
		;
}

static void
test_permit_remote_open(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, false);
	char text[64];

	(void)state;
	fd_close(&fd);
	add(FORWARD_REMOTE, "80", one);
	run();
	snprintf(text, sizeof text, "other:1 127.0.0.1:%u", port);
	check_permitted("any", "127.0.0.1", port, true);
	check_permitted("none", "127.0.0.1", port, false);
	check_permitted(text, "127.0.0.1", port, true);
	check_permitted("127.0.0.1:*", "127.0.0.1", port, true);
	check_permitted("*:*", "127.0.0.1", port, true);
	check_permitted("127.0.0.1:1", "127.0.0.1", port, false);
	check_permitted("127.0.0.*:*", "127.0.0.1", port, false);
	check_permitted("127.0.0.1:*", "127.0.0.01", port, false);
}

/* ---- as it begins ------------------------------------------------------- */

static void
on_begun(void *arg, bool failed)
{
	(void)arg;
	say("begun%s\n", failed ? ", failed" : "");
}

static void
configure(enum forward_kind kind, const char *text)
{
	assert_int_equal(client_conf_add_forward(&conf, kind, text), 0);
}

static void
test_begins_when_all_stand(void **state)
{
	(void)state;
	configure(FORWARD_REMOTE, "80:h:1");
	configure(FORWARD_REMOTE, "81:h:1");
	forwards_ask_early(f);
	assert_string_equal(said, "");
	forwards_add_configured(f, on_begun, NULL);
	assert_string_equal(said, "");
	expect_said("listen localhost:80\nlisten localhost:81\nbegun\n");
}

static void
test_failures_at_the_beginning(void **state)
{
	uint16_t port;
	int fd = bound_socket(&port, true);
	char text[64];

	(void)state;
	refuses = true;
	snprintf(text, sizeof text, "127.0.0.1:%u:h:1", port);
	configure(FORWARD_LOCAL, text);
	configure(FORWARD_REMOTE, "80:h:1");
	forwards_add_configured(f, on_begun, NULL);
	run();
	assert_non_null(strstr(said, "log Could not request local "
	    "forwarding.\nbegun\n"));
	assert_non_null(strstr(said, "log Warning: remote port forwarding "
	    "failed for listen port 80\n"));
	fd_close(&fd);
}

static void
test_strict_beginning(void **state)
{
	(void)state;
	conf.forward.exit_on_failure = 1;
	refuses = true;
	configure(FORWARD_REMOTE, "80:h:1");
	configure(FORWARD_REMOTE, "81:h:1");
	forwards_add_configured(f, on_begun, NULL);
	expect_said("listen localhost:80\nlisten localhost:81\n"
		    "log Error: remote port forwarding failed for listen port "
		    "80\nbegun, failed\n"
		    "log Error: remote port forwarding failed for listen port "
		    "81\n");
}

static void
test_distrusted_host(void **state)
{
	(void)state;
	forwards_free(f);
	begin(true);
	configure(FORWARD_REMOTE, "80:h:1");
	configure(FORWARD_DYNAMIC, "1080");
	forwards_ask_early(f);
	forwards_add_configured(f, on_begun, NULL);
	expect_said("log Port forwarding is disabled to avoid "
		    "man-in-the-middle attacks.\nbegun\n");
	add(FORWARD_REMOTE, "80:h:1", one);
	expect_said("one failed 0\n");
	server_opens("localhost", 80, NULL);
	run();
	assert_int_equal(refused_with, CHANNEL_OPEN_PROHIBITED);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_addresses_of_requests),
		TEST(test_same_again),
		TEST(test_refused_request),
		TEST(test_no_port_for_port_0),
		TEST(test_cancelled_before_the_answer),
		TEST(test_only_what_was_asked_for),
		TEST(test_before_the_answer_nothing_stands),
		TEST(test_warnings_have_a_limit),
		TEST(test_connection_and_originator),
		TEST(test_refused_open),
		TEST(test_unanswered_have_a_limit),
		TEST(test_added_while_unanswered),
		TEST(test_socks_in_pieces),
		TEST(test_socks_answer_waits_for_the_server),
		TEST(test_undecided_have_a_limit),
		TEST(test_remote_socks),
		TEST(test_permit_remote_open),
		TEST(test_begins_when_all_stand),
		TEST(test_failures_at_the_beginning),
		TEST(test_strict_beginning),
		TEST(test_distrusted_host),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
