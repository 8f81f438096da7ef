/* SPDX-License-Identifier: ISC */
/* To be preloaded: each stat of a name takes SLOW_STAT_US longer, as on a file
 * system of another machine. */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void
wait_for_it(void)
{
	const char *text = getenv("SLOW_STAT_US");
	long us = text != NULL ? atol(text) : 500;
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

int
fstatat(int at, const char *name, struct stat *st, int flags)
{
	if (name[0] != '\0')
		wait_for_it();
	return (int)syscall(SYS_newfstatat, at, name, st, flags);
}

int
fstatat64(int at, const char *name, struct stat64 *st, int flags)
{
	return fstatat(at, name, (struct stat *)st, flags);
}

int
lstat(const char *name, struct stat *st)
{
	return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

int
lstat64(const char *name, struct stat64 *st)
{
	return lstat(name, (struct stat *)st);
}

int
stat(const char *name, struct stat *st)
{
	return fstatat(AT_FDCWD, name, st, 0);
}

int
stat64(const char *name, struct stat64 *st)
{
	return stat(name, (struct stat *)st);
}
