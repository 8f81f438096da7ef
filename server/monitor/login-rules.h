/* SPDX-License-Identifier: ISC */
/*
 * The rules that say which accounts may log in, and when the superuser may.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_RULES_H
#define HPN_SERVER_MONITOR_LOGIN_RULES_H

#include <stdbool.h>

#include "conf/auth-method-table.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/user.h"

struct login;

/* Whether the account is usable and AllowUsers, DenyUsers, AllowGroups and
 * DenyGroups let the user in. Logs the reason if not. */
bool login_rules_allow(const struct login *l);
/* Whether PermitRootLogin lets the superuser in by method m. permits: those of
 * the proof, or NULL. Always true for other users. */
bool login_rules_root_may(const struct login *l, const struct auth_method *m,
    const struct permits *permits);

/* Whether the method cannot let this user in, whatever the client sends. */
bool login_rules_hopeless(const struct login *l, const struct auth_method *m);

/* Whether the user matches a pattern of AllowUsers, "user" or "user@host". */
bool login_rules_match_user(const char *user, const struct peer *p,
    const char *pattern);

#endif
