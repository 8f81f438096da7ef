/* SPDX-License-Identifier: ISC */
/*
 * Login records: utmp, wtmp, btmp and lastlog. Everything is best effort:
 * a missing or unwritable file never keeps anybody from logging in.
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
/* A failed attempt, for lastb(1). */
void loginrec_failed(const struct loginrec *rec);
/* True if there was a login before. */
bool loginrec_last_of(uid_t uid, struct loginrec_last *last);

#endif
