/* SPDX-License-Identifier: ISC */
/*
 * Kerberos credentials that a client has delegated. They are stored in a file
 * in /tmp, which belongs to the user and which the session finds by KRB5CCNAME.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_DELEGATED_H
#define HPN_SERVER_MONITOR_DELEGATED_H

#include <sys/types.h>

#include "base/str.h"

struct gss_acceptor;
struct login;

/* To be called for a complete login, before its session begins. Stores the
 * credentials if there are any and GSSAPIDelegateCredentials is on, tells PAM
 * the file, and frees the login's GSSAPI context. If that fails it is logged,
 * and the session has no tickets. */
void delegated_store(struct login *l);
/* Replaces the stored credentials by those that came with a rekey by GSSAPI.
 * Does nothing unless GSSAPIStoreCredentialsOnRekey is on, both are of the same
 * principal, and the old file still exists. */
void delegated_renew(struct login *l, struct gss_acceptor *client);
/* Appends KRB5CCNAME, for a session without PAM. */
void delegated_environment(const struct login *l, struct strlist *env);
/* Removes the file after the session, if GSSAPICleanupCredentials is on. */
void delegated_remove(const struct login *l);
/* Path of the file that the user's process removes if the monitor has ended
 * before it; borrowed. NULL: none. (Below a ChrootDirectory that process does
 * not find the file.) */
char *delegated_to_remove(const struct login *l);

#endif
