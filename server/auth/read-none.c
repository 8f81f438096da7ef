/* SPDX-License-Identifier: ISC */
/* "none" (RFC 4252 section 5.2): the request has no fields of its own. */
#include "server/auth/auth-internal.h"

int
auth_read_none(struct auth_try *t, struct rd *in)
{
	(void)t;
	return rd_end(in);
}
