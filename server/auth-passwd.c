/* SPDX-License-Identifier: ISC */
#include "server/auth-passwd.h"

#include <crypt.h>
#include <pwd.h>
#include <shadow.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"

enum { DAY_S = 24 * 60 * 60 };

/* A field that is a hash (and no "*", "!" or "x") begins like one. */
static bool
is_hash(const char *field)
{
	return field[0] == '$' || strlen(field) == 13;
}

/* Caller frees; NULL if there is none to be had. */
static char *
stored_hash(const char *name)
{
	const struct spwd *sp = getspnam(name);
	const struct passwd *pw;
	const char *field = sp != NULL ? sp->sp_pwdp : NULL;

	if (field == NULL && (pw = getpwnam(name)) != NULL)
		field = pw->pw_passwd;
	return field != NULL ? xstrdup(field) : NULL;
}

/* A setting to hash with where there is no hash: as the superuser's, so that
 * it costs what a real one does here. */
static char *
decoy_setting(void)
{
	char *hash = stored_hash("root");
	const char *made;

	if (hash != NULL && is_hash(hash))
		return hash;
	mem_free_secret(hash, hash != NULL ? strlen(hash) : 0);
	made = crypt_gensalt(NULL, 0, NULL, 0);
	return xstrdup(made != NULL ? made : "$6$decoydecoy$");
}

bool
passwd_check(const struct user *u, const char *password, bool permit_empty)
{
	char *want = u->valid ? stored_hash(u->name) : NULL;
	bool real = want != NULL && is_hash(want), ok = false;
	struct crypt_data *data = xcalloc(1, sizeof *data);
	const char *got;
	char *setting;

	if (want != NULL && want[0] == '\0')
		ok = permit_empty && password[0] == '\0';
	setting = real ? xstrdup(want) : decoy_setting();
	got = crypt_r(password, setting, data);
	if (real && got != NULL && strlen(got) == strlen(want) &&
	    (password[0] != '\0' || permit_empty))
		ok = mem_equal_ct(got, want, strlen(want));
	mem_free_secret(setting, strlen(setting));
	if (want != NULL)
		mem_free_secret(want, strlen(want));
	mem_free_secret(data, sizeof *data);
	return ok;
}

bool
passwd_is_locked(const struct user *u)
{
	char *hash = stored_hash(u->name);
	bool locked = hash != NULL && hash[0] == '!';

	if (hash != NULL)
		mem_free_secret(hash, strlen(hash));
	return locked;
}

bool
passwd_is_expired(const struct user *u, const char **why)
{
	const struct spwd *sp = getspnam(u->name);
	long today = (long)(time(NULL) / DAY_S);

	*why = NULL;
	if (sp == NULL)
		return false;
	if (sp->sp_expire > 0 && today > sp->sp_expire)
		*why = "account has expired";
	else if (sp->sp_lstchg == 0)
		*why = "password has to be changed";
	else if (sp->sp_lstchg > 0 && sp->sp_max >= 0 &&
	    today > sp->sp_lstchg + sp->sp_max)
		*why = "password has expired";
	return *why != NULL;
}
