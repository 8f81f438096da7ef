/* SPDX-License-Identifier: ISC */
#include "conf/event-log.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct kind {
	const char *word; /* a path follows if it ends with ':' */
	const char *path; /* for a word that no path follows; else NULL */
} kinds[EVENT_LOG_KINDS] = {
	[EVENT_LOG_NONE] = { "none", "" },
	[EVENT_LOG_FILE] = { "file:", NULL },
	[EVENT_LOG_UNIX] = { "unix:", NULL },
	[EVENT_LOG_SYSLOG] = { "syslog", "/dev/log" },
	[EVENT_LOG_JOURNAL] = { "journal", "/run/systemd/journal/socket" },
};

enum event_log_kind
event_log_split(const char *value, const char **path)
{
	const struct kind *k;

	for (int i = 0; i < EVENT_LOG_KINDS; i++) {
		k = &kinds[i];
		*path = k->path != NULL ? k->path : value + strlen(k->word);
		if (k->path != NULL ? strcmp(value, k->word) == 0 :
				      str_has_prefix(value, k->word))
			return (enum event_log_kind)i;
	}
	return EVENT_LOG_KINDS;
}

const char *
event_log_check(const char *value)
{
	const char *path;
	enum event_log_kind kind = event_log_split(value, &path);

	if (kind == EVENT_LOG_KINDS)
		return "is none of none, journal, syslog, unix:PATH, file:PATH";
	if (kinds[kind].path != NULL)
		return NULL;
	if (path[0] != '/')
		return "must name an absolute path";
	if (kind == EVENT_LOG_UNIX &&
	    strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
		return "has a path that is too long for a socket";
	return NULL;
}
