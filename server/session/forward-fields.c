/* SPDX-License-Identifier: ISC */
#include "server/session/forward-fields.h"

#include "base/buf.h"
#include "base/log.h"

char *
forward_read_text(struct rd *r, size_t max)
{
	struct span s = rd_string(r);

	return rd_err(r) == 0 && s.len <= max ? span_dup(s) : NULL;
}

void
forward_tell(struct packet *p, const char *text)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SSH_MSG_DEBUG);
	buf_put_bool(&b, false); /* always_display: false */
	buf_put_cstring(&b, text);
	buf_put_cstring(&b, ""); /* language tag */
	if (packet_put(p, &b) != 0)
		log_debug("cannot tell the client: %s", text);
	buf_clear(&b);
}
