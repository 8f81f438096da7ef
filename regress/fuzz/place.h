/* SPDX-License-Identifier: ISC */
/*
 * A private directory that a fuzz target works in, with limits on what it
 * may write. What is fetched belongs into "in"; "out" can be sent; and nothing
 * may ever be in "victim", which links may lead to, nor may it change.
 */
#ifndef HPN_REGRESS_FUZZ_PLACE_H
#define HPN_REGRESS_FUZZ_PLACE_H

#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "compat/file.h"

static char place_path[] = "/tmp/fuzz-place-XXXXXX";
static int place_home = -1, place_fd = -1;
static struct stat place_out, place_victim; /* as they were made */

static inline void
place_remove(void)
{
	(void)unlinkat(place_fd, "out", 0);
	(void)unlinkat(place_fd, "victim", AT_REMOVEDIR);
	if (rmdir(place_path) != 0)
		perror(place_path);
}

static inline void
place_make(rlim_t file_bytes, off_t out_bytes)
{
	const struct rlimit rl = { file_bytes, file_bytes };
	int fd;

	log_set_level(LOG_LVL_QUIET);
	signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &rl);
	place_home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place_home < 0 || mkdtemp(place_path) == NULL)
		abort();
	place_fd = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(place_fd, "out", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, out_bytes) != 0 ||
	    mkdirat(place_fd, "victim", 0700) != 0 ||
	    fstat(fd, &place_out) != 0 ||
	    fstatat(place_fd, "victim", &place_victim, 0) != 0)
		abort();
	close(fd);
	atexit(place_remove);
}

/* Made when it is first entered. */
static inline void
place_enter(rlim_t file_bytes, off_t out_bytes)
{
	if (place_home < 0)
		place_make(file_bytes, out_bytes);
	if (fchdir(place_fd) != 0)
		abort();
}

static inline int
place_open_up(const char *path, const struct stat *st, int type,
    struct FTW *f)
{
	(void)st;
	(void)f;
	if (type == FTW_D || type == FTW_DNR)
		(void)chmod(path, 0700);
	return 0;
}

static inline int
place_remove_one(const char *path, const struct stat *st, int type,
    struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

/* It has the times, and so the content, and the mode that it had. */
static inline void
place_check(const char *name, const struct stat *was)
{
	struct stat st;

	if (fstatat(place_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    st.st_ino != was->st_ino || st.st_mode != was->st_mode ||
	    st.st_size != was->st_size || st.st_nlink != was->st_nlink ||
	    st.FILE_MTIME.tv_sec != was->FILE_MTIME.tv_sec ||
	    st.FILE_MTIME.tv_nsec != was->FILE_MTIME.tv_nsec)
		abort();
}

/* Nothing is beside "in", but what was; what is in "in" goes. */
static inline void
place_leave(void)
{
	DIR *d = opendir(".");
	const struct dirent *de;

	if (d == NULL)
		abort();
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] != '.' && strcmp(de->d_name, "in") != 0 &&
		    strcmp(de->d_name, "out") != 0 &&
		    strcmp(de->d_name, "victim") != 0)
			abort();
	closedir(d);
	place_check("out", &place_out);
	place_check("victim", &place_victim);
	(void)nftw("in", place_open_up, 16, FTW_PHYS);
	(void)nftw("in", place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (fchdir(place_home) != 0)
		abort();
}

#endif
