/* SPDX-License-Identifier: ISC */
#include "server/events/metrics-text.h"

#include <string.h>

static void
head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
	    type);
}

static void
number(struct buf *out, const char *name, const char *help, uint64_t n)
{
	head(out, name, "gauge", help);
	buf_printf(out, "%s %llu\n", name, (unsigned long long)n);
}

static void
logins(struct buf *out, const struct counters_now *now)
{
	enum auth_method_id m;
	enum login_result r;

	head(out, COUNTER_LOGIN_NAME, "counter",
	    "Tries to log in, by method and result.");
	for (int i = 0; i < AUTH_METHOD_COUNT * LOGIN_RESULT_COUNT; i++) {
		m = (enum auth_method_id)(i / LOGIN_RESULT_COUNT);
		r = (enum login_result)(i % LOGIN_RESULT_COUNT);
		buf_printf(out, "%s{method=\"%s\",result=\"%s\"} %llu\n",
		    COUNTER_LOGIN_NAME, auth_method_table[m].name,
		    login_result_names[r],
		    (unsigned long long)
			now->total[counter_of_login(m, r)]);
	}
}

static void
row(struct buf *out, const struct counter_row *r, uint64_t n)
{
	if (r->label != NULL)
		buf_printf(out, "%s{%s=\"%s\"} %llu\n", r->name, r->label,
		    r->value, (unsigned long long)n);
	else
		buf_printf(out, "%s %llu\n", r->name, (unsigned long long)n);
}

void
metrics_text(struct buf *out, const struct counters_now *now)
{
	const struct counter_row *r;

	number(out, "hpnsshd_connections", "Connections that are open.",
	    now->connections);
	number(out, "hpnsshd_sessions", "Sessions that are open.",
	    now->sessions);
	number(out, "hpnsshd_users", "Different users who are logged in.",
	    now->users);
	number(out, "hpnsshd_counters_start_time_seconds",
	    "When the counters began at 0.", now->since);
	logins(out, now);
	for (size_t i = 0; i < counter_row_count; i++) {
		r = &counter_rows[i];
		if (i == 0 || strcmp(r->name, counter_rows[i - 1].name) != 0)
			head(out, r->name, "counter", r->help);
		row(out, r, now->total[r->counter]);
	}
}
