/* SPDX-License-Identifier: ISC */
/*
 * "none" in the monitor: asks which methods there are, and stands for an empty
 * password where those are let in.
 */
#include "server/monitor/decoy-hash.h"
#include "server/monitor/login-internal.h"

static bool
may_be_empty(const struct login *l)
{
	return l->conf.login.permit_empty_passwords &&
	    l->conf.login.password_authentication;
}

/* True: the empty password is right, and there is a verdict. Where any method
 * does, this was a password; AuthenticationMethods means it by "none". */
static bool
try_empty_password(const struct login_request *q, struct monitor_verdict *v)
{
	struct login *l = q->login;
	struct login_try t = {
		.method = l->methods.any ?
		    &auth_method_table[AUTH_METHOD_PASSWORD] :
		    q->method,
		.shown = q->method->name,
	};
	uint64_t since_us = decoy_cpu_us();

	if (!may_be_empty(l) || !auth_methods_may(&l->methods, t.method->name))
		return false;
	l->checked = true;
	if (!login_password_is_right(l, "", &t.must_change)) {
		login_pay_for_failure(l, 0, since_us);
		return false;
	}
	t.ok = true;
	login_conclude(l, &t, NULL, v);
	return true;
}

int
login_try_none(const struct login_request *q, struct monitor_verdict *v)
{
	struct login *l = q->login;
	int r = rd_end(q->in);

	if (r != 0 || try_empty_password(q, v))
		return r;
	v->result = MONITOR_FAILURE;
	v->counts = true;
	v->methods = auth_methods_next(&l->methods);
	/* The first one only asks for the methods. None is logged: what counts
	 * lines of failures would count every login as one. */
	if (l->asked_none)
		l->failures++;
	l->asked_none = true;
	return 0;
}
