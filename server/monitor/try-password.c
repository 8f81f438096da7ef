/* SPDX-License-Identifier: ISC */
/* "password" (RFC 4252 section 8) in the monitor. */
#include <string.h>

#include "base/mem.h"
#include "server/monitor/decoy-hash.h"
#include "server/monitor/login-internal.h"

static void
try_password(struct login *l, const char *password, struct login_try *t)
{
	if (!auth_methods_may(&l->methods, t->method->name))
		return;
	/* A first empty password is logged as "none": clients send it to find
	 * out whether a password is needed. */
	if (password[0] == '\0' && !l->tried_empty) {
		l->tried_empty = true;
		t->shown = auth_method_table[AUTH_METHOD_NONE].name;
	}
	t->checked = t->has_secret = t->is_recorded = true;
	t->secret_len = strlen(password);
	t->since_us = decoy_cpu_us();
	t->ok = login_password_is_right(l, password, &t->must_change);
}

int
login_try_password(const struct login_request *q, struct login_try *t)
{
	struct span password = rd_string(q->in);
	bool usable = rd_bool(q->in);
	char *text;
	int r = rd_end(q->in);

	if (r == 0 && password.len > MONITOR_SECRET_MAX)
		r = ERR_LIMIT;
	if (r != 0)
		return r;
	/* No account has a password with a NUL, or with only a line feed. */
	text = usable ? span_dup(password) : NULL;
	if (text == NULL)
		text = xstrdup("\n");
	try_password(q->login, text, t);
	mem_free_secret(text, strlen(text));
	return 0;
}
