/* SPDX-License-Identifier: ISC */
/*
 * Bytes from a peer that is not authenticated: identification lines, then
 * packets in clear or, if the first byte is odd, encrypted with a known key.
 * Their MACs are what the input happens to hold.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet.h"
#include "regress/fuzz/fuzz.h"

enum { INPUT_MAX = 64 * 1024 };

static void
ignore_line(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static int
set_known_keys(struct packet *p, uint8_t choice)
{
	struct packet_keys k;

	memset(&k, 0, sizeof k);
	k.cipher = cipher_at(choice % 6u);
	k.mac = k.cipher->needs_mac ? mac_at(choice % 10u) : NULL;
	return packet_set_keys(p, PACKET_RX, &k, true);
}

static void
read_all(struct packet *p, bool server)
{
	struct rd payload;
	char *line = NULL;
	int r;

	if (packet_fill(p) <= 0)
		return;
	r = packet_read_identification(p, &line, server ? NULL : ignore_line,
	    NULL);
	free(line);
	if (r <= 0)
		return;
	while ((r = packet_next(p, &payload)) == 1)
		;
	if (r == 0 && packet_fill(p) > 0)
		while (packet_next(p, &payload) == 1)
			;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct packet *p;
	int fd[2], size = 2 * INPUT_MAX;
	bool server;

	if (len < 2 || len > INPUT_MAX)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		return 0;
	(void)setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	(void)!fd_set_nonblock(fd[0], true);
	server = (data[0] & 2) != 0;
	p = packet_new(fd[1], fd[1], server);
	if (p != NULL &&
	    ((data[0] & 1) == 0 || set_known_keys(p, data[1]) == 0)) {
		(void)!write(fd[0], data + 2, len - 2);
		read_all(p, server);
	}
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
