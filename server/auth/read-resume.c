/* SPDX-License-Identifier: ISC */
/* "resume@hpnssh.org" (docs/PROTOCOL.md). */
#include "connection-survive-wire.h"
#include "server/auth/auth-internal.h"

int
auth_read_resume(struct auth_try *t, struct rd *in)
{
	struct survive_resume q;
	int err = survive_get_resume(*in, in->len, &q);

	/* A proof of another version is handed on: the monitor refuses it. */
	if (err != 0 && err != ERR_UNSUPPORTED)
		return err;
	buf_put(&t->fields, in->p, in->len);
	return 0;
}
