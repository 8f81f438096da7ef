/* SPDX-License-Identifier: ISC */
/* Private keys are sealed by the shield while they are in memory. */
#include "agent/agent-internal.h"

int
sealed_key_make(struct shield *s, const struct key *k, struct buf *out)
{
	struct buf plain;
	int r;

	buf_init_secret(&plain);
	r = key_private_to_wire(k, &plain);
	if (r == 0)
		r = shield_seal(s, &plain, out);
	buf_clear(&plain);
	return r;
}

int
sealed_key_open(const struct shield *s, const struct buf *sealed,
    struct key **out)
{
	struct buf plain;
	struct rd rd;
	int r;

	buf_init_secret(&plain);
	r = shield_open(s, sealed, &plain);
	rd = rd_from_buf(&plain);
	if (r == 0)
		r = key_private_from_wire(&rd, out);
	buf_clear(&plain);
	return r;
}
