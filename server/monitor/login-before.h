/* SPDX-License-Identifier: ISC */
/*
 * What was shown in another login of the same user, and what that is worth
 * today: a key that was removed, an account that was locked, or another
 * AuthenticationMethods counts at once. For the methods that stand for others.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_BEFORE_H
#define HPN_SERVER_MONITOR_LOGIN_BEFORE_H

#include "base/buf.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/rendezvous-wire.h"

enum { LOGIN_BOUNDS_LEN = 32 };

/* The reason (static) why what was shown does not let the user in today; NULL:
 * it does, and t has the permits. Appends to text, for the log, what it was. */
const char *login_before_why_not(struct login *l,
    const struct rendezvous_answer *a, struct login_try *t, struct buf *text);
/* What a session of the login is held to, as a digest: its permits (p), its
 * account, and what the configuration forces on it. */
int login_before_bounds(const struct login *l, const struct permits *p,
    uint8_t out[LOGIN_BOUNDS_LEN]) must_check;
/* Fills in what was shown in this login, borrowed from it, for another one. */
int login_before_tell(const struct login *l,
    struct rendezvous_answer *a) must_check;
/* Keeps what login_before_why_not() has agreed to. */
void login_before_keep(const struct rendezvous_answer *a,
    struct login_shown *s);

#endif
