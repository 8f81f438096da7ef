/* SPDX-License-Identifier: ISC */
/*
 * The account that somebody logs in to. For an unknown name an account is made
 * up, so that all later steps do the same work and an attacker cannot tell from
 * the time whether the name exists.
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
	bool valid; /* false: the account does not exist */
};

enum {
	/* Bytes of a user name. No account has a longer name, so the rest of
	 * what a client sends is cut off. */
	USER_NAME_MAX = 1024,
	/* Bytes of a user name in a log line. Escaped, it must not push out the
	 * address, which stands behind it. */
	USER_SHOWN_MAX = 256,
};

/* The account of this name; made up if there is none. Never NULL: out of memory
 * ends the process. */
struct user *user_lookup(const char *name);
void user_free(struct user *u);

/* Appends the names of the user's groups. Errors: see user_groups(). A user who
 * is not valid has no groups. */
int user_group_names(const struct user *u, struct strlist *names) must_check;
/* Whether the shell is an executable file. *why: a static text if not, else
 * NULL. */
bool user_shell_ok(const struct user *u, const char **why);
/* Makes a path absolute: "~/" and a relative path mean below the user's home
 * directory. Caller frees. */
char *user_path(const struct user *u, const char *path);

#endif
