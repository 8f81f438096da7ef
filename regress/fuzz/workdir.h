/* SPDX-License-Identifier: ISC */
/*
 * A private directory that a fuzz target works in, with limits on what it
 * may write. What is fetched belongs into "in"; "out" can be sent; and nothing
 * may ever be in "victim", which links may lead to, nor may it change.
 */
#ifndef HPN_REGRESS_FUZZ_WORKDIR_H
#define HPN_REGRESS_FUZZ_WORKDIR_H

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

static char workdir_path[] = "/tmp/fuzz-place-XXXXXX";
static int workdir_home = -1, workdir_fd = -1;
static struct stat workdir_out, workdir_victim; /* as they were made */

static inline void
workdir_remove(void)
{
	(void)unlinkat(workdir_fd, "out", 0);
	(void)unlinkat(workdir_fd, "victim", AT_REMOVEDIR);
	if (rmdir(workdir_path) != 0)
		perror(workdir_path);
}

static inline void
workdir_make(rlim_t file_bytes, off_t out_bytes)
{
	const struct rlimit rl = { file_bytes, file_bytes };
	int fd;

	log_set_level(LOG_LVL_QUIET);
	signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &rl);
	workdir_home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (workdir_home < 0 || mkdtemp(workdir_path) == NULL)
		abort();
	workdir_fd = open(workdir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(workdir_fd, "out", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, out_bytes) != 0 ||
	    mkdirat(workdir_fd, "victim", 0700) != 0 ||
	    fstat(fd, &workdir_out) != 0 ||
	    fstatat(workdir_fd, "victim", &workdir_victim, 0) != 0)
		abort();
	close(fd);
	atexit(workdir_remove);
}

/* Made when it is first entered. */
static inline void
workdir_enter(rlim_t file_bytes, off_t out_bytes)
{
	if (workdir_home < 0)
		workdir_make(file_bytes, out_bytes);
	if (fchdir(workdir_fd) != 0)
		abort();
}

static inline int
workdir_open_up(const char *path, const struct stat *st, int type,
    struct FTW *f)
{
	(void)st;
	(void)f;
	if (type == FTW_D || type == FTW_DNR)
		(void)chmod(path, 0700);
	return 0;
}

static inline int
workdir_remove_one(const char *path, const struct stat *st, int type,
    struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

/* It has the times, and so the content, and the mode that it had. */
static inline void
workdir_check(const char *name, const struct stat *was)
{
	struct stat st;

	if (fstatat(workdir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    st.st_ino != was->st_ino || st.st_mode != was->st_mode ||
	    st.st_size != was->st_size || st.st_nlink != was->st_nlink ||
	    st.FILE_MTIME.tv_sec != was->FILE_MTIME.tv_sec ||
	    st.FILE_MTIME.tv_nsec != was->FILE_MTIME.tv_nsec)
		abort();
}

/* Nothing is beside "in", but what was; what is in "in" goes. */
static inline void
workdir_leave(void)
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
	workdir_check("out", &workdir_out);
	workdir_check("victim", &workdir_victim);
	(void)nftw("in", workdir_open_up, 16, FTW_PHYS);
	(void)nftw("in", workdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (fchdir(workdir_home) != 0)
		abort();
}

#endif
