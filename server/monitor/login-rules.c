/* SPDX-License-Identifier: ISC */
#include "server/monitor/login-rules.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/addr-match.h"
#include "server/monitor/login.h"
#include "server/monitor/passwd.h"

bool
login_rules_match_user(const char *user, const struct peer *p,
    const char *pattern)
{
	const char *at = strrchr(pattern, '@');
	char *name;
	bool ok;

	if (at == NULL)
		return str_match(user, pattern);
	name = xstrndup(pattern, (size_t)(at - pattern));
	ok = str_match(user, name) &&
	    addr_match_host(p->host, p->address, at + 1) == 1;
	free(name);
	return ok;
}

/* Whether the pattern matches one of the groups, or the user if groups is
 * NULL. */
static bool
matches(const struct login *l, const struct strlist *groups,
    const char *pattern)
{
	if (groups == NULL)
		return login_rules_match_user(l->user->name, l->peer, pattern);
	for (size_t i = 0; i < groups->n; i++)
		if (str_match(groups->v[i], pattern))
			return true;
	return false;
}

/* 1: a pattern matches the user or a group; -1: one with a ! in front does; 0:
 * none does. groups NULL: the patterns are for users. */
static int
is_listed(const struct login *l, const struct strlist *groups,
    const struct strlist *patterns)
{
	int found = 0;

	for (size_t i = 0; i < patterns->n; i++) {
		const char *pattern = patterns->v[i];
		bool negated = pattern[0] == '!';

		if (!matches(l, groups, pattern + negated))
			continue;
		if (negated)
			return -1;
		found = 1;
	}
	return found;
}

static bool
refuse(const struct login *l, const char *why)
{
	log_info("User %s from %s not allowed because %s", l->user->name,
	    l->peer->host, why);
	return false;
}

static bool
account_usable(const struct login *l)
{
	const struct user *u = l->user;
	const char *why;

	if (geteuid() != 0) {
		if (u->uid != geteuid())
			return refuse(l, "this server runs for another user");
	} else if (!l->conf.login.use_pam) {
		if (passwd_is_locked(u)) {
			log_info("User %s not allowed because account is "
				 "locked",
			    u->name);
			return false;
		}
		if (passwd_account_is_expired(u))
			return refuse(l, "account has expired");
	}
	/* Below a ChrootDirectory the shell is another file. */
	if (l->conf.session.chroot_directory == NULL &&
	    !user_shell_ok(u, &why)) {
		log_info("User %s not allowed because shell %s %s", u->name,
		    u->shell, why);
		return false;
	}
	return true;
}

/* Whether DenyGroups and AllowGroups let the user in. If the system does not
 * tell the names of the user's groups, they do not. */
static bool
groups_allow(const struct login *l)
{
	const struct server_conf *c = &l->conf;
	struct strlist groups = { 0 };
	bool ok = true;

	if (c->login.deny_groups.n == 0 && c->login.allow_groups.n == 0)
		return true;
	if (user_group_names(l->user, &groups) != 0)
		ok = refuse(l, "the system does not tell its groups");
	else if (groups.n == 0)
		ok = refuse(l, "not in any group");
	else if (c->login.deny_groups.n > 0 &&
	    is_listed(l, &groups, &c->login.deny_groups) != 0)
		ok = refuse(l, "a group is listed in DenyGroups");
	else if (c->login.allow_groups.n > 0 &&
	    is_listed(l, &groups, &c->login.allow_groups) != 1)
		ok = refuse(l,
		    "none of user's groups are listed in AllowGroups");
	strlist_clear(&groups);
	return ok;
}

bool
login_rules_allow(const struct login *l)
{
	const struct server_conf *c = &l->conf;

	if (!l->user->valid) {
		log_info("Invalid user %s from %s port %u", l->shown_name,
		    l->peer->address, l->peer->port);
		return false;
	}
	if (!account_usable(l))
		return false;
	if (c->login.deny_users.n > 0 &&
	    is_listed(l, NULL, &c->login.deny_users) != 0)
		return refuse(l, "listed in DenyUsers");
	if (c->login.allow_users.n > 0 &&
	    is_listed(l, NULL, &c->login.allow_users) != 1)
		return refuse(l, "not listed in AllowUsers");
	return groups_allow(l);
}

bool
login_rules_root_may(const struct login *l, const struct auth_method *m,
    const struct permits *permits)
{
	if (l->user->uid != 0)
		return true;
	switch (l->conf.login.permit_root_login) {
	case SERVER_ROOT_YES:
		return true;
	case SERVER_ROOT_PROHIBIT_PASSWORD:
		return m->proves_key;
	case SERVER_ROOT_FORCED_COMMANDS_ONLY:
		return m->proves_key && permits != NULL &&
		    permits->command != NULL;
	default:
		return false;
	}
}

bool
login_rules_hopeless(const struct login *l, const struct auth_method *m)
{
	return !l->allowed || !login_rules_root_may(l, m, NULL);
}
