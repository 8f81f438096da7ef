/* SPDX-License-Identifier: ISC */
#include "base/fd-limit.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit before;
static bool raised;

void
fd_limit_raise(void)
{
	struct rlimit now;

	if (raised || getrlimit(RLIMIT_NOFILE, &before) == -1)
		return;
	now = before;
	now.rlim_cur = now.rlim_max;
	raised = setrlimit(RLIMIT_NOFILE, &now) == 0;
}

void
fd_limit_restore(void)
{
	if (raised)
		(void)setrlimit(RLIMIT_NOFILE, &before);
	raised = false;
}
