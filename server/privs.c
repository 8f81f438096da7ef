/* SPDX-License-Identifier: ISC */
#include "server/privs-internal.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "compat/ids.h"

void
privs_verify_gone(uid_t uid, gid_t gid)
{
	if (!ids_are(uid, gid))
		fatal("identity was not given up");
	if (uid != 0 &&
	    (setuid(0) == 0 || seteuid(0) == 0 ||
		(gid != 0 && (setgid(0) == 0 || setegid(0) == 0)) ||
		setgroups(0, NULL) == 0))
		fatal("identity could be taken back");
}

void
privs_become_ids(uid_t uid, gid_t gid)
{
	if (setgroups(1, &gid) == -1)
		fatal("setgroups: %s", strerror(errno));
	if (ids_become(uid, gid) == -1)
		fatal("cannot become uid %u: %s", (unsigned)uid,
		    strerror(errno));
	privs_verify_gone(uid, gid);
}
