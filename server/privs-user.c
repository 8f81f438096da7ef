/* SPDX-License-Identifier: ISC */
/* Acting as a user: for a while, or for ever. */
#include "server/privs-internal.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/ids.h"

static struct {
	bool entered;
	gid_t *groups;
	int n;
} before;

/* The groups of the user that was asked for last. They are kept because the
 * question can be slow, and is asked twice at least. */
static struct {
	char *name; /* of the user; NULL: no groups are known */
	gid_t gid, *groups;
	int n;
} known;

static void
remember_groups(const struct user *u)
{
	int n = getgroups(0, NULL);

	free(known.name);
	free(known.groups);
	known.name = NULL;
	known.groups = xcalloc((size_t)MAX(n, 0) + 1, sizeof(gid_t));
	known.n = getgroups(n, known.groups);
	if (n < 0 || known.n < 0)
		return;
	known.name = xstrdup(u->name);
	known.gid = u->gid;
}

static int
set_groups(const struct user *u)
{
	if (known.name != NULL && strcmp(known.name, u->name) == 0 &&
	    known.gid == u->gid)
		return setgroups((size_t)known.n, known.groups);
	if (initgroups(u->name, u->gid) == -1)
		return -1;
	remember_groups(u);
	return 0;
}

int
privs_enter(const struct user *u)
{
	ENSURE(!before.entered);
	if (geteuid() != 0)
		return u->valid && u->uid == geteuid() ? 0 : ERR_DENIED;
	if (!u->valid)
		return ERR_DENIED;
	before.n = getgroups(0, NULL);
	if (before.n < 0)
		return ERR_SYSTEM;
	before.groups = xcalloc((size_t)before.n + 1, sizeof(gid_t));
	if (getgroups(before.n, before.groups) == -1)
		fatal("getgroups: %s", strerror(errno));
	before.entered = true;
	if (set_groups(u) == -1 ||
	    setegid(u->gid) == -1 ||
	    seteuid(u->uid) == -1) {
		privs_leave();
		return ERR_SYSTEM;
	}
	return 0;
}

void
privs_leave(void)
{
	int saved = errno;

	if (!before.entered)
		return;
	if (seteuid(0) == -1 ||
	    setegid(0) == -1 ||
	    setgroups((size_t)before.n, before.groups) == -1)
		fatal("cannot return to the superuser's identity: %s",
		    strerror(errno));
	free(before.groups);
	before.groups = NULL;
	before.entered = false;
	errno = saved;
}

void
privs_set_groups(const struct user *u)
{
	ENSURE(u->valid && !before.entered);
	if (geteuid() == 0 && set_groups(u) == -1)
		fatal("groups of %s: %s", u->name, strerror(errno));
}

void
privs_become(const struct user *u)
{
	ENSURE(u->valid && !before.entered);
	if (geteuid() != 0) {
		if (u->uid != geteuid() || u->uid != getuid())
			fatal("cannot become user %s: not the superuser",
			    u->name);
		return;
	}
	if (ids_become(u->uid, u->gid) == -1)
		fatal("cannot become user %s (%u, group %u): %s", u->name,
		    (unsigned)u->uid, (unsigned)u->gid, strerror(errno));
	privs_verify_gone(u->uid, u->gid);
}
