/* SPDX-License-Identifier: ISC */
/*
 * Handlers of the requests for key exchange by GSSAPI. Only the monitor has the
 * GSSAPI context.
 */
#include <string.h>

#include "server/monitor/delegated.h"
#include "server/monitor/monitor.h"

static int
step(struct monitor *m, struct rd *in, bool rekey, struct buf *out)
{
	struct span token = rd_string(in);
	int r = rd_end(in);

	return r != 0 ? r : gss_exchange_step(m->gss, token, rekey, out);
}

static int
sign(struct monitor *m, struct rd *in, struct buf *out, struct span *hash)
{
	int r;

	*hash = rd_string(in);
	r = rd_end(in);
	return r != 0 ? r : gss_exchange_sign(m->gss, *hash, out);
}

/* No token is accepted after the first exchange hash was signed: there is one
 * key exchange before the login. */
int
monitor_on_gss_step(struct monitor *m, struct rd *in, struct buf *out)
{
	return m->session_id_len != 0 ? ERR_PROTOCOL :
					step(m, in, false, out);
}

/* Signs the hash of the first key exchange, which becomes the session
 * identifier. */
int
monitor_on_gss_sign(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span hash;
	int r;

	if (m->session_id_len != 0)
		return ERR_PROTOCOL;
	if ((r = sign(m, in, out, &hash)) == 0) {
		memcpy(m->session_id, hash.p, hash.len);
		m->session_id_len = hash.len;
	}
	return r;
}

int
monitor_on_gss_step_rekey(struct monitor *m, struct rd *in, struct buf *out)
{
	return step(m, in, true, out);
}

int
monitor_on_gss_sign_rekey(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span hash;
	int r = sign(m, in, out, &hash);

	if (r == 0)
		delegated_renew(m->login, gss_exchange_client(m->gss));
	return r;
}
