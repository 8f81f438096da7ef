/* SPDX-License-Identifier: ISC */
/*
 * What a server sends to a client that forwards: messages 80-127, each behind
 * a 16 bit length. The client has asked for some -R, and has opened a channel
 * for a connection to -L. Targets are paths where nobody is, and names, which
 * cannot be looked up because fork() fails here.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "client/common/uses.h"
#include "client/forwards/forwards-internal.h"
#include "client/forwards/from-server.h"
#include "regress/fuzz/fuzz.h"

pid_t fork(void);

pid_t
fork(void)
{
	errno = EAGAIN;
	return -1;
}

static void
on_unused(void *arg)
{
	(void)arg;
}

static void
feed(struct channels *chs, struct loop *l, struct rd in)
{
	bool more;

	while (in.len >= 2) {
		struct span msg = fuzz_piece(&in);

		if (msg.len == 0 ||
		    channels_input(chs, rd_from_span(msg)) != 0 ||
		    channels_turn(chs, &more) != 0 || loop_turn(l, 0) != 0)
			return;
	}
}

/* Made once: it is the same for all inputs. */
static const struct client_conf *
configuration(void)
{
	static struct client_conf conf;

	if (conf.forward.remote.n > 0)
		return &conf;
	client_conf_init(&conf);
	conf.load.inert = true;
	if (client_conf_set_option(&conf, "PermitRemoteOpen=h:7") != 0 ||
	    client_conf_finish(&conf) != 0 ||
	    client_conf_add_forward(&conf, FORWARD_REMOTE,
		"80:/nobody/here") != 0 ||
	    client_conf_add_forward(&conf, FORWARD_REMOTE, "81") != 0 ||
	    client_conf_add_forward(&conf, FORWARD_REMOTE, "0:h:7") != 0 ||
	    client_conf_add_forward(&conf, FORWARD_REMOTE, "/p:h:7") != 0)
		abort();
	return &conf;
}

/* A connection that was accepted, with something in it. */
static void
open_one(struct forwards *f)
{
	static const struct forwarded_target target = { .host = "t",
		.port = 9 };
	struct forwards_accepted a = { .port = 9,
		.peer = { "192.0.2.1", 5 } };
	static const struct span text = { (const uint8_t *)"text", 4 };
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) != 0)
		return;
	(void)!write(fd[1], "more", 4);
	close(fd[1]);
	a.fd = fd[0];
	forwards_open(f, &a, &target, text, text);
}

static void
ignore(void *arg, bool failed)
{
	(void)arg;
	(void)failed;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct uses uses = { .unused = on_unused };
	struct from_server from = { .conf = configuration() };
	struct forwards_params fp = { .conf = from.conf, .uses = &uses };
	struct channels *chs = NULL;
	struct packet *p;
	struct loop *l;
	int fd[2];

	if (len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	(void)signal(SIGPIPE, SIG_IGN); /* as hpnssh does */
	if ((l = loop_new()) == NULL)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		goto out;
	p = packet_new(fd[0], fd[0], false);
	if (p != NULL && channels_new(&chs, p, l) == 0) {
		fp.loop = l;
		fp.channels = chs;
		if (forwards_new(&from.forwards, &fp) == 0 &&
		    from_server_allow(&from, chs) == 0) {
			forwards_add_configured(from.forwards, ignore, NULL);
			open_one(from.forwards);
			feed(chs, l, rd_from(data, len));
		}
		forwards_free(from.forwards);
	}
	channels_free(chs);
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
out:
	loop_free(l);
	return 0;
}
