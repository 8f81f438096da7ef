/* SPDX-License-Identifier: ISC */
/*
 * Lists of hosts whose users may log in without a proof of their own:
 * hosts.equiv and shosts.equiv of the system, .shosts and .rhosts of a user. A
 * line is "host [user]"; without a user it is for the user with the same name
 * as the account. Both may be @netgroup. A - in front makes the line a refusal;
 * a + in front has no effect.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_RHOSTS_H
#define HPN_SERVER_MONITOR_RHOSTS_H

#include <stdbool.h>

#include "server/user.h"

enum rhosts_verdict {
	RHOSTS_SILENT, /* the line does not apply to this host and user */
	RHOSTS_ALLOW,
	RHOSTS_DENY,
};

/* The query: which user of which host wants to log in to which account. */
struct rhosts_query {
	const char *host;	 /* name of the client's host, if known */
	const char *address;	 /* numeric address, or the same as host */
	const char *client_user; /* user's name there, as that host says */
	const char *login;	 /* name of the account here */
	/* Whether the netgroup contains this host and user; NULL: any. */
	bool (*in_netgroup)(const char *group, const char *host,
	    const char *user);
};

/* Decides by one line, given without its end. Pure, except for in_netgroup. */
enum rhosts_verdict rhosts_line(const char *line,
    const struct rhosts_query *q);

/* Which files are read for a user, and how strictly. */
struct rhosts_rules {
	const struct user *user;
	bool strict_modes;
	int ignore; /* IgnoreRhosts: SERVER_RHOSTS_* */
};

/* Whether one of the files allows the query. In each file the first line that
 * applies decides. The files of the system do not count for the superuser. */
bool rhosts_allow(const struct rhosts_rules *rules,
    const struct rhosts_query *q);

#endif
