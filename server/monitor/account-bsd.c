/* SPDX-License-Identifier: ISC */
/*
 * Accounts of BSD systems: for the superuser, getpwnam() returns the hash and
 * the dates too. It gives the time from which on a password or an account is no
 * longer valid, while a shadow file counts days.
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

/* The last day that is completely before the time when. -1: when is 0, that is,
 * there is no limit. */
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
	/* max 0: the password is valid up to the day `changed`, and not
	 * longer. */
	*out = (struct account_rules){ .changed = day_before(pw->pw_change),
		.max = 0,
		.inactive = -1,
		.expires = day_before(pw->pw_expire) };
	return true;
}

#endif
