/* SPDX-License-Identifier: ISC */
/*
 * Mux clients of a shared connection. The input is a row of steps: 'p' is a new
 * client, 'h' says its hello, 'q' and a request of a type of its own (four
 * bytes) with a body behind a 16 bit length, 'b' is bytes behind such a
 * length, 'f' a descriptor, 'r' reads what was answered, 'c' is its end, 's'
 * the end of all sessions at the server, 'n' refuses the next of them, and
 * 't' some turns of the loop. Whatever they say, the master goes on: a last
 * client is answered.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "channels.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-wire.h"
#include "conf/client-conf.h"
#include "kex.h"
#include "packet.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/some.h"

enum { CLIENTS = 8, TURNS = 3, SERVED_MAX = 64 };

struct scene {
	struct loop *loop;
	struct packet *near_packet, *far_packet;
	struct channels *near, *far;
	struct channel *served[SERVED_MAX];
	struct uses uses;
	struct mux_master *master;
	struct kex *kex;
	int sock[2], fds[CLIENTS];
	unsigned clients;
	bool refuses;
};

static struct client_conf conf;

static void
set_up(void)
{
	log_set_level(LOG_LVL_QUIET);
	signal(SIGPIPE, SIG_IGN);
	client_conf_init(&conf);
	if (client_conf_finish(&conf) != 0)
		abort();
}

/* ---- the server --------------------------------------------------------- */

static int
on_request(void *arg, struct channel *c, struct span name, struct rd *data)
{
	(void)arg;
	(void)c;
	(void)data;
	return name.len % 2 == 0 ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

static void
on_closed(void *arg, struct channel *c)
{
	struct scene *s = arg;

	for (int i = 0; i < SERVED_MAX; i++)
		if (s->served[i] == c)
			s->served[i] = NULL;
}

static const struct channel_ops far_ops = {
	.request = on_request,
	.closed = on_closed,
};

static int
on_open(void *arg, struct channels *chs, struct channel *c, struct rd *data)
{
	struct scene *s = arg;

	(void)chs;
	(void)data;
	if (s->refuses)
		return CHANNEL_FAILURE;
	for (int i = 0; i < SERVED_MAX; i++)
		if (s->served[i] == NULL) {
			s->served[i] = c;
			if (channel_accept(c, &far_ops, s,
				CHANNEL_WINDOW_DEFAULT,
				CHANNEL_PACKET_DEFAULT) != 0)
				abort();
			return CHANNEL_SUCCESS;
		}
	return CHANNEL_FAILURE;
}

static void
end_sessions(struct scene *s)
{
	struct buf b = { 0 };

	buf_put_u32(&b, 3);
	for (int i = 0; i < SERVED_MAX; i++) {
		if (s->served[i] == NULL)
			continue;
		(void)!channel_request(s->served[i], "exit-status", &b, NULL,
		    NULL);
		channel_close(s->served[i], false);
	}
	buf_clear(&b);
}

static void
step(struct packet *p, struct channels *chs)
{
	struct rd payload;
	bool more;

	(void)!packet_fill(p);
	while (packet_next(p, &payload) == 1)
		if (channels_input(chs, payload) != 0)
			abort(); /* both ends are ours */
	if (channels_turn(chs, &more) != 0)
		abort();
	(void)!packet_flush(p);
}

static void
turns(struct scene *s)
{
	for (int i = 0; i < TURNS; i++) {
		if (loop_turn(s->loop, 0) != 0)
			abort();
		step(s->near_packet, s->near);
		step(s->far_packet, s->far);
	}
}

/* ---- clients --------------------------------------------------------- */

static void
nothing(void *arg)
{
	(void)arg;
}

static int
new_client(struct scene *s)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		pair) != 0)
		abort();
	mux_master_take(s->master, pair[1]);
	return pair[0];
}

static void
send_message(int fd, const struct buf *b)
{
	struct buf out = { 0 };

	if (mux_frame(&out, b) == 0)
		(void)!send(fd, buf_data(&out), buf_len(&out), MSG_NOSIGNAL);
	buf_clear(&out);
}

