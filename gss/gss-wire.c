/* SPDX-License-Identifier: ISC */
#include "gss/gss-wire.h"

#include <string.h>

#include "packet.h"

/* 1.2.840.113554.1.2.2 */
static const uint8_t kerberos[] = { 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7,
	0x12, 0x01, 0x02, 0x02 };

struct span
gss_wire_kerberos(void)
{
	return (struct span){ kerberos, sizeof kerberos };
}

bool
gss_wire_is_kerberos(struct span oid)
{
	return oid.len == sizeof kerberos &&
	    memcmp(oid.p, kerberos, sizeof kerberos) == 0;
}

void
gss_wire_put_request(struct buf *b)
{
	buf_put_u32(b, 1);
	buf_put_string(b, kerberos, sizeof kerberos);
}

int
gss_wire_get_request(struct rd *in, bool *found)
{
	uint32_t n = rd_u32(in);

	*found = false;
	if (rd_err(in) == 0 && (n == 0 || n > GSS_MECHS_MAX))
		return ERR_PROTOCOL;
	for (uint32_t i = 0; i < n && rd_err(in) == 0; i++)
		if (gss_wire_is_kerberos(rd_string(in)))
			*found = true;
	return rd_end(in);
}

void
gss_wire_put_signed(struct buf *b, struct span session_id, const char *user,
    const char *service, const char *method)
{
	buf_put_string(b, session_id.p, session_id.len);
	buf_put_u8(b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(b, user);
	buf_put_cstring(b, service);
	buf_put_cstring(b, method);
}
