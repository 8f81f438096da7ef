/* SPDX-License-Identifier: ISC */
/*
 * "gssapi-with-mic" (RFC 4462 section 3). The request lists the client's
 * mechanisms. The tokens of the dialogue are for the monitor, which has the
 * host's keys.
 */
#include "base/log.h"
#include "gss/gss-wire.h"
#include "server/auth/auth-internal.h"

int
auth_read_gssapi(struct auth_try *t, struct rd *in)
{
	bool kerberos;
	int err = gss_wire_get_request(in, &kerberos);

	if (err != 0) {
		log_info("a list of GSSAPI mechanisms that cannot be");
		return err;
	}
	buf_put_bool(&t->fields, kerberos);
	return 0;
}
