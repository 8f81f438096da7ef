/* SPDX-License-Identifier: ISC */
/*
 * Lists of hosts whose users may log in without proof of their own: hosts.equiv
 * and shosts.equiv of the system, .shosts and .rhosts of a user. A line is
 * "host [user]"; without a user it means the one of the same name. Either may
 * be @netgroup; a - in front makes the line a refusal, a + means nothing.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_RHOSTS_H
#define HPN_SERVER_MONITOR_RHOSTS_H

#include <stdbool.h>

#include "server/user.h"

enum rhosts_verdict {
	RHOSTS_SILENT, /* it is about somebody else, or about nobody */
	RHOSTS_ALLOW,
	RHOSTS_DENY,
};

/* The query: who comes from where, and who they want to be here. */
struct rhosts_query {
	const char *host;	 /* the client's, as far as it is known */
	const char *address;	 /* numeric, or the same as host */
	const char *client_user; /* as that host says */
	const char *login;	 /* the account */
	/* The netgroup has this host (or NULL: any) and user (NULL: any). */
	bool (*in_netgroup)(const char *group, const char *host,
	    const char *user);
};

/* A line without its end. Pure, but for what in_netgroup does. */
enum rhosts_verdict rhosts_line(const char *line,
    const struct rhosts_query *q);

/* Which files count for a user, and how. */
struct rhosts_rules {
	const struct user *user;
	bool strict_modes;
	int ignore; /* IgnoreRhosts: SERVER_RHOSTS_* */
};

/* Does one of the files say yes? The first line of a file that is about the
 * query decides for that file. Those of the system do not count for the
 * superuser. */
bool rhosts_allow(const struct rhosts_rules *rules,
    const struct rhosts_query *q);

#endif
