/* SPDX-License-Identifier: ISC */
/*
 * A library for tests, to be preloaded: notes what would be on a disk, so that
 * a test can tell what a power cut at any moment would have left.
 *
 * HPN_POWERCUT=FILE   a line for each event, in the order in which they were:
 *	F INO DIGEST            a file was synced: a digest of its content then
 *	D INO NAME INO ...      a directory was synced: its names then
 *	U PATH                  this name is about to be removed
 *
 * A disk that keeps no more than that is the worst one there is.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name)                                           \
	static __typeof__(&name) real;                       \
	if (real == NULL)                                    \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void
note(const char *line, size_t len)
{
	const char *path = getenv("HPN_POWERCUT");
	int fd = path != NULL ?
	    open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;

	if (fd < 0)
		return;
	if (write(fd, line, len) != (ssize_t)len)
		abort();
	close(fd);
}

/* The descriptor may be for writing only. */
static int
reopen(int fd)
{
	char name[32];

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return open(name, O_RDONLY | O_CLOEXEC);
}

/* FNV-1a. */
static uint64_t
digest_of(int fd)
{
	uint64_t digest = 0xcbf29ce484222325;
	unsigned char block[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, block, sizeof block, at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			digest = (digest ^ block[i]) * 0x100000001b3;
		at += n;
	}
	return digest;
}

static void
note_file(int fd, const struct stat *st)
{
	char line[64];
	int own = reopen(fd), n;

	if (own < 0)
		abort();
	n = snprintf(line, sizeof line, "F %llu %llx\n",
	    (unsigned long long)st->st_ino,
	    (unsigned long long)digest_of(own));
	close(own);
	note(line, (size_t)n);
}

static void
note_dir(int fd, const struct stat *st)
{
	size_t room = 1 << 20, n;
	char *line = malloc(room);
	DIR *dir = fdopendir(reopen(fd));
	struct dirent *e;

	if (line == NULL || dir == NULL)
		abort();
	n = (size_t)snprintf(line, room, "D %llu",
	    (unsigned long long)st->st_ino);
	while ((e = readdir(dir)) != NULL)
		n += (size_t)snprintf(line + n, room - n, " %s %llu",
		    e->d_name, (unsigned long long)e->d_ino);
	line[n++] = '\n';
	closedir(dir);
	note(line, n);
	free(line);
}

static int
synced(int r, int fd)
{
	struct stat st;

	if (r != 0 || fstat(fd, &st) != 0)
		return r;
	if (S_ISREG(st.st_mode))
		note_file(fd, &st);
	else if (S_ISDIR(st.st_mode))
		note_dir(fd, &st);
	return r;
}

int
fsync(int fd)
{
	REAL(fsync);

	return synced(real(fd), fd);
}

int
fdatasync(int fd)
{
	REAL(fdatasync);

	return synced(real(fd), fd);
}

static void
note_unlink(int at, const char *name)
{
	char line[2 * PATH_MAX + 8], link[32], dir[PATH_MAX] = "";
	ssize_t n;
	int len;

	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	if (name[0] != '/') {
		n = at == AT_FDCWD ?
		    readlink("/proc/self/cwd", dir, sizeof dir - 1) :
		    readlink(link, dir, sizeof dir - 1);
		if (n < 0)
			abort();
		dir[n] = '\0';
	}
	len = snprintf(line, sizeof line, "U %s%s%s\n", dir,
	    name[0] != '/' ? "/" : "", name);
	note(line, (size_t)len);
}

int
unlink(const char *name)
{
	REAL(unlink);

	note_unlink(AT_FDCWD, name);
	return real(name);
}

int
unlinkat(int at, const char *name, int flags)
{
	REAL(unlinkat);

	if (flags == 0)
		note_unlink(at, name);
	return real(at, name, flags);
}
