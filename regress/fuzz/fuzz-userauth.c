/* SPDX-License-Identifier: ISC */
/*
 * hpnsshd-auth gets messages from a client that is not authenticated. The first
 * byte chooses what the monitor answers; then come the messages, each behind a
 * 16 bit length.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "regress/fuzz/fuzz.h"
#include "server/auth/auth.h"

enum { ANSWERS = 16 };

static void
put_answers(int fd, enum monitor_result result)
{
	struct monitor_verdict v = { .result = result };
	struct buf b = { 0 };
	char methods[] = "publickey,password";

	/* The first answer is about the user name, the others about tries. */
	buf_put_bool(&b, true);
	buf_put_cstring(&b, methods);
	buf_put_bool(&b, true);
	buf_put_cstring(&b, "banner\n");
	buf_put_cstring(&b, "ssh-ed25519");
	buf_put_u32(&b, 6);
	buf_put_bool(&b, false);
	buf_put_bool(&b, true); /* tickets */
	(void)!fd_send_msg(fd, &b);
	buf_reset(&b);
	v.methods = methods;
	buf_put_bool(&b, true);
	monitor_verdict_put(&b, &v);
	for (int i = 0; i < ANSWERS; i++)
		(void)!fd_send_msg(fd, &b);
	buf_clear(&b);
}

static void
feed(struct auth *a, struct rd in)
{
	for (int i = 0; i < ANSWERS && in.len >= 2; i++) {
		struct span msg = fuzz_piece(&in);

		if (auth_input(a, rd_from_span(msg)) != 0)
			return;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* No MONITOR_FAILURE: hpnsshd-auth delays the reply to it. */
	static const enum monitor_result results[] = { MONITOR_SUCCESS,
		MONITOR_PARTIAL, MONITOR_KEY_OK, MONITOR_PROMPTS,
		MONITOR_REFUSED, MONITOR_TOO_MANY };
	const struct kex_hooks hooks = { 0 };
	const struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		"aes128-ctr", "hmac-sha2-256", "none" };
	struct monitor_params params = { .peer = "peer", .remote = "peer" };
	struct packet *p = NULL;
	struct kex *k = NULL;
	struct auth *a;
	int net[2], mon[2];

	if (len < 1 || len > 65536)
		return 0;
	log_set_level(LOG_LVL_QUIET);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, net) != 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, mon) != 0)
		goto out;
	put_answers(mon[1], results[data[0] % ARRAY_LEN(results)]);
	/* A call after the last answer fails, rather than wait for one. */
	shutdown(mon[1], SHUT_WR);
	p = packet_new(net[0], net[0], true);
	if (p != NULL &&
	    kex_new(&k, p, &hooks, &mine, "SSH-2.0-a", "SSH-2.0-b") == 0) {
		a = auth_new(mon[0], p, k, &params);
		feed(a, rd_from(data + 1, len - 1));
		auth_free(a);
	}
	kex_free(k);
	packet_free(p);
	close(mon[0]);
	close(mon[1]);
out:
	close(net[0]);
	close(net[1]);
	return 0;
}
