/* SPDX-License-Identifier: ISC */
/* "hostbased" (RFC 4252 section 9). */
#include "server/auth/auth-internal.h"

int
auth_read_hostbased(struct auth_try *t, struct rd *in)
{
	struct span alg = rd_string(in), blob = rd_string(in);
	struct span host = rd_string(in), user = rd_string(in);
	struct span signature = rd_string(in);
	int err;

	if ((err = rd_end(in)) != 0)
		return err;
	buf_put_string(&t->fields, alg.p, alg.len);
	buf_put_string(&t->fields, blob.p, blob.len);
	buf_put_string(&t->fields, host.p, host.len);
	buf_put_string(&t->fields, user.p, user.len);
	buf_put_string(&t->fields, signature.p, signature.len);
	return 0;
}
