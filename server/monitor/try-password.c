/* SPDX-License-Identifier: ISC */
/* "password" (RFC 4252 section 8) in the monitor. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/passwd.h"

/* With PAM the age of a password is checked together with the account. */
static bool
is_young_enough(const struct login *l, bool *must_change)
{
	enum passwd_age age = passwd_age(l->user);

	if (age == PASSWD_TOO_OLD)
		log_info("User %s from %s not allowed because password "
			 "expired too long ago",
		    l->user->name, l->peer->host);
	*must_change = age == PASSWD_MUST_CHANGE;
	return age != PASSWD_TOO_OLD;
}

/* Only Kerberos may say that it is right, and nobody asks it here. */
static bool
is_for_kerberos_alone(const struct login *l)
{
	if (!l->conf.login.kerberos_authentication ||
	    l->conf.login.kerberos_or_local_passwd)
		return false;
	log_error("Passwords are not checked by Kerberos, and KerberosOrLocal"
		  "Passwd allows nothing else");
	return true;
}

bool
login_password_is_right(struct login *l, const char *password,
    bool *must_change)
{
	const struct auth_method *m = &auth_method_table[AUTH_METHOD_PASSWORD];
	bool empty_ok = l->conf.login.permit_empty_passwords;

	*must_change = false;
	if (is_for_kerberos_alone(l))
		return false;
	if (l->pam == NULL)
		return passwd_check(l->user, password, empty_ok) &&
		    is_young_enough(l, must_change);
	pam_use_decoys(l->pam, login_method_is_hopeless(l, m));
	return pam_check_password(l->pam, password, empty_ok) == 0;
}

/* Here, and not in the process that talks to the client, as whoever took that
 * one over would not wait. It ends with LoginGraceTime. */
static void
wait_for_modules(const struct login *l)
{
	uint64_t until_us = pam_delay_until_us(l->pam), now_us = clock_us();
	struct timespec ts;

	if (l->deadline_ms != 0)
		until_us = MIN(until_us, l->deadline_ms * 1000);
	if (until_us <= now_us)
		return;
	ts.tv_sec = (time_t)((until_us - now_us) / 1000000);
	ts.tv_nsec = (long)((until_us - now_us) % 1000000) * 1000;
	(void)nanosleep(&ts, NULL);
}

void
login_pay_for_failure(struct login *l, size_t secret_len, uint64_t since_us)
{
	const struct passwd_effort effort = { .password_len = secret_len,
		.pam_hashes = l->pam == NULL ? 0 :
		    passwd_pam_hashes(l->conf.login.permit_empty_passwords),
		.spent_us = decoy_cpu_us() - since_us };

	passwd_equalise_cost(&l->state->decoys, l->user, &effort);
	if (l->pam != NULL)
		wait_for_modules(l);
}

/* Modules hash more than once, and Match may have a user go to them. On a busy
 * machine a hash takes longer, and who only waits for it has to wait longer. */
uint64_t
login_floor_us(const struct server_state *state)
{
	const struct server_conf *c = &state->conf;
	bool by_pam = c->login.use_pam || server_conf_has_match(c);
	unsigned times = by_pam ?
	    passwd_pam_hashes(c->login.permit_empty_passwords) : 1;
	double load;

	if (getloadavg(&load, 1) != 1)
		load = 0;
	return decoys_floor_us(&state->decoys, times,
	    decoy_stretch(load, sysconf(_SC_NPROCESSORS_ONLN)));
}

static void
try_password(const struct login_request *q, const char *password,
    struct monitor_verdict *v)
{
	struct login *l = q->login;
	struct login_try t = { .method = q->method };
	bool may = auth_methods_may(&l->methods, q->method->name);
	uint64_t since_us = decoy_cpu_us();

	if (may) {
		/* The first empty one only asks if there is a password. */
		if (password[0] == '\0' && !l->tried_empty) {
			l->tried_empty = true;
			t.shown = auth_method_table[AUTH_METHOD_NONE].name;
		}
		l->checked = true;
		t.ok = login_password_is_right(l, password, &t.must_change);
	}
	login_conclude(l, &t, NULL, v);
	if (may && !t.ok) {
		login_pay_for_failure(l, strlen(password), since_us);
		login_record_failure(l);
	}
}

int
login_try_password(const struct login_request *q, struct monitor_verdict *v)
{
	struct span password = rd_string(q->in);
	bool usable = rd_bool(q->in);
	char *text;
	int r = rd_end(q->in);

	if (r == 0 && password.len > MONITOR_SECRET_MAX)
		r = ERR_LIMIT;
	if (r != 0)
		return r;
	/* A password with a NUL in it is nobody's. */
	text = usable ? span_dup(password) : NULL;
	if (text == NULL)
		text = xstrdup("\n");
	try_password(q, text, v);
	mem_free_secret(text, strlen(text));
	return 0;
}
