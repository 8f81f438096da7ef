/* SPDX-License-Identifier: ISC */
#include "server/monitor/rhosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const char blanks[] = " \t\r";
/* The word that marks a file as checked for lines of "+"; not a host. */
static const char checked_mark[] = "NO_PLUS";

/* A word of a line, without the sign in front of it. */
struct entry {
	const char *name;
	bool negated;
};

static struct entry
entry_of(const char *word)
{
	struct entry e = { .name = word, .negated = *word == '-' };

	if (*word == '-' || *word == '+')
		e.name++;
	return e;
}

static bool
host_matches(const char *name, const struct rhosts_query *q)
{
	if (*name == '@')
		return q->in_netgroup(name + 1, q->host, NULL) ||
		    q->in_netgroup(name + 1, q->address, NULL);
	return str_equal_nocase(name, q->host) ||
	    strcmp(name, q->address) == 0;
}

static bool
user_matches(const char *name, const struct rhosts_query *q)
{
	if (*name == '@')
		return q->in_netgroup(name + 1, NULL, q->client_user);
	return strcmp(name, q->client_user) == 0;
}

/* Whether the word has a name. A sign or an @ that stands alone would mean
 * everybody, so it is taken to mean nobody. */
static bool
names_somebody(const struct entry *e)
{
	return *e->name != '\0' && strcmp(e->name, "@") != 0;
}

static enum rhosts_verdict
judge(const struct strlist *words, const struct rhosts_query *q)
{
	struct entry host = entry_of(words->v[0]), user = { 0 };
	bool is_meant;

	if (words->n > 1)
		user = entry_of(words->v[1]);
	if (!names_somebody(&host) || (words->n > 1 && !names_somebody(&user)))
		return RHOSTS_SILENT;
	is_meant = host_matches(host.name, q) &&
	    (words->n > 1 ? user_matches(user.name, q) :
			    strcmp(q->login, q->client_user) == 0);
	if (!is_meant)
		return RHOSTS_SILENT;
	return host.negated || user.negated ? RHOSTS_DENY : RHOSTS_ALLOW;
}

enum rhosts_verdict
rhosts_line(const char *line, const struct rhosts_query *q)
{
	enum rhosts_verdict v = RHOSTS_SILENT;
	struct strlist words = { 0 };

	line += strspn(line, blanks);
	if (*line == '\0' || *line == '#')
		return RHOSTS_SILENT;
	/* A line with more than two words is ignored: it means something that
	 * this reader does not know. */
	if (strlist_split(&words, line, blanks) == 0 &&
	    (words.n == 1 || words.n == 2) &&
	    strcmp(words.v[0], checked_mark) != 0)
		v = judge(&words, q);
	strlist_clear(&words);
	return v;
}
