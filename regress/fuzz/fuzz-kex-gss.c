/* SPDX-License-Identifier: ISC */
/*
 * Messages of a key exchange by GSSAPI, for both roles: the input is a row of
 * messages, each behind a 16 bit length. In place of the library: a token that
 * begins with an even byte completes the context, with 255 it is wrong.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "kex.h"
#include "regress/fuzz/fuzz.h"

enum { WRONG_MIC = 4 }; /* a bit of the first byte; 1: a server */

/* What may not happen in any order of messages. */
struct seen {
	bool wrong_mic, complete, verified;
	int signs;
};

static int
gss_prepare(void *arg)
{
	(void)arg;
	return 0;
}

static int
gss_first(void *arg, struct buf *token)
{
	(void)arg;
	buf_put_cstring(token, "token");
	return buf_err(token);
}

static int
gss_step(void *arg, struct span token, struct buf *out, bool *complete)
{
	struct seen *seen = arg;

	if (seen->complete)
		abort(); /* a token for a context that stands */
	if (token.len > 0 && token.p[0] == 255)
		return ERR_DENIED;
	*complete = seen->complete = token.len > 0 && token.p[0] % 2 == 0;
	if (token.len == 0 || token.p[0] % 4 != 0)
		buf_put_cstring(out, "answer");
	return buf_err(out);
}

static int
gss_verify(void *arg, struct span hash, struct span mic)
{
	struct seen *seen = arg;

	(void)hash;
	(void)mic;
	if (!seen->complete)
		abort();
	seen->verified = !seen->wrong_mic;
	return seen->wrong_mic ? ERR_DENIED : 0;
}

static int
gss_hostkey(void *arg, struct span blob)
{
	const struct seen *seen = arg;

	if (!seen->verified || blob.len == 0)
		abort(); /* nobody has vouched for it */
	return 0;
}

static int
gss_sign(void *arg, struct span hash, struct buf *mic)
{
	struct seen *seen = arg;

	if (!seen->complete || seen->signs++ > 0)
		abort();
	buf_put(mic, hash.p, hash.len);
	return buf_err(mic);
}

static int
hostkey_blob(void *arg, const char *alg, struct buf *blob)
{
	(void)arg;
	buf_put_cstring(blob, alg);
	return buf_err(blob);
}

/* The plain methods are not agreed on: no key could sign for them. */
static int
no_sign(void *arg, const char *alg, struct span data, struct buf *signature)
{
	(void)arg;
	(void)alg;
	(void)data;
	(void)signature;
	return ERR_DENIED;
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
	return ERR_SIGNATURE;
}

static void
feed(struct kex *k, struct rd in)
{
	while (in.len >= 2) {
		struct span msg = fuzz_piece(&in);

		if (msg.len == 0 || kex_input(k, rd_from_span(msg)) != 0)
			return;
	}
}

static void
exchange(struct packet *p, struct seen *seen, const uint8_t *data, size_t len)
{
	static const struct kex_proposal proposal = {
		.kex = "curve25519-sha256",
		.hostkey = "ssh-ed25519",
		.cipher = "aes128-gcm@openssh.com",
		.mac = "hmac-sha2-256",
		.compression = "none",
	};
	const struct kex_hooks hooks = { .hostkey_blob = hostkey_blob,
		.sign = no_sign, .verify = no_verify };
	const struct kex_gss_hooks gss = { .arg = seen, .prepare = gss_prepare,
		.first = gss_first, .step = gss_step, .verify = gss_verify,
		.hostkey = gss_hostkey, .sign = gss_sign };
	struct kex *k = NULL;

	if (kex_new(&k, p, &hooks, &proposal, "SSH-2.0-a", "SSH-2.0-b") == 0 &&
	    kex_set_gss(k, &gss,
		"gss-curve25519-sha256-toWM5Slw5Ew8Mqkay+al2g==,"
		"gss-nistp256-sha256-toWM5Slw5Ew8Mqkay+al2g==,"
		"gss-gex-sha1-toWM5Slw5Ew8Mqkay+al2g==") == 0)
		feed(k, rd_from(data, len));
	kex_free(k);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen seen = { .complete = false };
	struct packet *p;
	int fd[2];

	if (len < 1 || len > 65536)
		return 0;
	seen.wrong_mic = (data[0] & WRONG_MIC) != 0;
	log_set_level(LOG_LVL_QUIET);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		return 0;
	p = packet_new(fd[1], fd[1], (data[0] & 1) != 0);
	if (p != NULL)
		exchange(p, &seen, data + 1, len - 1);
	packet_free(p);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
