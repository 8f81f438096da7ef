/* SPDX-License-Identifier: ISC */
/* What --cvs-exclude excludes: rsync(1) has the list. */
#include "xfer/rules/sync-rules-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/open-named.h"
#include "base/str.h"

static const char usual[] =
    "RCS SCCS CVS CVS.adm RCSLOG cvslog.* tags TAGS .make.state .nse_depinfo "
    "*~ #* .#* ,* _$* *$ *.old *.bak *.BAK *.orig *.rej .del-* *.a *.olb *.o "
    "*.obj *.so *.exe *.Z *.elc *.ln core .svn/ .git/ .hg/ .bzr/";

enum { OF_CVS = RULE_EXCLUDES | RULE_WORDS | RULE_CLEARS };

/* The file .cvsignore at the user's home; there need be none. */
static int
add_users(struct sync_rules *r, struct rule_list *to, unsigned flags)
{
	const char *home = getenv("HOME");
	char *path = home != NULL ? str_join_path(home, ".cvsignore") : NULL;
	struct buf text;
	int fd, err = 0;

	if (path == NULL)
		return 0;
	buf_init(&text);
	fd = open_named(path, O_RDONLY, 0);
	if (fd != -1)
		err = fd_read_file(fd, &text, SYNC_RULES_FILE_MAX);
	else if (errno != ENOENT)
		err = ERR_SYSTEM;
	if (err < 0)
		err = rules_error(r, err, ".cvsignore cannot be read");
	else
		err = rules_read_text(r, to, (const char *)buf_data(&text),
		    buf_len(&text), flags, true);
	fd_close(&fd);
	buf_clear(&text);
	free(path);
	return err;
}

/* A "!" in them clears what CVS has, no other rules. */
int
rules_add_cvs(struct sync_rules *r, struct rule_list *to, unsigned flags)
{
	const char *more = getenv("CVSIGNORE");
	struct rule_list cvs = { 0 };
	int err;

	flags |= OF_CVS;
	err = rules_read_text(r, &cvs, usual, sizeof usual - 1,
	    flags | RULE_PERISHABLE, true);
	if (err == 0)
		err = add_users(r, &cvs, flags);
	if (err == 0 && more != NULL)
		err = rules_read_text(r, &cvs, more, strlen(more), flags, true);
	if (err == 0)
		err = rules_move(to, &cvs);
	if (err < 0)
		rules_clear(r, &cvs);
	return err;
}
