/* SPDX-License-Identifier: ISC */
/*
 * The sandbox for systems with neither libseccomp nor Capsicum, in place of
 * sandbox.c: only limits of resources.
 */
#include "server/auth/sandbox.h"

#include "config.h"

#if !defined(HAVE_SECCOMP) && !defined(HAVE_SYS_CAPSICUM_H)

#include <errno.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "compat/proc.h"

int
sandbox_enter(void)
{
	static const struct {
		int what;
		rlim_t value;
	} limits[] = { { RLIMIT_FSIZE, 0 }, { RLIMIT_NPROC, 0 },
		{ RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, 4 } };

	if (proc_no_new_privs() == -1 && errno != ENOSYS)
		return ERR_SYSTEM;
	(void)proc_hide();
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit rl = { limits[i].value, limits[i].value };

		if (setrlimit(limits[i].what, &rl) == -1)
			return ERR_SYSTEM;
	}
	return 0;
}

#endif
