/* SPDX-License-Identifier: ISC */
/* Opens the lists of hosts that apply to a user. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/server-conf.h"
#include "server/monitor/authorized-files.h"
#include "server/monitor/rhosts.h"
#include "server/privs.h"

static enum rhosts_verdict
search(FILE *f, const char *path, const struct rhosts_query *q)
{
	enum rhosts_verdict v = RHOSTS_SILENT;
	struct authlines lines;

	authlines_init(&lines, f);
	while (v == RHOSTS_SILENT && authlines_next(&lines))
		v = rhosts_line(lines.text, q);
	if (v != RHOSTS_SILENT)
		log_debug("%s:%u: %s user %s on %s", path, lines.number,
		    v == RHOSTS_ALLOW ? "lets in" : "refuses",
		    q->client_user, q->host);
	authlines_clear(&lines);
	return v;
}

/* Whether the file allows the query. A line that refuses it ends the search in
 * this file only. */
static bool
file_allows(const struct rhosts_rules *rules, const char *path, bool strict,
    const struct rhosts_query *q)
{
	FILE *f = authfiles_open(rules->user, path, strict);
	bool allows = f != NULL && search(f, path, q) == RHOSTS_ALLOW;

	if (f != NULL)
		fclose(f);
	return allows;
}

static bool
system_allows(const struct rhosts_rules *rules, const struct rhosts_query *q)
{
	return file_allows(rules, "/etc/hosts.equiv", false, q) ||
	    file_allows(rules, SYSCONFDIR "/shosts.equiv", false, q);
}

/* Reads a list in the home directory with the user's rights. */
static bool
home_allows(const struct rhosts_rules *rules, const char *name,
    const struct rhosts_query *q)
{
	bool allows = false;
	char *path;

	xasprintf(&path, "%s/%s", rules->user->home, name);
	if (privs_enter(rules->user) == 0) {
		allows = file_allows(rules, path, rules->strict_modes, q);
		privs_leave();
	}
	free(path);
	return allows;
}

bool
rhosts_allow(const struct rhosts_rules *rules, const struct rhosts_query *q)
{
	if (rules->user->uid != 0 && system_allows(rules, q))
		return true;
	if (rules->ignore != SERVER_RHOSTS_NONE &&
	    home_allows(rules, ".shosts", q))
		return true;
	return rules->ignore == SERVER_RHOSTS_ALL &&
	    home_allows(rules, ".rhosts", q);
}
