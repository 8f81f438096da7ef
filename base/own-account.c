/* SPDX-License-Identifier: ISC */
#include "base/own-account.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool
is_ordinary(void)
{
	return getuid() != 0 && getuid() == geteuid() && getgid() == getegid();
}

static const char *
said(const char *variable)
{
	const char *value = is_ordinary() ? getenv(variable) : NULL;

	return value != NULL && *value != '\0' ? value : NULL;
}

const char *
own_account_name(void)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *name;

	if (pw != NULL)
		return pw->pw_name;
	return (name = said("USER")) != NULL ? name : said("LOGNAME");
}

const char *
own_account_home(void)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *home;

	if (pw != NULL)
		return pw->pw_dir;
	home = said("HOME");
	return home != NULL && *home == '/' ? home : NULL;
}
