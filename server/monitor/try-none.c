/* SPDX-License-Identifier: ISC */
/*
 * "none" in the monitor: the client asks which methods there are. It also logs
 * in users with an empty password where that is allowed.
 */
#include "server/monitor/decoy-hash.h"
#include "server/monitor/login-internal.h"

static bool
may_be_empty(const struct login *l)
{
	return l->conf.login.permit_empty_passwords &&
	    l->conf.login.password_authentication;
}

/* Tries an empty password. It counts as the method "password" if any method
 * alone is enough. Otherwise it counts as "none", because this is its name in
 * the lists of AuthenticationMethods. */
static void
try_empty_password(struct login *l, struct login_try *t)
{
	const struct auth_method *m = l->methods.any ?
	    &auth_method_table[AUTH_METHOD_PASSWORD] : t->method;

	if (!may_be_empty(l) || !auth_methods_may(&l->methods, m->name))
		return;
	t->checked = true;
	t->since_us = decoy_cpu_us();
	if (!login_password_is_right(l, "", &t->must_change)) {
		t->has_secret = true;
		return;
	}
	t->shown = t->method->name;
	t->method = m;
	t->outcome = LOGIN_TRIED;
	t->ok = true;
}

int
login_try_none(const struct login_request *q, struct login_try *t)
{
	int r = rd_end(q->in);

	t->outcome = LOGIN_ASKED;
	if (r == 0)
		try_empty_password(q->login, t);
	return r;
}
