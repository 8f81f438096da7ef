/* SPDX-License-Identifier: ISC */
/*
 * Login records by pututxline(), for systems where this one call writes all
 * files. They have no record of failed attempts.
 */
#include "server/monitor/loginrec.h"

#include "config.h"

#ifndef HAVE_LASTLOG_H

#include <pwd.h>
#include <string.h>
#include <sys/time.h>
#include <utmpx.h>

#include "base/mem.h"
#include "base/str.h"

/* Sets a field of a record, which need not end with a NUL. */
static void
put_field(char *to, size_t size, const char *from)
{
	memcpy(to, from, strnlen(from, size));
}

static void
fill(struct utmpx *u, const struct loginrec *rec, short type)
{
	const char *line = str_has_prefix(rec->tty, "/dev/") ? rec->tty + 5 :
							       rec->tty;
	size_t len = strlen(line);

	memset(u, 0, sizeof *u);
	(void)gettimeofday(&u->ut_tv, NULL);
	u->ut_type = type;
	u->ut_pid = rec->pid;
	put_field(u->ut_line, sizeof u->ut_line, line);
	/* The id is the end of the line's name, which differs between lines. */
	put_field(u->ut_id, sizeof u->ut_id,
	    len > sizeof u->ut_id ? line + len - sizeof u->ut_id : line);
	if (type == DEAD_PROCESS)
		return;
	put_field(u->ut_user, sizeof u->ut_user, rec->user);
	put_field(u->ut_host, sizeof u->ut_host, rec->host);
}

void
loginrec_login(const struct loginrec *rec)
{
	struct utmpx u;

	fill(&u, rec, USER_PROCESS);
	setutxent();
	(void)pututxline(&u);
	endutxent();
}

/* Whether the terminal's record is of another login by now, so that it must
 * stay. */
static bool
is_of_another(const struct utmpx *line, pid_t pid)
{
	const struct utmpx *found;
	bool another;

	setutxent();
	found = getutxline(line);
	another = found != NULL && found->ut_pid != pid;
	endutxent();
	return another;
}

void
loginrec_logout(const struct loginrec *rec)
{
	struct utmpx u;

	fill(&u, rec, USER_PROCESS);
	if (is_of_another(&u, rec->pid))
		return;
	fill(&u, rec, DEAD_PROCESS);
	setutxent();
	(void)pututxline(&u);
	endutxent();
}

/* A record by pututxline() would be another login in the history. */
void
loginrec_move(const struct loginrec *rec)
{
	(void)rec;
}

void
loginrec_failed(const struct loginrec *rec)
{
	(void)rec;
}

#ifdef HAVE_GETUTXUSER
static bool
find_last(const char *user, struct loginrec_last *last)
{
	const struct utmpx *u = NULL;

	if (setutxdb(UTXDB_LASTLOGIN, NULL) == 0)
		u = getutxuser(user);
	if (u != NULL) {
		last->when = (int64_t)u->ut_tv.tv_sec;
		memcpy(last->tty, u->ut_line, strnlen(u->ut_line,
			MIN(sizeof u->ut_line, sizeof last->tty - 1)));
		memcpy(last->host, u->ut_host, strnlen(u->ut_host,
			MIN(sizeof u->ut_host, sizeof last->host - 1)));
	}
	endutxent();
	return u != NULL;
}
#endif

bool
loginrec_last_of(uid_t uid, struct loginrec_last *last)
{
	memset(last, 0, sizeof *last);
#ifdef HAVE_GETUTXUSER
	const struct passwd *pw = getpwuid(uid);

	return pw != NULL && find_last(pw->pw_name, last);
#else
	(void)uid;
	return false;
#endif
}

#endif
