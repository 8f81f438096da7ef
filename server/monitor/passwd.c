/* SPDX-License-Identifier: ISC */
#include "server/monitor/passwd.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "compat/libc.h"
#include "server/monitor/account.h"
#include "server/monitor/decoy-hash.h"

enum { DAY_S = 24 * 60 * 60 };

static void
free_hash(char *hash)
{
	mem_free_secret(hash, hash != NULL ? strlen(hash) : 0);
}

bool
passwd_check(const struct user *u, const char *password, bool permit_empty)
{
	char *want = u->valid ? account_hash(u->name) : NULL;
	char got[LIBC_HASH_MAX];
	bool ok = false;

	if (want != NULL && want[0] == '\0') {
		ok = permit_empty && password[0] == '\0';
	} else if (want != NULL && decoy_is_hash(want)) {
		if (libc_hash_password(password, want, got) &&
		    strlen(got) == strlen(want) &&
		    (password[0] != '\0' || permit_empty))
			ok = mem_equal_ct(got, want, strlen(want));
		explicit_bzero(got, sizeof got);
	}
	free_hash(want);
	return ok;
}

unsigned
passwd_pam_hashes(bool permit_empty)
{
	return permit_empty ? 4 : 2;
}

void
passwd_equalise_cost(const struct decoys *decoys, const struct user *u,
    const struct passwd_effort *effort)
{
	char *own = u->valid ? account_hash(u->name) : NULL;
	unsigned times = MAX(effort->pam_hashes, 1U);
	unsigned done = effort->pam_hashes > 0 ?
	    decoys_done(decoys, own, effort->spent_us, times) : 1;
	char *password = decoy_password(effort->password_len);

	(void)decoys_spend(decoys, own, done, times, password);
	free(password);
	free_hash(own);
}

bool
passwd_is_locked(const struct user *u)
{
	char *hash = account_hash(u->name);
	bool locked = hash != NULL && account_hash_is_locked(hash);

	free_hash(hash);
	return locked;
}

static long
today(void)
{
	return (long)(time(NULL) / DAY_S);
}

bool
passwd_account_is_expired(const struct user *u)
{
	struct account_rules rules;

	return account_rules(u->name, &rules) && rules.expires >= 0 &&
	    today() > rules.expires;
}

enum passwd_age
passwd_age_of(const struct account_rules *rules, long day)
{
	long last;

	if (rules->changed == 0)
		return PASSWD_MUST_CHANGE;
	if (rules->changed < 0 || rules->max < 0)
		return PASSWD_FINE;
	last = rules->changed + rules->max;
	if (day <= last)
		return PASSWD_FINE;
	return rules->inactive >= 0 && day > last + rules->inactive ?
	    PASSWD_TOO_OLD : PASSWD_MUST_CHANGE;
}

enum passwd_age
passwd_age(const struct user *u)
{
	struct account_rules rules;

	return account_rules(u->name, &rules) ?
	    passwd_age_of(&rules, today()) :
	    PASSWD_FINE;
}
