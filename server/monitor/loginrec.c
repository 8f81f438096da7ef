/* SPDX-License-Identifier: ISC */
/*
 * Login records in the files of Linux. Text fields there are byte arrays that
 * need not end with a NUL, so put_field() is used instead of string functions.
 */
#include "server/monitor/loginrec.h"

#include "config.h"

#ifdef HAVE_LASTLOG_H

#include <fcntl.h>
#include <lastlog.h>
#include <paths.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utmp.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#define BTMP_PATH "/var/log/btmp"

static void
put_field(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size);

	memset(to, 0, size);
	memcpy(to, from, len);
}

static const char *
line_of(const char *tty)
{
	return str_has_prefix(tty, "/dev/") ? tty + 5 : tty;
}

static void
fill(struct utmp *u, const struct loginrec *rec, short type)
{
	const char *line = line_of(rec->tty);
	size_t len = strlen(line);
	struct timeval now;

	memset(u, 0, sizeof *u);
	gettimeofday(&now, NULL);
	u->ut_type = type;
	u->ut_pid = rec->pid;
	u->ut_tv.tv_sec = (int32_t)now.tv_sec;
	u->ut_tv.tv_usec = (int32_t)now.tv_usec;
	put_field(u->ut_line, sizeof u->ut_line, line);
	/* The id is the end of the line's name, which differs between lines. */
	put_field(u->ut_id, sizeof u->ut_id,
	    len > sizeof u->ut_id ? line + len - sizeof u->ut_id : line);
	if (type == DEAD_PROCESS)
		return;
	put_field(u->ut_user, sizeof u->ut_user, rec->user);
	put_field(u->ut_host, sizeof u->ut_host, rec->host);
}

static void
put_utmp(const struct utmp *u)
{
	setutent();
	(void)pututline(u);
	endutent();
}

static void
put_lastlog(const struct loginrec *rec)
{
	struct lastlog ll;
	struct timeval now;
	int fd;

	memset(&ll, 0, sizeof ll);
	gettimeofday(&now, NULL);
	ll.ll_time = (int32_t)now.tv_sec;
	put_field(ll.ll_line, sizeof ll.ll_line, line_of(rec->tty));
	put_field(ll.ll_host, sizeof ll.ll_host, rec->host);
	fd = open(_PATH_LASTLOG, O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	(void)!pwrite(fd, &ll, sizeof ll, (off_t)rec->uid * (off_t)sizeof ll);
	fd_close(&fd);
}

void
loginrec_login(const struct loginrec *rec)
{
	struct utmp u;

	fill(&u, rec, USER_PROCESS);
	put_utmp(&u);
	updwtmp(_PATH_WTMP, &u);
	put_lastlog(rec);
}

/* Whether the terminal's record is of another login by now, so that it must
 * stay: the kernel reuses a terminal's name as soon as nobody has it open. */
static bool
is_of_another(const struct loginrec *rec)
{
	struct utmp line;
	const struct utmp *found;
	bool another;

	fill(&line, rec, USER_PROCESS);
	setutent();
	found = getutline(&line);
	another = found != NULL && found->ut_pid != rec->pid;
	endutent();
	return another;
}

void
loginrec_logout(const struct loginrec *rec)
{
	struct utmp u;

	if (is_of_another(rec))
		return;
	fill(&u, rec, DEAD_PROCESS);
	put_utmp(&u);
	updwtmp(_PATH_WTMP, &u);
}

void
loginrec_move(const struct loginrec *rec)
{
	struct utmp u;

	if (is_of_another(rec))
		return;
	fill(&u, rec, USER_PROCESS);
	put_utmp(&u);
}

void
loginrec_failed(const struct loginrec *rec)
{
	struct utmp u;
	struct stat st;
	int fd;

	fill(&u, rec, LOGIN_PROCESS);
	fd = open(BTMP_PATH, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd == -1)
		return;
	/* A user may have typed a password instead of a name, so nothing is
	 * written to a file that others may read. */
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & 0007) == 0)
		(void)!write(fd, &u, sizeof u);
	fd_close(&fd);
}

bool
loginrec_last_of(uid_t uid, struct loginrec_last *last)
{
	struct lastlog ll;
	bool ok;
	int fd;

	memset(last, 0, sizeof *last);
	fd = open(_PATH_LASTLOG, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	ok = pread(fd, &ll, sizeof ll, (off_t)uid * (off_t)sizeof ll) ==
		(ssize_t)sizeof ll &&
	    ll.ll_time != 0;
	fd_close(&fd);
	if (!ok)
		return false;
	last->when = (int64_t)(uint32_t)ll.ll_time;
	memcpy(last->tty, ll.ll_line,
	    strnlen(ll.ll_line, MIN(sizeof ll.ll_line, sizeof last->tty - 1)));
	memcpy(last->host, ll.ll_host,
	    strnlen(ll.ll_host,
		MIN(sizeof ll.ll_host, sizeof last->host - 1)));
	return true;
}

#endif
