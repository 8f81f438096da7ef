/* SPDX-License-Identifier: ISC */
/*
 * AuthenticationMethods: which methods may be tried next, and when enough of
 * them have succeeded. Pure.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_METHODS_H
#define HPN_SERVER_MONITOR_LOGIN_METHODS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct auth_methods {
	struct strlist enabled; /* names of methods, in the order for clients */
	struct strlist lists;	/* comma lists, each of what is still needed */
	bool any;		/* any one method is enough */
};

/* lists: of AuthenticationMethods; no list, or "any", means that any one method
 * is enough. enabled: comma list. Lists are dropped that need a method that is
 * not enabled or a device that it does not have. ERR_NOT_FOUND: no list is
 * left. */
int auth_methods_init(struct auth_methods *m, const struct strlist *lists,
    const char *enabled) must_check;
void auth_methods_clear(struct auth_methods *m);
/* Appends the lists that do not name the method. ERR_NOT_FOUND: there are
 * lists, and all name it. */
int auth_methods_without(struct strlist *out, const struct strlist *lists,
    const char *method) must_check;
/* Lets the method be enough by itself, unless a list names it, or any single
 * method is enough. */
void auth_methods_allow_alone(struct auth_methods *m, const char *method);

/* Comma list of the methods that may be tried now, without those that clients
 * are not told of. Caller frees. */
char *auth_methods_next(const struct auth_methods *m);
bool auth_methods_may(const struct auth_methods *m, const char *method);
/* The method has succeeded. 1: the login is complete; 0: more methods are
 * needed. */
int auth_methods_done(struct auth_methods *m, const char *method) must_check;

#endif
