/* SPDX-License-Identifier: ISC */
/*
 * Kerberos credentials that a client has handed over: a file of the user's
 * in /tmp, which the session finds by KRB5CCNAME.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_DELEGATED_H
#define HPN_SERVER_MONITOR_DELEGATED_H

#include <sys/types.h>

#include "base/str.h"

struct gss_acceptor;
struct login;

/* Of a complete login, before its session begins: stores them if there are
 * any and the configuration wants them, tells PAM, and drops what the login
 * has of GSSAPI. A failure is logged; the session has no tickets then. */
void delegated_store(struct login *l);
/* The credentials of a rekey by GSSAPI replace those that were stored, if the
 * configuration wants it, if they are the same principal's, and if the user
 * still has the old. */
void delegated_renew(struct login *l, struct gss_acceptor *client);
/* For a session without PAM. */
void delegated_environment(const struct login *l, struct strlist *env);
/* When the session is over, if the configuration wants it. */
void delegated_remove(const struct login *l);
/* What the user's process removes if the monitor is not there any more; NULL:
 * nothing. (From inside of a ChrootDirectory nothing of it is found.) */
char *delegated_to_remove(const struct login *l);

#endif
