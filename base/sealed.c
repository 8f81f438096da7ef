/* SPDX-License-Identifier: ISC */
#include "base/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/unnamed.h"
#include "compat/file.h"

#if defined(MFD_ALLOW_SEALING)
static int
in_memory(const char *name)
{
	return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* Files of a file system in memory know seals, too, and take none. */
static bool
takes_seals(int fd)
{
	return fcntl(fd, F_GET_SEALS) == 0;
}

static bool
has_seal(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals != -1 && (seals & F_SEAL_WRITE) != 0;
}

static int
seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_WRITE |
		    F_SEAL_SHRINK | F_SEAL_GROW);
}
#else
static int
in_memory(const char *name)
{
	(void)name;
	errno = ENOSYS;
	return -1;
}

static bool
takes_seals(int fd)
{
	(void)fd;
	return false;
}

static bool
has_seal(int fd)
{
	(void)fd;
	return false;
}

static int
seal(int fd)
{
	(void)fd;
	return -1;
}
#endif

int
sealed_new(const char *name)
{
	int fd = in_memory(name);

	return fd == -1 && errno == ENOSYS ? unnamed_file(name) : fd;
}

/* The file is opened again, for reading only, and by its mode it cannot be
 * opened for more but by the superuser. */
static int
reopen(int *fd)
{
	char name[32];
	int again;

	if (fchmod(*fd, S_IRUSR) == -1 || !file_name_of(*fd, name) ||
	    (again = open(name, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	fd_close(fd);
	*fd = again;
	return 0;
}

int
sealed_close(int *fd)
{
	return (takes_seals(*fd) ? seal(*fd) : reopen(fd)) == -1 ? ERR_SYSTEM :
								   0;
}

bool
sealed_is(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	return has_seal(fd) ||
	    (flags != -1 && (flags & O_ACCMODE) == O_RDONLY &&
		fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_nlink == 0);
}
