/* SPDX-License-Identifier: ISC */
#include "server/monitor/delegated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "gss/gss.h"
#include "server/monitor/login.h"
#include "server/privs.h"

static const char variable[] = "KRB5CCNAME";

/* Makes an empty file that only the user can read. path is a template of
 * mkstemp(3). */
static int
make_file(char *path)
{
	int fd = mkstemp(path);

	if (fd == -1) {
		log_error("%s: %s", path, strerror(errno));
		return ERR_SYSTEM;
	}
	close(fd);
	return 0;
}

/* Writes the delegated credentials to a new file, with the user's rights. path
 * is a template of mkstemp(3). True: path names that file. */
static bool
write_file(const struct login *l, struct gss_acceptor *client, char *path)
{
	if (make_file(path) != 0)
		return false;
	if (gss_acceptor_store(client, path) == 0)
		return true;
	log_error("cannot store the credentials of user %s: %s",
	    l->user->name, gss_acceptor_error(client));
	(void)unlink(path);
	return false;
}

static bool
write_as_user(struct login *l, char *path)
{
	bool ok;

	if (privs_enter(l->user) != 0)
		return false;
	ok = write_file(l, l->gss, path);
	privs_leave();
	return ok;
}

static void
store(struct login *l)
{
	char *path, *name;

	xasprintf(&path, "/tmp/krb5cc_%u_XXXXXX", (unsigned)l->user->uid);
	if (!write_as_user(l, path)) {
		free(path);
		return;
	}
	l->ccache = path;
	if (l->pam == NULL)
		return;
	xasprintf(&name, "FILE:%s", path);
	pam_set_variable(l->pam, variable, name);
	free(name);
}

void
delegated_store(struct login *l)
{
	if (l->gss == NULL)
		return;
	if (l->conf.login.gssapi_delegate_credentials &&
	    gss_acceptor_has_credentials(l->gss))
		store(l);
	l->principal = xstrdup(gss_acceptor_principal(l->gss));
	gss_acceptor_free(l->gss);
	l->gss = NULL;
}

static bool
is_regular(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Replaces the file, with the user's rights, by renaming a new one. Programs
 * that have the old file open can go on reading it. */
static void
replace_file(const struct login *l, struct gss_acceptor *client)
{
	char *path;

	if (!is_regular(l->ccache))
		return;
	xasprintf(&path, "/tmp/krb5cc_%u_XXXXXX", (unsigned)l->user->uid);
	if (write_file(l, client, path)) {
		if (rename(path, l->ccache) == -1) {
			log_error("%s: %s", l->ccache, strerror(errno));
			(void)unlink(path);
		} else {
			log_verbose("renewed the credentials of user %s",
			    l->user->name);
		}
	}
	free(path);
}

void
delegated_renew(struct login *l, struct gss_acceptor *client)
{
	if (!l->conf.login.gssapi_store_on_rekey || l->ccache == NULL ||
	    l->principal == NULL || client == NULL ||
	    !gss_acceptor_has_credentials(client) ||
	    strcmp(l->principal, gss_acceptor_principal(client)) != 0 ||
	    privs_enter(l->user) != 0)
		return;
	replace_file(l, client);
	privs_leave();
}

void
delegated_environment(const struct login *l, struct strlist *env)
{
	char *assignment;

	if (l->ccache == NULL)
		return;
	xasprintf(&assignment, "%s=FILE:%s", variable, l->ccache);
	xstrlist_add(env, assignment);
	free(assignment);
}

static bool
is_to_go(const struct login *l)
{
	return l->ccache != NULL && l->conf.login.gssapi_cleanup_credentials;
}

/* Removes the file, with the user's rights: by now the user may have put
 * something else at this path, or removed it. */
static void
remove_file(const char *path)
{
	if (unlink(path) == -1 && errno != ENOENT)
		log_error("%s: %s", path, strerror(errno));
}

void
delegated_remove(const struct login *l)
{
	if (!is_to_go(l) || privs_enter(l->user) != 0)
		return;
	remove_file(l->ccache);
	privs_leave();
}

char *
delegated_to_remove(const struct login *l)
{
	return is_to_go(l) ? l->ccache : NULL;
}
