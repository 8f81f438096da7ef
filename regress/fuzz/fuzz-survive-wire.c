/* SPDX-License-Identifier: ISC */
/*
 * The messages of survive@ and resume@ from the other side. What is taken is
 * within the limits, and put again it is the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "connection-survive-wire.h"
#include "connection-survive.h"
#include "packet-keep.h"
#include "regress/fuzz/fuzz.h"

static void
must_be(struct buf *b, struct rd in)
{
	if (buf_err(b) != 0 || buf_len(b) != in.len ||
	    memcmp(buf_data(b), in.p, in.len) != 0)
		abort();
	buf_clear(b);
}

static void
must_be_terms(uint32_t seconds, uint32_t bytes)
{
	if (seconds == 0 || seconds > SURVIVE_SECONDS_MAX || bytes == 0 ||
	    bytes > PACKET_KEEP_MAX)
		abort();
}

static void
request(struct rd in)
{
	struct survive_terms t;
	struct buf b = { 0 };

	if (survive_get_request(in, &t) != 0)
		return;
	must_be_terms(t.seconds, t.bytes);
	survive_put_request(&b, &t);
	must_be(&b, in);
}

static void
grant(struct rd in)
{
	const struct survive_terms asked = { .seconds = 600,
		.bytes = 32 * 1024 * 1024 };
	struct survive_grant g;
	struct buf b = { 0 };

	if (survive_get_grant(in, &asked, &g) != 0)
		return;
	must_be_terms(g.seconds, g.bytes);
	if (g.seconds > asked.seconds || g.bytes > asked.bytes ||
	    g.secret.len != SURVIVE_SECRET_LEN)
		abort();
	survive_put_grant(&b, &g);
	must_be(&b, in);
}

/* Behind five bytes of a request. Who is granted nothing accepts nothing. */
static void
resume(struct rd in)
{
	uint8_t answer[SURVIVE_PROOF_LEN];
	struct survive_keys none = { .granted = false };
	struct survive_resume q;
	struct survive_request r = { .generation = 0 };
	struct buf b = { 0 };

	if (survive_get_resume(in, in.len + 5, &q) != 0)
		return;
	if (q.signed_len + 4 + SURVIVE_PROOF_LEN != in.len + 5)
		abort();
	r.generation = q.generation;
	if (survive_keys_accept(&none, &r, q.proof, q.received, answer) !=
	    ERR_DENIED)
		abort();
	survive_put_resume(&b, &q);
	buf_put_string(&b, q.proof.p, q.proof.len);
	must_be(&b, in);
}

static void
welcome(struct rd in)
{
	struct survive_welcome w;
	struct buf b = { 0 };

	if (survive_get_welcome(in, &w) != 0)
		return;
	survive_put_welcome(&b, &w);
	must_be(&b, in);
}

/* The first byte says which of them it is. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const kinds[])(struct rd in) = { request, grant, resume,
		welcome };

	if (len > 0)
		kinds[data[0] % 4](rd_from(data + 1, len - 1));
	return 0;
}
