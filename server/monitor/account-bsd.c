/* SPDX-License-Identifier: ISC */
/*
 * The superuser's getpwnam() has it all there. The entry says from when on a
 * password or an account is good no more, where a shadow file counts days.
 */
#include "server/monitor/account.h"

#include "config.h"

#ifndef HAVE_SHADOW_H

#include <sys/types.h>

#include <pwd.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

enum { DAY_S = 24 * 60 * 60 };

char *
account_hash(const char *name)
{
	const struct passwd *pw = getpwnam(name);

	return pw != NULL ? xstrdup(pw->pw_passwd) : NULL;
}

bool
account_hash_is_locked(const char *hash)
{
	return str_has_prefix(hash, "*LOCKED*");
}

/* The last day that is wholly before a time; -1: there is no such time. */
static long
day_before(time_t when)
{
	return when > 0 ? MAX((long)(when / DAY_S) - 1, 0L) : -1;
}

bool
account_rules(const char *name, struct account_rules *out)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		return false;
	/* A password is good for no day behind that one. */
	*out = (struct account_rules){ .changed = day_before(pw->pw_change),
		.max = 0,
		.inactive = -1,
		.expires = day_before(pw->pw_expire) };
	return true;
}

#endif
