/* SPDX-License-Identifier: ISC */
#include "regress/unit/gss-host.h"
#include "regress/unit/own-account.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gss/gss-wire.h"

/* ---- in place of gss/gss.c ---------------------------------------------- */

struct gss_library gss_library;

static struct gss_acceptor *
acceptor_new(void)
{
	struct gss_acceptor *a = xcalloc(1, sizeof *a);

	gss_library.opened++;
	gss_library.open++;
	return a;
}

int
gss_acceptor_new(struct gss_acceptor **out, const char *host, char **why)
{
	*why = NULL;
	snprintf(gss_library.host, sizeof gss_library.host, "%s",
	    host != NULL ? host : "");
	if (gss_library.no_key)
		return ERR_DENIED;
	*out = acceptor_new();
	return 0;
}

struct gss_acceptor *
gss_acceptor_done(void)
{
	struct gss_acceptor *a = acceptor_new();

	a->complete = true;
	return a;
}

void
gss_acceptor_free(struct gss_acceptor *a)
{
	gss_library.open -= a != NULL;
	free(a);
}

int
gss_acceptor_step(struct gss_acceptor *a, struct span token, struct buf *out,
    bool *complete)
{
	*complete = span_equals(token, "done") || span_equals(token, "done+");
	a->complete = *complete;
	if (span_equals(token, "done"))
		return 0;
	if (*complete || span_equals(token, "go on")) {
		buf_put(out, "answer", 6);
		return 0;
	}
	buf_put(out, "error", 5);
	return ERR_DENIED;
}

int
gss_acceptor_verify(struct gss_acceptor *a, struct span data, struct span mic)
{
	buf_reset(&gss_library.signed_data);
	buf_put(&gss_library.signed_data, data.p, data.len);
	return a->complete && span_equals(mic, "mic") ? 0 : ERR_DENIED;
}

int
gss_acceptor_sign(struct gss_acceptor *a, struct span data, struct buf *mic)
{
	(void)data;
	buf_put(mic, "mic", 3);
	return a->complete ? 0 : ERR_DENIED;
}

const char *
gss_acceptor_error(const struct gss_acceptor *a)
{
	(void)a;
	return "clock skew";
}

const char *
gss_acceptor_principal(const struct gss_acceptor *a)
{
	return a->complete ? "me@REALM" : NULL;
}

bool
gss_acceptor_may_be(const struct gss_acceptor *a, const char *user)
{
	gss_library.asked_for = user;
	return a->complete && !gss_library.not_the_user;
}

bool
gss_acceptor_has_credentials(const struct gss_acceptor *a)
{
	(void)a;
	return false;
}

int
gss_acceptor_store(struct gss_acceptor *a, const char *path)
{
	(void)a;
	(void)path;
	return ERR_NOT_FOUND;
}

/* ---- a login ------------------------------------------------------------ */

struct login login;
struct monitor_verdict verdict;
static const struct peer client_peer = { .address = "192.0.2.7",
	.host = "192.0.2.7" };

void
gss_login_methods(const char *available)
{
	auth_methods_clear(&login.methods);
	assert_int_equal(auth_methods_init(&login.methods,
			     &login.conf.login.authentication_methods,
			     available),
	    0);
}

int
gss_login_setup(const char *method)
{
	char *available;

	log_set_level(LOG_LVL_QUIET);
	gss_library = (struct gss_library){ 0 };
	login = (struct login){ .name = "name", .service = "service",
		.user = own_account(), .peer = &client_peer, .name_ok = true,
		.allowed = true,
		.session_id = { (const uint8_t *)"id", 2 } };
	server_conf_init(&login.conf);
	assert_int_equal(server_conf_finish(&login.conf), 0);
	login.conf.login.gssapi_authentication = 1;
	login.conf.login.permit_root_login = SERVER_ROOT_PROHIBIT_PASSWORD;
	permits_init_conf(&login.permits, &login.conf);
	xasprintf(&available, "publickey,%s", method);
	gss_login_methods(available);
	free(available);
	return 0;
}

int
gss_login_teardown(void **state)
{
	(void)state;
	gss_acceptor_free(login.gss);
	assert_int_equal(gss_library.open, 0);
	auth_methods_clear(&login.methods);
	permits_clear(&login.permits);
	buf_clear(&login.auth_info);
	buf_clear(&login.shown.proofs);
	buf_clear(&login.shown.info);
	server_conf_clear(&login.conf);
	user_free(login.user);
	buf_clear(&gss_library.signed_data);
	monitor_verdict_clear(&verdict);
	return 0;
}

void
gss_assert_signed(const char *method)
{
	struct buf want = { 0 };

	gss_wire_put_signed(&want, login.session_id, "name", "service",
	    method);
	assert_int_equal(buf_len(&want), buf_len(&gss_library.signed_data));
	assert_memory_equal(buf_data(&want),
	    buf_data(&gss_library.signed_data), buf_len(&want));
	buf_clear(&want);
}
