/* SPDX-License-Identifier: ISC */
/* Names of the owners of files, and homes; see sftp-serve-internal.h. */
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own-account.h"
#include "compat/bsd.h"
#include "compat/file.h"
#include "xfer/serve/sftp-serve-internal.h"

/* Copies a name from the system's accounts. False: it cannot be told. A name
 * that is too long is left out, because its beginning could be somebody else's
 * name. */
static bool
take_name(char name[OWNERS_NAME_MAX], const char *is)
{
	if (is == NULL || !owners_may_name(is, strlen(is)))
		return false;
	strlcpy(name, is, OWNERS_NAME_MAX);
	return true;
}

static bool
ask_system(enum owners_kind kind, uint32_t id, char name[OWNERS_NAME_MAX])
{
	const struct passwd *pw;
	const struct group *gr;

	if (kind == OWNERS_USER)
		return (pw = getpwuid(id)) != NULL &&
		    take_name(name, pw->pw_name);
	return (gr = getgrgid(id)) != NULL && take_name(name, gr->gr_name);
}

bool
serve_owner(struct sftp_serve *s, enum owners_kind kind, uint32_t id,
    int file, char name[OWNERS_NAME_MAX])
{
	bool found = s->opts.owners != NULL ?
	    owners_name(s->opts.owners, kind, id, file, name) :
	    ask_system(kind, id, name);

	if (!found)
		name[0] = '\0';
	return found;
}

uint32_t
serve_id(struct sftp_serve *s, enum owners_kind kind, const char *name)
{
	const struct passwd *pw;
	const struct group *gr;
	uint32_t id;

	if (s->opts.owners != NULL)
		return owners_id(s->opts.owners, kind, name, &id) ? id :
								    UINT32_MAX;
	if (kind == OWNERS_USER)
		return (pw = getpwnam(name)) != NULL ? pw->pw_uid : UINT32_MAX;
	return (gr = getgrnam(name)) != NULL ? gr->gr_gid : UINT32_MAX;
}

/* Opens an entry so that the process of opts.owners can see who owns it. This
 * reads nothing, and needs no right to the file. -1: not needed, or it
 * failed. */
static int
show_file(const struct sftp_serve *s, const struct stat *st, int dir,
    const char *entry)
{
	const struct owners *o = s->opts.owners;

	if (o == NULL ||
	    (owners_knows(o, OWNERS_USER, st->st_uid) &&
		owners_knows(o, OWNERS_GROUP, st->st_gid)))
		return -1;
	return openat(dir, entry, FILE_ITSELF | O_CLOEXEC);
}

static void
name_or_number(struct sftp_serve *s, struct serve_owner_name *last,
    enum owners_kind kind, uint32_t id, int file, char text[SERVE_OWNER_MAX])
{
	char name[OWNERS_NAME_MAX];

	if (!last->known || last->id != id) {
		last->known = serve_owner(s, kind, id, file, name) ||
		    s->opts.owners == NULL;
		last->id = id;
		if (strchr(name, ' ') != NULL)
			name[0] = '\0';
		strlcpy(last->text, name, sizeof last->text);
	}
	if (last->text[0] != '\0')
		strlcpy(text, last->text, SERVE_OWNER_MAX);
	else
		snprintf(text, SERVE_OWNER_MAX, "%u", id);
}

void
serve_owners(struct sftp_serve *s, const struct stat *st, int dir,
    const char *entry, char user[SERVE_OWNER_MAX], char group[SERVE_OWNER_MAX])
{
	int file = show_file(s, st, dir, entry);

	name_or_number(s, &s->last_user, OWNERS_USER, st->st_uid, file, user);
	name_or_number(s, &s->last_group, OWNERS_GROUP, st->st_gid, file,
	    group);
	if (file != -1)
		close(file);
}

static bool
copy_home(char home[SERVE_HOME_MAX], const char *from)
{
	return from != NULL && strlcpy(home, from, SERVE_HOME_MAX) <
	    SERVE_HOME_MAX;
}

bool
serve_home_of(const struct sftp_serve *s, const char *user,
    char home[SERVE_HOME_MAX])
{
	const struct passwd *pw;

	if (s->opts.home != NULL &&
	    (user[0] == '\0' ||
		(s->opts.user != NULL && strcmp(user, s->opts.user) == 0)))
		return copy_home(home, s->opts.home);
	if (s->opts.owners != NULL)
		return user[0] != '\0' &&
		    owners_home(s->opts.owners, user, home);
	if (user[0] == '\0')
		return own_account_home() != NULL &&
		    copy_home(home, own_account_home());
	pw = getpwnam(user);
	return pw != NULL && copy_home(home, pw->pw_dir);
}
