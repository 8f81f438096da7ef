/* SPDX-License-Identifier: ISC */
#include "compat/ids.h"

#include <grp.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

int
ids_become(uid_t uid, gid_t gid)
{
#if defined(__APPLE__)
	/* Of the superuser these set all three. Another process sets its
	 * effective ids only, which ids_are() sees. */
	return setgid(gid) == -1 || setuid(uid) == -1 ? -1 : 0;
#else
	return setresgid(gid, gid, gid) == -1 ||
		setresuid(uid, uid, uid) == -1 ? -1 : 0;
#endif
}

bool
ids_are(uid_t uid, gid_t gid)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

#if defined(__APPLE__)
	/* The saved ids are in the kernel's record of the process only. */
	int name[] = { CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid() };
	struct kinfo_proc record;
	size_t len = sizeof record;

	if (sysctl(name, 4, &record, &len, NULL, 0) == -1 ||
	    len != sizeof record)
		return false;
	r = getuid();
	e = geteuid();
	s = record.kp_eproc.e_pcred.p_svuid;
	rg = getgid();
	eg = getegid();
	sg = record.kp_eproc.e_pcred.p_svgid;
#else
	if (getresuid(&r, &e, &s) == -1 || getresgid(&rg, &eg, &sg) == -1)
		return false;
#endif
	return r == uid && e == uid && s == uid && rg == gid && eg == gid &&
	    sg == gid;
}

int
ids_group_list(const char *user, gid_t gid, gid_t *groups, int *n)
{
#if defined(__APPLE__)
	return getgrouplist(user, (int)gid, (int *)groups, n);
#else
	return getgrouplist(user, gid, groups, n);
#endif
}
