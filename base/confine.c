/* SPDX-License-Identifier: ISC */
#include "base/confine.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compat/proc.h"

enum {
	FILES_MAX = 128,
	FILE_BYTES_MAX = 16 * 1024 * 1024,
};

/* Lowers a limit of this process; a lower limit stays as it is. */
static void
lower(int what, rlim_t to)
{
	struct rlimit l;

	if (getrlimit(what, &l) == -1)
		return;
	l.rlim_cur = l.rlim_max = l.rlim_max < to ? l.rlim_max : to;
	(void)!setrlimit(what, &l);
}

void
confine_process(void)
{
	(void)setsid();
	(void)unsetenv("SSH_AUTH_SOCK");
	lower(RLIMIT_NOFILE, FILES_MAX);
	lower(RLIMIT_FSIZE, FILE_BYTES_MAX);
	(void)proc_no_new_privs();
}
