/* SPDX-License-Identifier: ISC */
/*
 * "gssapi-keyex" (RFC 4462 section 4) in the monitor: checks a MIC, made with
 * the GSSAPI context of the key exchange, over this user and this connection.
 */
#include "base/log.h"
#include "gss/gss-wire.h"
#include "gss/gss.h"
#include "server/monitor/gss-exchange.h"
#include "server/monitor/login-internal.h"

static bool
is_right(const struct login_request *q, struct gss_acceptor *client,
    struct span mic)
{
	const struct login *l = q->login;
	struct buf data = { 0 };
	int r = ERR_DENIED;

	gss_wire_put_signed(&data, l->session_id, l->name, l->service,
	    q->method->name);
	if (mic.len <= GSS_MIC_MAX && buf_err(&data) == 0)
		r = gss_acceptor_verify(client,
		    buf_span(&data), mic);
	if (r != 0)
		log_verbose("GSSAPI: the MIC is wrong: %s",
		    gss_acceptor_error(client));
	buf_clear(&data);
	return r == 0;
}

int
login_try_keyex(const struct login_request *q, struct login_try *t)
{
	struct login *l = q->login;
	struct gss_acceptor *client = gss_exchange_client(l->gss_exchange);
	struct span mic = rd_string(q->in);
	int r = rd_end(q->in);

	if (r != 0)
		return r;
	if (client == NULL || !auth_methods_may(&l->methods, q->method->name))
		return 0;
	t->checked = t->ticket_of_exchange = true;
	t->what = login_gss_text(client);
	t->ok = is_right(q, client, mic) && login_gss_may_be_user(l, client);
	return 0;
}
