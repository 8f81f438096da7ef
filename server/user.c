/* SPDX-License-Identifier: ISC */
#include "server/user.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/user-groups.h"

static struct user *
from_passwd(const struct passwd *pw)
{
	struct user *u = xcalloc(1, sizeof *u);

	u->name = xstrdup(pw->pw_name);
	u->home = xstrdup(pw->pw_dir);
	u->shell = xstrdup(pw->pw_shell[0] != '\0' ? pw->pw_shell : "/bin/sh");
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	u->valid = true;
	return u;
}

static struct user *
make_up(const char *name)
{
	struct user *u = xcalloc(1, sizeof *u);

	u->name = xstrdup(name);
	u->home = xstrdup("/nonexistent");
	u->shell = xstrdup("/bin/sh");
	u->uid = (uid_t)-1;
	u->gid = (gid_t)-1;
	return u;
}

struct user *
user_lookup(const char *name)
{
	/* A name of USER_NAME_MAX bytes may be the beginning of a longer one,
	 * which was cut off: it must not find an account. */
	struct passwd *pw =
	    strlen(name) < USER_NAME_MAX ? getpwnam(name) : NULL;

	return pw != NULL ? from_passwd(pw) : make_up(name);
}

void
user_free(struct user *u)
{
	if (u == NULL)
		return;
	free(u->name);
	free(u->home);
	free(u->shell);
	free(u);
}

int
user_group_names(const struct user *u, struct strlist *names)
{
	return u->valid ? user_groups(u->name, u->gid, names) : 0;
}

bool
user_shell_ok(const struct user *u, const char **why)
{
	struct stat st;

	*why = NULL;
	if (stat(u->shell, &st) == -1)
		*why = "does not exist";
	else if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		*why = "is not executable";
	return *why == NULL;
}

char *
user_path(const struct user *u, const char *path)
{
	char *full;

	if (path[0] == '/')
		return xstrdup(path);
	if (str_has_prefix(path, "~/"))
		path += 2;
	xasprintf(&full, "%s/%s", u->home, path);
	return full;
}
