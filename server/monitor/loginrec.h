/* SPDX-License-Identifier: ISC */
/*
 * Login records: utmp, wtmp, btmp and lastlog. A file that is missing or cannot
 * be written is ignored: it never keeps anybody from logging in.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_LOGINREC_H
#define HPN_SERVER_MONITOR_LOGINREC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loginrec {
	const char *user, *host; /* borrowed */
	const char *tty;	 /* with or without /dev/ */
	pid_t pid;
	uid_t uid;
};

struct loginrec_last {
	int64_t when; /* seconds since 1970 */
	char tty[33], host[257];
};

void loginrec_login(const struct loginrec *rec);
void loginrec_logout(const struct loginrec *rec);
/* Has the record of who is logged in now name another host. The records of past
 * logins keep the first one. */
void loginrec_move(const struct loginrec *rec);
/* Records a failed attempt, for lastb(1). */
void loginrec_failed(const struct loginrec *rec);
/* Fills *last with the last login. False: there was none. */
bool loginrec_last_of(uid_t uid, struct loginrec_last *last);

#endif
