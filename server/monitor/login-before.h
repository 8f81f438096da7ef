/* SPDX-License-Identifier: ISC */
/*
 * Checks methods that were shown in another login of the same user by today's
 * rules: a removed key, a locked account, or another AuthenticationMethods
 * counts at once. For the methods that stand for others.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_BEFORE_H
#define HPN_SERVER_MONITOR_LOGIN_BEFORE_H

#include "base/buf.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/rendezvous-wire.h"

/* Returns NULL if what was shown lets the user in today; t then has the
 * permits. Else the reason (static) why it does not. Appends a description of
 * what was shown to text, for the log. */
const char *login_before_why_not(struct login *l,
    const struct rendezvous_answer *a, struct login_try *t, struct buf *text);
/* Fills *a with what was shown in this login, for another one to check;
 * borrowed from l. */
int login_before_tell(const struct login *l,
    struct rendezvous_answer *a) must_check;
/* Copies what login_before_why_not() has accepted into s. */
void login_before_keep(const struct rendezvous_answer *a,
    struct login_shown *s);

#endif
