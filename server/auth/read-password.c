/* SPDX-License-Identifier: ISC */
/* "password" (RFC 4252 section 8). */
#include "server/auth/auth-internal.h"
#include "server/monitor-wire.h"

int
auth_read_password(struct auth_try *t, struct rd *in)
{
	bool change = rd_bool(in), usable;
	struct span password = rd_string(in);
	int err;

	if (change)
		(void)rd_string(in); /* the new password */
	if ((err = rd_end(in)) != 0)
		return err;
	/* The server never asks for a change of the password, so a request with
	 * a new password is refused as a wrong one. */
	usable = !change && password.len <= MONITOR_SECRET_MAX;
	buf_put_string(&t->fields, password.p, usable ? password.len : 0);
	buf_put_bool(&t->fields, usable);
	return 0;
}
