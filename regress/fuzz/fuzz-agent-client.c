/* SPDX-License-Identifier: ISC */
/*
 * An agent that answers a client: the first byte chooses what was asked for,
 * the others are all that the agent sends.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keys/agent-client-internal.h"
#include "regress/fuzz/fuzz.h"

static struct key *key;

static void
list(struct agent *a)
{
	struct agent_key *keys = NULL;
	size_t count = 0;

	if (agent_list(a, &keys, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (keys[i].key == NULL || keys[i].comment == NULL)
			abort();
	agent_keys_free(keys, count);
}

static void
sign(struct agent *a)
{
	struct span data = { (const uint8_t *)"data", 4 };
	struct buf signature = { 0 };
	struct rd rd;

	if (agent_sign(a, key, "ssh-ed25519", data, &signature) == 0) {
		rd = rd_from_buf(&signature);
		if (!span_equals(rd_string(&rd), "ssh-ed25519"))
			abort();
	} else if (buf_len(&signature) != 0) {
		abort();
	}
	buf_clear(&signature);
}

static void
query(struct agent *a)
{
	struct strlist names = { 0 };

	(void)!agent_query(a, &names);
	strlist_clear(&names);
}

static void
ask(struct agent *a, uint8_t choice)
{
	switch (choice % 4) {
	case 0:
		list(a);
		break;
	case 1:
		sign(a);
		break;
	case 2:
		query(a);
		break;
	case 3:
		(void)!agent_remove(a, key);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct agent a;
	int fd[2];

	/* What is more does not fit into the socket at once. */
	if (len < 1 || len > 64 * 1024)
		return 0;
	if (key == NULL && key_generate("ed25519", 0, &key) != 0)
		abort();
	signal(SIGPIPE, SIG_IGN);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	if (fd_write_all(fd[1], data + 1, len - 1) != 0 ||
	    shutdown(fd[1], SHUT_WR) != 0)
		abort();
	a.fd = fd[0];
	ask(&a, data[0]);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
