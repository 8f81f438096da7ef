/* SPDX-License-Identifier: ISC */
/*
 * Which accounts may log in at all, and the superuser in particular.
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

/* Account and Allow/Deny lists; a refusal is logged with its reason. */
bool login_rules_allow(const struct login *l);
/* PermitRootLogin, for a method that has just succeeded, with the permits
 * that came with it, or NULL. */
bool login_rules_root_may(const struct login *l, const struct auth_method *m,
    const struct permits *permits);

/* The method can not let this user in, whatever the client sends. */
bool login_rules_hopeless(const struct login *l, const struct auth_method *m);

/* A pattern of AllowUsers: "user" or "user@host". */
bool login_rules_match_user(const char *user, const struct peer *p,
    const char *pattern);

#endif
