/* SPDX-License-Identifier: ISC */
/*
 * Clients of an agent, and the helpers that it starts for tokens. The input is
 * a row of steps: 'm' is a message behind a 16 bit length, 'r' bytes as they
 * are behind such a length, 'n' the next client, 'x' the end of this one, 'a'
 * takes what was answered, and 't' some turns of the loop. 'h' is an answer of
 * the newest helper behind a 16 bit length, 'H' are bytes of it as they are,
 * and 'e' is its end. Whatever they say, the agent goes on: a last client gets
 * a list of keys.
 *
 * No process is started: child_spawn() and its kin are those below, and a
 * helper is this end of its socket. A process for each would take longer than
 * a hundred inputs.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agentd.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/log.h"
#include "crypto/kdf.h"
#include "keys/agent-wire.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/some.h"

enum { CLIENTS = 4, TURNS = 3, STEPS_MAX = 200, HELPERS_MAX = 64 };

static struct loop *loop;
static struct agentd *agentd;

/* ---- helpers ------------------------------------------------------------- */

/* Our ends of their sockets, and at 0 none; a pid is an index. */
static int helpers[HELPERS_MAX + 1];
static int helper_count;

static void
helper_end(int number)
{
	if (helpers[number] > 0)
		close(helpers[number]);
	helpers[number] = 0;
}

static void
helpers_clear(void)
{
	while (helper_count > 0)
		helper_end(helper_count--);
}

int
child_spawn(pid_t *pid, char *const argv[], int in, int out)
{
	(void)argv;
	if (in == -1 || in != out || helper_count == HELPERS_MAX)
		return ERR_SYSTEM;
	*pid = ++helper_count;
	helpers[*pid] = fcntl(in, F_DUPFD_CLOEXEC, 3);
	if (helpers[*pid] == -1)
		abort();
	return 0;
}

void
child_abandon(pid_t pid)
{
	if (pid < 1 || pid > helper_count)
		abort();
	helper_end(pid);
}

void
child_reap_abandoned(void)
{
}

/* For dialogs, of which there are none here. */
int
child_reap(pid_t pid, int *status)
{
	(void)pid;
	*status = 0;
	return 0;
}

/* What is to be slow is: a third of the time. This is as good for telling one
 * passphrase from another. */
int
kdf_bcrypt(const void *pass, size_t pass_len, const uint8_t *salt,
    size_t salt_len, uint32_t rounds, uint8_t *out, size_t out_len)
{
	const uint8_t *p = pass;

	(void)rounds;
	for (size_t i = 0; i < out_len; i++)
		out[i] = (uint8_t)(pass_len + i + salt[i % salt_len]);
	for (size_t i = 0; i < pass_len; i++)
		out[i % out_len] ^= p[i];
	return 0;
}

/* ---- clients ------------------------------------------------------------- */

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
	(void)!send(fd, buf_data(&b), buf_len(&b),
	    MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_clear(&b);
}

/* The newest helper takes what it was asked, and answers. */
static void
helper_says(struct span bytes, bool framed)
{
	int fd = helpers[helper_count];

	if (fd <= 0)
		return;
	take_answers(fd);
	send_bytes(fd, bytes, framed);
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
		case 'h':
			helper_says(fuzz_piece(&in), true);
			break;
		case 'H':
			helper_says(fuzz_piece(&in), false);
			break;
		case 'e':
			helper_end(helper_count);
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
	if (setenv("SSH_ASKPASS_REQUIRE", "never", 1) != 0)
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
	helpers_clear();
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	loop_free(loop);
	return 0;
}
