/* SPDX-License-Identifier: ISC */
/*
 * The account that somebody logs in to. An unknown name gets a made-up
 * account, so that all later steps do the same work for it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_USER_H
#define HPN_SERVER_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct user {
	char *name, *home, *shell; /* owned */
	uid_t uid;
	gid_t gid;
	bool valid; /* false: made up */
};

enum {
	/* Bytes of a name that anybody can have: what a client sends beyond is
	 * cut off, as it says no more about who that is. */
	USER_NAME_MAX = 1024,
	/* Of one in a log line. Escaped, it must not push the rest over the
	 * end: the address stands behind it. */
	USER_SHOWN_MAX = 256,
};

/* Never NULL; out of memory ends the process. */
struct user *user_lookup(const char *name);
/* The account of the calling process. */
struct user *user_self(void);
void user_free(struct user *u);

/* As user_groups(); of a user who is not valid, none. */
int user_group_names(const struct user *u, struct strlist *names) must_check;
/* Base name of the shell is usable: the file exists and is executable. */
bool user_shell_ok(const struct user *u, const char **why);
/* ~ and relative paths: below the home directory. Caller frees. */
char *user_path(const struct user *u, const char *path);

#endif
