/* SPDX-License-Identifier: ISC */
#include "regress/unit/forwards-host.h"
#include "regress/unit/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "client/forwards/from-server.h"
#include "compat/sock.h"
#include "regress/unit/channels-host.h"

enum { WAIT_MS = 60 * 1000 };

struct test_client near;
struct test_server far;
char said[4096];

static struct world w; /* a is the client, b the server */
static struct from_server from_server;

/* ---- the server --------------------------------------------------------- */

void
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
		buf_put_u32(reply, far.gives_port);
	return far.refuses ? CHANNEL_FAILURE : CHANNEL_SUCCESS;
}

static int
on_listen_path(void *arg, struct rd *data, struct buf *reply)
{
	char *path = rd_cstring(data, 1024);

	(void)reply;
	assert_int_equal(rd_end(data), 0);
	say("%s %s\n", (const char *)arg, path);
	free(path);
	return far.refuses ? CHANNEL_FAILURE : CHANNEL_SUCCESS;
}

static void
on_server_closed(void *arg, struct channel *c)
{
	(void)arg;
	(void)c;
	far.closed++;
}

static const struct channel_ops server_ops = { .closed = on_server_closed };

int
server_accepts(struct channel *c)
{
	int r = channel_accept(c, &server_ops, NULL, CHANNEL_WINDOW_DEFAULT,
	    CHANNEL_PACKET_DEFAULT);

	channel_set_fds(c, far.pipe[1], far.pipe[1], -1, -1);
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
	far.opened++;
	if (far.refuses)
		return CHANNEL_FAILURE;
	if (!far.holds)
		return server_accepts(c);
	assert_true(far.held_count < HELD_MAX);
	far.held[far.held_count++] = c;
	channel_defer(c, &server_ops, NULL);
	return CHANNEL_LATER;
}

static void
on_opened(void *arg, struct channel *c)
{
	(void)arg;
	far.opened++;
	channel_set_fds(c, far.pipe[1], far.pipe[1], -1, -1);
}

static void
on_refused(void *arg, struct channel *c, uint32_t reason, const char *text)
{
	(void)arg;
	(void)c;
	(void)text;
	far.refused_with = reason;
}

static const struct channel_ops opener_ops = {
	.opened = on_opened,
	.refused = on_refused,
	.closed = on_server_closed,
};

void
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

void
client_begins(bool distrusted)
{
	const struct forwards_params p = {
		.conf = &near.conf,
		.loop = w.loop,
		.channels = w.a.chs,
		.uses = &near.uses,
		.distrusted = distrusted,
	};

	assert_int_equal(forwards_new(&near.forwards, &p), 0);
	from_server = (struct from_server){
		.conf = &near.conf,
		.forwards = near.forwards,
	};
	assert_int_equal(from_server_allow(&from_server, w.a.chs), 0);
}

int
forwards_setup(void **state)
{
	static char tcp[] = "listen", cancel[] = "cancel";

	(void)state;
	said[0] = '\0';
	far = (struct test_server){ .gives_port = 4711, .pipe = { -1, -1 } };
	client_conf_init(&near.conf);
	assert_int_equal(client_conf_finish(&near.conf), 0);
	near.uses = (struct uses){ .unused = on_unused };
	world_open(&w);
	socket_pair(SOCK_STREAM, far.pipe);
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
	client_begins(false);
	return 0;
}

int
forwards_teardown(void **state)
{
	(void)state;
	forwards_free(near.forwards);
	world_close(&w);
	fd_close(&far.pipe[0]);
	fd_close(&far.pipe[1]);
	client_conf_clear(&near.conf);
	return 0;
}

void
client_adds(enum forward_kind kind, const char *text, char *name)
{
	struct forward_spec s;

	assert_int_equal(forward_spec_parse(&s, kind, text), 0);
	forwards_add(near.forwards, &s, on_done, name);
	forward_spec_clear(&s);
}

bool
client_cancels(enum forward_kind kind, const char *text)
{
	struct forward_spec s;
	bool found;

	assert_int_equal(forward_spec_parse(&s, kind, text), 0);
	found = forwards_cancel(near.forwards, &s);
	forward_spec_clear(&s);
	return found;
}

void
run_both(void)
{
	assert_int_equal(world_run(&w, 20), 0);
}

void
expect_said(const char *text)
{
	run_both();
	assert_string_equal(said, text);
	said[0] = '\0';
}

int
bound_socket(uint16_t *port, bool listens)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = sock_open(AF_INET, SOCK_STREAM, 0, SOCK_AT_ONCE);

	assert_int_equal(bind(fd, (const struct sockaddr *)&a, len), 0);
	if (listens)
		assert_int_equal(listen(fd, 512), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

int
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

uint16_t
listen_here(enum forward_kind kind, const char *target)
{
	static char name[] = "here";
	char text[128];
	uint16_t port;
	int fd = bound_socket(&port, false);

	fd_close(&fd);
	snprintf(text, sizeof text, "127.0.0.1:%u%s%s", port,
	    *target != '\0' ? ":" : "", target);
	client_adds(kind, text, name);
	expect_said("here stands 0\n");
	return port;
}

void
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
