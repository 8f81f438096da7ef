/* SPDX-License-Identifier: ISC */
/* "gssapi-keyex" (RFC 4462 section 4): the request has the client's MIC. */
#include "server/auth/auth-internal.h"

int
auth_read_keyex(struct auth_try *t, struct rd *in)
{
	struct span mic = rd_string(in);
	int err = rd_end(in);

	if (err == 0)
		buf_put_string(&t->fields, mic.p, mic.len);
	return err;
}
