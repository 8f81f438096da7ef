/* SPDX-License-Identifier: ISC */
/* The account that runs the tests. */
#ifndef HPN_REGRESS_UNIT_OWN_ACCOUNT_H
#define HPN_REGRESS_UNIT_OWN_ACCOUNT_H

#include <pwd.h>
#include <unistd.h>

#include "server/user.h"

/* The caller frees it. */
static inline struct user *
own_account(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	return user_lookup(pw != NULL ? pw->pw_name : "");
}

#endif
