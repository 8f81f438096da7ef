/* SPDX-License-Identifier: ISC */
/* What several fuzz targets of channels and keys need. */
#ifndef HPN_REGRESS_FUZZ_SOME_H
#define HPN_REGRESS_FUZZ_SOME_H

#include "regress/fuzz/fuzz.h"

#include <sys/socket.h>

#include "base/loop.h"
#include "channels.h"
#include "kex.h"
#include "keys/key.h"

/* The public half is that of the seeds. Kept here. */
static inline struct key *
some_key(void)
{
	static struct key *k;
	const char *line =
	    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDa"
	    "VMgnNOSESWYceGQCPcRLkkTIUOy2";

	if (k == NULL && key_parse_line(&line, &k) != 0)
		abort();
	return k;
}

/* A key exchange that has ended, in which the server showed that key. Caller
 * frees. */
static inline struct kex *
some_kex(struct packet *p, struct span session_id, struct span host_key)
{
	struct kex_proposal mine = { "curve25519-sha256", "ssh-ed25519",
		"aes128-ctr", "hmac-sha2-256", "none" };
	struct kex_hooks hooks = { 0 };
	struct buf b = { 0 };
	struct kex *k;
	struct rd in;

	buf_put_string(&b, session_id.p, session_id.len);
	buf_put_cstring(&b, "s"); /* identification, traits */
	buf_put_u32(&b, 0);
	buf_put_string(&b, host_key.p, host_key.len);
	for (int i = 0; i < 4; i++)
		buf_put_bool(&b, false);
	buf_put_cstring(&b, "curve25519-sha256");
	buf_put_cstring(&b, "ssh-ed25519");
	for (int i = 0; i < 2; i++)
		buf_put_cstring(&b, "aes128-ctr");
	for (int i = 0; i < 2; i++)
		buf_put_cstring(&b, "hmac-sha2-256");
	for (int i = 0; i < 2; i++)
		buf_put_bool(&b, false);
	in = rd_from_buf(&b);
	if (kex_new(&k, p, &hooks, &mine, "c", "s") != 0 ||
	    kex_import(k, &in) != 0)
		abort();
	buf_clear(&b);
	return k;
}

/* The pieces of the input are messages. */
static inline void
feed_channels(struct channels *chs, struct loop *l, struct rd in)
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

/* Nobody reads what is answered. */
static inline void
take_answers(int fd)
{
	uint8_t got[4096];

	while (recv(fd, got, sizeof got, MSG_DONTWAIT) > 0)
		;
}

#endif
