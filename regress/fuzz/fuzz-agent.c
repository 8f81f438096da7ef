/* SPDX-License-Identifier: ISC */
/*
 * Clients of an agent. The input is a row of steps: 'm' is a message behind a
 * 16 bit length, 'r' bytes as they are behind such a length, 'n' the next
 * client, 'x' the end of this one, 'a' takes what was answered, and 't' some
 * turns of the loop. Helpers for tokens end at once, so that all but their
 * answers is reached. Whatever they say, the agent goes on: a last client gets
 * a list of keys.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agentd.h"
#include "base/buf.h"
#include "base/log.h"
#include "keys/agent-wire.h"
#include "regress/fuzz/fuzz.h"

enum { CLIENTS = 4, TURNS = 3, STEPS_MAX = 200 };

static struct loop *loop;
static struct agentd *agentd;

static int
new_client(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		pair) != 0)
		abort();
	agentd_take(agentd, pair[1]);
	return pair[0];
}

static void
turns(void)
{
	for (int i = 0; i < TURNS; i++)
		if (loop_turn(loop, 0) != 0)
			abort();
}

static void
send_bytes(int fd, struct span bytes, bool framed)
{
	struct buf b = { 0 };

	if (framed)
		buf_put_u32(&b, (uint32_t)bytes.len);
	buf_put(&b, bytes.p, bytes.len);
	(void)!send(fd, buf_data(&b), buf_len(&b), MSG_NOSIGNAL);
	buf_clear(&b);
}

static void
take_answers(int fd)
{
	uint8_t got[4096];

	while (recv(fd, got, sizeof got, 0) > 0)
		;
}

static void
play(struct rd in, int *fds)
{
	int *fd = fds;

	for (int i = 0; in.len > 0 && i < STEPS_MAX; i++) {
		switch (rd_u8(&in)) {
		case 'm':
			send_bytes(*fd, fuzz_piece(&in), true);
			break;
		case 'r':
			send_bytes(*fd, fuzz_piece(&in), false);
			break;
		case 'n':
			fd = fd == fds + CLIENTS - 1 ? fds : fd + 1;
			break;
		case 'x':
			close(*fd);
			*fd = new_client();
			break;
		case 'a':
			take_answers(*fd);
			break;
		case 't':
			turns();
			break;
		default:
			return;
		}
		turns();
	}
}

/* The agent still answers. */
static void
check(void)
{
	static const uint8_t list = AGENT_REQUEST_IDENTITIES;
	uint8_t got[5] = { 0 };
	int fd = new_client();

	send_bytes(fd, (struct span){ &list, 1 }, true);
	turns();
	if (recv(fd, got, sizeof got, 0) != sizeof got ||
	    got[4] != AGENT_IDENTITIES_ANSWER)
		abort();
	close(fd);
}

static void
set_up(void)
{
	log_set_level(LOG_LVL_QUIET);
	signal(SIGPIPE, SIG_IGN);
	if (setenv("SSH_ASKPASS_REQUIRE", "never", 1) != 0 ||
	    setenv("SSH_PKCS11_HELPER", "/bin/true", 1) != 0 ||
	    setenv("SSH_SK_HELPER", "/bin/true", 1) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_params params = { .fingerprint = DIGEST_SHA256,
		.websafe = "", .providers = "/usr/*", .token_limit_ms = 100 };
	static bool ready;
	int fds[CLIENTS];

	if (!ready)
		set_up();
	ready = true;
	if ((loop = loop_new()) == NULL ||
	    agentd_new(&agentd, loop, &params) != 0)
		abort();
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = new_client();
	play(rd_from(data, size), fds);
	check();
	agentd_free(agentd);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	loop_free(loop);
	return 0;
}
