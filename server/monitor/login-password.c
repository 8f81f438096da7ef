/* SPDX-License-Identifier: ISC */
/* Decides whether a password is right, and makes a wrong one take as long for
 * every user. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/login-rules.h"
#include "server/monitor/passwd.h"

/* Whether the password is not too old to log in with. *must_change: it has
 * expired, but may be changed. With PAM this is checked together with the
 * account. */
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

/* Whether the configuration lets only Kerberos check passwords, which this
 * server does not support. */
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
	pam_use_decoys(l->pam, login_rules_hopeless(l, m));
	return pam_check_password(l->pam, password, empty_ok) == 0;
}

/* Waits as long as modules asked for, but not beyond LoginGraceTime. This is
 * done in the monitor, because an hpnsshd-auth that was taken over would not
 * wait. */
static void
wait_for_modules(const struct login *l)
{
	uint64_t until_us = pam_delay_until_us(l->pam), now_us = clock_us();

	if (l->deadline_ms != 0)
		until_us = MIN(until_us, l->deadline_ms * 1000);
	if (until_us > now_us)
		clock_sleep_us(until_us - now_us);
}

void
login_pay_for_failure(struct login *l, const struct login_try *t)
{
	const struct passwd_effort effort = { .password_len = t->secret_len,
		.pam_hashes = l->pam == NULL ? 0 :
		    passwd_pam_hashes(l->conf.login.permit_empty_passwords),
		.spent_us = decoy_cpu_us() - t->since_us };

	passwd_equalise_cost(&l->state->decoys, l->user, &effort);
	if (l->pam != NULL)
		wait_for_modules(l);
}

/* With PAM a password is hashed more than once, and a Match block may turn PAM
 * on for some users. On a busy machine a hash takes longer, so the time to wait
 * is stretched. */
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
