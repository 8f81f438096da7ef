/* SPDX-License-Identifier: ISC */
#include "server/monitor/passwd.h"

#include <crypt.h>
#include <pwd.h>
#include <shadow.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "server/monitor/decoy-hash.h"

enum {
	DAY_S = 24 * 60 * 60,
	LINE_MAX_BYTES = 16 * 1024, /* of an account */
};

/* Caller frees; NULL if there is none to be had. */
static char *
stored_hash(const char *name)
{
	char *line = xcalloc(1, LINE_MAX_BYTES), *hash = NULL;
	struct spwd entry, *sp = NULL;
	const struct passwd *pw;

	if (getspnam_r(name, &entry, line, LINE_MAX_BYTES, &sp) == 0 &&
	    sp != NULL)
		hash = xstrdup(sp->sp_pwdp);
	else if ((pw = getpwnam(name)) != NULL)
		hash = xstrdup(pw->pw_passwd);
	/* It may be another account's: the last that was looked at. */
	mem_free_secret(line, LINE_MAX_BYTES);
	return hash;
}

static void
free_hash(char *hash)
{
	mem_free_secret(hash, hash != NULL ? strlen(hash) : 0);
}

bool
passwd_check(const struct user *u, const char *password, bool permit_empty)
{
	char *want = u->valid ? stored_hash(u->name) : NULL;
	struct crypt_data *data;
	const char *got;
	bool ok = false;

	if (want != NULL && want[0] == '\0') {
		ok = permit_empty && password[0] == '\0';
	} else if (want != NULL && decoy_is_hash(want)) {
		data = xcalloc(1, sizeof *data);
		got = crypt_r(password, want, data);
		if (got != NULL && strlen(got) == strlen(want) &&
		    (password[0] != '\0' || permit_empty))
			ok = mem_equal_ct(got, want, strlen(want));
		mem_free_secret(data, sizeof *data);
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
	char *own = u->valid ? stored_hash(u->name) : NULL;
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
	char *hash = stored_hash(u->name);
	bool locked = hash != NULL && hash[0] == '!';

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
	const struct spwd *sp = getspnam(u->name);

	return sp != NULL && sp->sp_expire > 0 && today() > sp->sp_expire;
}

enum passwd_age
passwd_age_of(const struct spwd *sp, long day)
{
	long last;

	if (sp->sp_lstchg == 0)
		return PASSWD_MUST_CHANGE;
	if (sp->sp_lstchg < 0 || sp->sp_max < 0)
		return PASSWD_FINE;
	last = sp->sp_lstchg + sp->sp_max;
	if (day <= last)
		return PASSWD_FINE;
	return sp->sp_inact >= 0 && day > last + sp->sp_inact ?
	    PASSWD_TOO_OLD : PASSWD_MUST_CHANGE;
}

enum passwd_age
passwd_age(const struct user *u)
{
	const struct spwd *sp = getspnam(u->name);

	return sp != NULL ? passwd_age_of(sp, today()) : PASSWD_FINE;
}
