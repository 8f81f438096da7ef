/* SPDX-License-Identifier: ISC */
/* Accounts whose passwords are in a shadow file. */
#include "server/monitor/account.h"

#include "config.h"

#ifdef HAVE_SHADOW_H

#include <pwd.h>
#include <shadow.h>

#include "base/mem.h"

enum { LINE_MAX_BYTES = 16 * 1024 /* bytes of an account's line */ };

char *
account_hash(const char *name)
{
	char *line = xcalloc(1, LINE_MAX_BYTES), *hash = NULL;
	struct spwd entry, *sp = NULL;
	const struct passwd *pw;

	if (getspnam_r(name, &entry, line, LINE_MAX_BYTES, &sp) == 0 &&
	    sp != NULL)
		hash = xstrdup(sp->sp_pwdp);
	else if ((pw = getpwnam(name)) != NULL)
		hash = xstrdup(pw->pw_passwd);
	/* Wiped: it may have a hash, even of another account, whose line was
	 * read last. */
	mem_free_secret(line, LINE_MAX_BYTES);
	return hash;
}

bool
account_hash_is_locked(const char *hash)
{
	return hash[0] == '!';
}

bool
account_rules(const char *name, struct account_rules *out)
{
	const struct spwd *sp = getspnam(name);

	if (sp == NULL)
		return false;
	*out = (struct account_rules){ .changed = sp->sp_lstchg,
		.max = sp->sp_max,
		.inactive = sp->sp_inact,
		.expires = sp->sp_expire > 0 ? sp->sp_expire : -1 };
	return true;
}

#endif
