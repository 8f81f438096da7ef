/* SPDX-License-Identifier: ISC */
/*
 * AuthenticationMethods: which methods may come next, and when enough have
 * succeeded. Pure.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_METHODS_H
#define HPN_SERVER_MONITOR_LOGIN_METHODS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct auth_methods {
	struct strlist enabled; /* in the order in which clients hear of them */
	struct strlist lists;	/* what each list still asks for */
	bool any;		/* one method, whichever */
};

/* lists: as configured, none or "any" = any. Lists with a method that is not
 * enabled, or with a device that it does not have, are dropped; ERR_NOT_FOUND
 * if that leaves none. */
int auth_methods_init(struct auth_methods *m, const struct strlist *lists,
    const char *enabled) must_check;
void auth_methods_clear(struct auth_methods *m);

/* Comma list of the methods that may be tried now. Caller frees. */
char *auth_methods_next(const struct auth_methods *m);
bool auth_methods_may(const struct auth_methods *m, const char *method);
/* The method succeeded: 1 that was the last one needed, 0 more are needed. */
int auth_methods_done(struct auth_methods *m, const char *method) must_check;

#endif
