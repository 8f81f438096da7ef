/* SPDX-License-Identifier: ISC */
/*
 * A library for tests, to be preloaded: files whose names end in ".tape" look
 * as on a file system that keeps them on a tape. They have no blocks, and the
 * file system says that it is Lustre.
 *
 * HPN_TAPE=FILE   the path of each of them that is opened to be read
 */
#define _GNU_SOURCE
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name)                                           \
	static __typeof__(&name) real;                       \
	if (real == NULL)                                    \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

enum { LUSTRE = 0x0bd00bd0 };

static int
is_tape(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".tape") == 0;
}

static void
note(int fd)
{
	const char *path = getenv("HPN_TAPE");
	FILE *out = path != NULL && fd >= 0 ? fopen(path, "ae") : NULL;
	char link[32], name[PATH_MAX];
	ssize_t len;

	if (out == NULL)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof name);
	fprintf(out, "%.*s\n", len > 0 ? (int)len : 0, name);
	fclose(out);
}

int
fstatat(int at, const char *name, struct stat *st, int flags)
{
	REAL(fstatat);
	int r = real(at, name, st, flags);

	if (r == 0 && is_tape(name) && S_ISREG(st->st_mode))
		st->st_blocks = 0;
	return r;
}

int
fstatat64(int at, const char *name, struct stat64 *st, int flags)
{
	REAL(fstatat64);
	int r = real(at, name, st, flags);

	if (r == 0 && is_tape(name) && S_ISREG(st->st_mode))
		st->st_blocks = 0;
	return r;
}

int
fstatfs(int fd, struct statfs *fs)
{
	REAL(fstatfs);
	int r = real(fd, fs);

	fs->f_type = LUSTRE;
	return r;
}

int
fstatfs64(int fd, struct statfs64 *fs)
{
	REAL(fstatfs64);
	int r = real(fd, fs);

	fs->f_type = LUSTRE;
	return r;
}

static int
open_one(int at, const char *name, int flags, mode_t mode)
{
	static int (*real)(int, const char *, int, ...);
	int fd;

	if (real == NULL)
		real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT,
		    "openat");
	fd = real(at, name, flags, mode);
	if (is_tape(name) && !(flags & O_PATH) &&
	    (flags & O_ACCMODE) == O_RDONLY)
		note(fd);
	return fd;
}

/* openat2 has no function of the library. */
long
syscall(long number, ...)
{
	static long (*real)(long, ...);
	const struct open_how *how;
	const char *path;
	long a[6], r;
	va_list args;

	if (real == NULL)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	path = (const char *)a[1];
	how = (const struct open_how *)a[2];
	r = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_openat2 && is_tape(path) &&
	    !(how->flags & O_PATH) && (how->flags & O_ACCMODE) == O_RDONLY)
		note((int)r);
	return r;
}

#define OPEN(name, at, ...)                                  \
	int name(__VA_ARGS__, int flags, ...)                \
	{                                                    \
		va_list args;                                \
		mode_t mode = 0;                             \
							     \
		va_start(args, flags);                       \
		if (flags & (O_CREAT | O_TMPFILE))           \
			mode = va_arg(args, mode_t);         \
		va_end(args);                                \
		return open_one(at, path, flags, mode);      \
	}

OPEN(openat, at, int at, const char *path)
OPEN(openat64, at, int at, const char *path)
OPEN(open, AT_FDCWD, const char *path)
OPEN(open64, AT_FDCWD, const char *path)
