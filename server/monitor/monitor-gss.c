/* SPDX-License-Identifier: ISC */
/*
 * Key exchange by GSSAPI: what hpnsshd-auth and the user's process may ask of
 * the context, which only the monitor has.
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

/* A token is not taken once the host's key has signed: there is one exchange
 * before the login. */
int
monitor_on_gss_step(struct monitor *m, struct rd *in, struct buf *out)
{
	return m->session_id_len != 0 ? ERR_PROTOCOL :
					step(m, in, false, out);
}

/* The hash of the first exchange is the session's identifier. */
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
