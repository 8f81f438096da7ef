/* SPDX-License-Identifier: ISC */
/*
 * Kerberos credentials that a client has handed over: a file of the user's
 * in /tmp, which the session finds by KRB5CCNAME.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_DELEGATED_H
#define HPN_SERVER_MONITOR_DELEGATED_H

#include "base/str.h"

struct login;

/* Of a complete login, before its session begins: stores them if there are
 * any and the configuration wants them, tells PAM, and drops what the login
 * has of GSSAPI. A failure is logged; the session has no tickets then. */
void delegated_store(struct login *l);
/* For a session without PAM. */
void delegated_environment(const struct login *l, struct strlist *env);
/* When the session is over, if the configuration wants it. */
void delegated_remove(const struct login *l);

#endif
