/* SPDX-License-Identifier: ISC */
#include "xfer/whole-file.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/open-named.h"
#include "xfer/part-name.h"

struct whole_file {
	int dir, fd;
	char *part, *name; /* owned; in dir */
	int error; /* errno of the first write that failed; 0: none */
};

/* The errno if a name must not be replaced, or 0: the superuser could otherwise
 * put a file in the place of /dev/stdout. A name that is too long would show
 * only at the end, because that of the part is shortened. */
static int
refusal(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, 0) != 0)
		return errno == ENAMETOOLONG ? errno : 0;
	if (S_ISREG(st.st_mode))
		return 0;
	return S_ISDIR(st.st_mode) ? EISDIR : EOPNOTSUPP;
}

static int
create(struct whole_file *f, const char *path, mode_t mode)
{
	const char *name;
	int error;

	if ((f->dir = open_named_parent(path, &name)) < 0)
		return errno;
	if ((error = refusal(f->dir, name)) != 0)
		return error;
	f->name = strdup(name);
	f->part = xfer_part_name(name, XFER_PARTS_MAX + 1);
	if (f->name == NULL || f->part == NULL)
		return ENOMEM;
	f->fd = openat(f->dir, f->part, O_WRONLY | O_CREAT | O_EXCL |
		O_NOFOLLOW | O_CLOEXEC, mode);
	return f->fd < 0 ? errno : 0;
}

int
whole_file_create(struct whole_file **out, const char *path, mode_t mode)
{
	struct whole_file *f = calloc(1, sizeof *f);

	if (f == NULL) {
		errno = ENOMEM;
		return ERR_SYSTEM;
	}
	f->dir = f->fd = -1;
	if ((f->error = create(f, path, mode)) == 0) {
		*out = f;
		return 0;
	}
	return whole_file_end(f, false);
}

void
whole_file_write(struct whole_file *f, const void *p, size_t len)
{
	if (f->error == 0 && fd_write_all(f->fd, p, len) != 0)
		f->error = errno != 0 ? errno : EIO;
}

int
whole_file_end(struct whole_file *f, bool keep)
{
	int error;

	if (f == NULL)
		return 0;
	if (keep && f->error == 0 && (fsync(f->fd) != 0 ||
	    renameat(f->dir, f->part, f->dir, f->name) != 0))
		f->error = errno;
	if (f->fd >= 0 && (!keep || f->error != 0))
		(void)unlinkat(f->dir, f->part, 0);
	error = f->error;
	fd_close(&f->fd);
	fd_close(&f->dir);
	free(f->part);
	free(f->name);
	free(f);
	errno = error;
	return error != 0 ? ERR_SYSTEM : 0;
}
