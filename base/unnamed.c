/* SPDX-License-Identifier: ISC */
#include "base/unnamed.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

int
unnamed_file(const char *program)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	int fd;

	xasprintf(&path, "%s/%s.XXXXXX",
	    dir != NULL && dir[0] == '/' ? dir : "/tmp", program);
	fd = mkstemp(path);
	if (fd >= 0) {
		(void)unlink(path);
		if (fd_set_cloexec(fd, true) != 0)
			fd_close(&fd);
	}
	free(path);
	return fd;
}
