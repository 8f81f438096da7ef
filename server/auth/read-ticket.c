/* SPDX-License-Identifier: ISC */
/* "ticket@hpnssh.org" (docs/PROTOCOL.md). */
#include "server/auth/auth-internal.h"

int
auth_read_ticket(struct auth_try *t, struct rd *in)
{
	uint8_t version = rd_u8(in), kind;
	struct span name = rd_string(in), proof;
	int err;

	kind = rd_u8(in);
	proof = rd_string(in);
	if ((err = rd_end(in)) != 0)
		return err;
	buf_put_u8(&t->fields, version);
	buf_put_string(&t->fields, name.p, name.len);
	buf_put_u8(&t->fields, kind);
	buf_put_string(&t->fields, proof.p, proof.len);
	return 0;
}