static void
say_hello(int fd)
{
	struct buf b = { 0 };

	mux_begin(&b, MUX_HELLO);
	mux_put_hello(&b, NULL, NULL);
	send_message(fd, &b);
	buf_clear(&b);
}

static void
send_request(int fd, uint32_t type, struct span body)
{
	struct buf b = { 0 };

	mux_begin_request(&b, (enum mux_type)type, 7);
	buf_put(&b, body.p, body.len);
	send_message(fd, &b);
	buf_clear(&b);
}

static void
send_descriptor(int fd)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) != 0)
		abort();
	(void)!fd_send_fds(fd, &pair[0], 1);
	close(pair[0]);
	close(pair[1]);
}

static void
play(struct scene *s, struct rd in)
{
	int *fd = &s->fds[0];
	struct span bytes;
	uint32_t type;

	*fd = new_client(s);
	s->clients = 1;
	while (in.len > 0) {
		switch (rd_u8(&in)) {
		case 'p':
			if (s->clients < CLIENTS) {
				fd = &s->fds[s->clients++];
				*fd = new_client(s);
			}
			break;
		case 'h':
			say_hello(*fd);
			break;
		case 'q':
			type = rd_u32(&in);
			send_request(*fd, type, fuzz_piece(&in));
			break;
		case 'b':
			bytes = fuzz_piece(&in);
			(void)!send(*fd, bytes.p, bytes.len, MSG_NOSIGNAL);
			break;
		case 'f':
			send_descriptor(*fd);
			break;
		case 'r':
			take_answers(*fd);
			break;
		case 'c':
			(void)shutdown(*fd, SHUT_RDWR);
			break;
		case 's':
			end_sessions(s);
			break;
		case 'n':
			s->refuses = !s->refuses;
			break;
		case 't':
			turns(s);
			break;
		default:
			return;
		}
	}
}

/* The master still answers. */
static void
check(struct scene *s)
{
	int fd = new_client(s);
	uint8_t got[256];

	say_hello(fd);
	send_request(fd, MUX_CHECK, (struct span){ NULL, 0 });
	turns(s);
	if (recv(fd, got, sizeof got, MSG_DONTWAIT) < 25 + 16)
		abort();
	close(fd);
}

static struct packet *
make_side(struct scene *s, int fd, bool server, struct channels **chs)
{
	struct packet *p = packet_new(fd, fd, server);

	if (p == NULL || channels_new(chs, p, s->loop) != 0 ||
	    packet_authenticated(p) != 0)
		abort();
	return p;
}

static void
open_scene(struct scene *s)
{
	static const uint8_t no_id[32];
	struct mux_master_params params = {
		.uses = &s->uses,
		.persist_s = -1,
		.exit = nothing,
		.stop = nothing,
	};

	s->uses.unused = nothing;
	if ((s->loop = loop_new()) == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s->sock) != 0)
		abort();
	s->near_packet = make_side(s, s->sock[0], false, &s->near);
	s->far_packet = make_side(s, s->sock[1], true, &s->far);
	params.session = (struct session_params){
		.conf = &conf,
		.loop = s->loop,
		.packet = s->near_packet,
		.kex = s->kex = some_kex(s->near_packet,
		    (struct span){ no_id, sizeof no_id }, (struct span){ 0 }),
		.channels = s->near,
	};
	if (channels_on_open(s->far, "session", on_open, s) != 0 ||
	    channels_on_open(s->far, "direct-tcpip", on_open, s) != 0 ||
	    mux_master_new(&s->master, &params, NULL) != 0)
		abort();
}

static void
close_scene(struct scene *s)
{
	mux_master_free(s->master);
	channels_free(s->near);
	channels_free(s->far);
	kex_free(s->kex);
	packet_free(s->near_packet);
	packet_free(s->far_packet);
	loop_free(s->loop);
	for (unsigned i = 0; i < s->clients; i++)
		close(s->fds[i]);
	close(s->sock[0]);
	close(s->sock[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	struct scene s = { 0 };

	if (!ready)
		set_up();
	ready = true;
	open_scene(&s);
	play(&s, rd_from(data, size));
	turns(&s);
	check(&s);
	close_scene(&s);
	return 0;
}
