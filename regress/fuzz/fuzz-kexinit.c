/* SPDX-License-Identifier: ISC */
/*
 * Key exchange messages from the network, for both roles: the input is a
 * row of messages, each behind a 16 bit length.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "kex.h"
#include "regress/fuzz/fuzz.h"

static int
no_sign(void *arg, const char *alg, struct span data, struct buf *signature)
{
	(void)arg;
	(void)alg;
	buf_put(signature, data.p, data.len);
	return 0;
}

static int
no_verify(void *arg, const char *alg, struct span blob, struct span data,
    struct span signature)
{
	(void)arg;
	(void)alg;
	(void)blob;
	(void)data;
	(void)signature;
	return 0; /* so that the exchange goes on */
}

static int
no_blob(void *arg, const char *alg, struct buf *blob)
{
	(void)arg;
	buf_put_cstring(blob, alg);
	return 0;
}

static int
no_check(void *arg, struct span blob, const char *alg)
{
	(void)arg;
	(void)blob;
	(void)alg;
	return 0;
}

static void
feed(struct kex *k, const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len);

	while (in.len >= 2) {
		struct span msg = fuzz_piece(&in);

		if (msg.len == 0 ||
		    kex_input(k, rd_from_span(msg)) != 0)
			return;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct kex_proposal proposal = {
		/* The fast methods only: others have unit tests. */
		.kex = "curve25519-sha256,ecdh-sha2-nistp256",
		.hostkey = "ssh-ed25519,rsa-sha2-512",
		.cipher = "aes128-gcm@openssh.com,aes128-ctr",
		.mac = "umac-64@openssh.com,hmac-sha2-256",
		.compression = "none,zlib@openssh.com",
	};
	static const struct kex_hooks hooks = { .check_hostkey = no_check,
		.hostkey_blob = no_blob, .sign = no_sign,
		.verify = no_verify };
	struct packet *p = NULL;
	struct kex *k = NULL;
	int fd[2];

	if (len < 1 || len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		return 0;
	p = packet_new(fd[1], fd[1], (data[0] & 1) != 0);
	if (p != NULL && kex_new(&k, p, &hooks, &proposal, "SSH-2.0-a",
			     "SSH-2.0-b") == 0)
		feed(k, data + 1, len - 1);
	kex_free(k);
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
