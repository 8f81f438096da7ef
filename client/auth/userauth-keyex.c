/* SPDX-License-Identifier: ISC */
/*
 * Authentication by the ticket with which the key exchange was made:
 * gssapi-keyex (RFC 4462 section 4). It is one request with a MIC.
 */
#include "base/log.h"
#include "base/mem.h"
#include "client/auth/userauth-internal.h"
#include "gss/gss-wire.h"

#define METHOD "gssapi-keyex"

static bool
keyex_enabled(const struct userauth *ua)
{
	return ua->p.conf->auth.gssapi_authentication != 0 &&
	    ua->p.gss_sign != NULL;
}

static int
make_mic(struct userauth *ua, struct buf *mic)
{
	struct buf data = { 0 };
	int r;

	gss_wire_put_signed(&data,
	    buf_span(&ua->session_id),
	    ua->p.conf->host.user, "ssh-connection", METHOD);
	if ((r = buf_err(&data)) == 0)
		r = ua->p.gss_sign(ua->p.gss_arg,
		    buf_span(&data), mic);
	buf_clear(&data);
	return r;
}

/* Sends one request; the method has no other until a partial success. */
static int
keyex_next(struct userauth *ua)
{
	struct buf b, mic = { 0 };
	int r = 0;

	ua->exhausted[USERAUTH_ID_keyex] = true;
	if (make_mic(ua, &mic) == 0) {
		buf_init(&b);
		userauth_put_request(ua, &b, METHOD);
		buf_put_string_buf(&b, &mic);
		r = userauth_send(ua, &b);
		ua->signed_first = ua->state == USERAUTH_SERVICE_REQUESTED;
		r = r != 0 ? r : 1;
	}
	buf_clear(&mic);
	return r;
}

static int
keyex_input(struct userauth *ua, uint8_t type, struct rd body)
{
	(void)ua;
	(void)type;
	(void)body;
	return USERAUTH_UNKNOWN;
}

static char *
keyex_used(const struct userauth *ua)
{
	(void)ua;
	return xstrdup(METHOD);
}

const struct userauth_ops userauth_keyex = {
	.goes_first = true,
	.enabled = keyex_enabled,
	.next = keyex_next,
	.input = keyex_input,
	.used_key = keyex_used,
};
