/* SPDX-License-Identifier: ISC */
/* "keyboard-interactive" (RFC 4256): the request that begins the dialogue. */
#include "server/auth/auth-internal.h"

int
auth_read_kbdint(struct auth_try *t, struct rd *in)
{
	struct span devices;
	int err;

	(void)rd_string(in); /* language tag */
	devices = rd_string(in);
	if ((err = rd_end(in)) != 0)
		return err;
	buf_put_string(&t->fields, devices.p, devices.len);
	return 0;
}
