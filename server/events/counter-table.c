/* SPDX-License-Identifier: ISC */
#include "server/events/counter-table.h"

#include <string.h>

#include "base/mem.h"

#define SESSIONS "hpnsshd_sessions_total", "Sessions that began, by kind."
#define BYTES                                                                 \
	"hpnsshd_bytes_total",                                                \
	    "Bytes of connections on the wire, as users' processes tell."
#define FILES                                                                 \
	"hpnsshd_files_total", "Whole files that internal-sftp has moved."
#define FILE_BYTES                                                            \
	"hpnsshd_file_bytes_total", "Bytes of files that internal-sftp has "  \
				    "moved."
#define CHANGES "hpnsshd_file_changes_total", "Deletes and renames of files."
#define LIMITS                                                                \
	"hpnsshd_limits_total",                                               \
	    "Connections and sessions that a limit has refused or ended."

const struct counter_row counter_rows[] = {
	{ COUNTER_CONNECTIONS, "hpnsshd_connections_total",
	    "Connections that a monitor has served.", NULL, NULL },
	{ COUNTER_SHELLS, SESSIONS, "kind", "shell" },
	{ COUNTER_COMMANDS, SESSIONS, "kind", "exec" },
	{ COUNTER_SUBSYSTEMS, SESSIONS, "kind", "subsystem" },
	{ COUNTER_BYTES_IN, BYTES, "direction", "in" },
	{ COUNTER_BYTES_OUT, BYTES, "direction", "out" },
	{ COUNTER_RETRANSMISSIONS, "hpnsshd_tcp_retransmissions_total",
	    "Segments that TCP has sent again, as users' processes tell.",
	    NULL, NULL },
	{ COUNTER_FILES_READ, FILES, "direction", "read" },
	{ COUNTER_FILES_WRITTEN, FILES, "direction", "written" },
	{ COUNTER_FILE_BYTES_READ, FILE_BYTES, "direction", "read" },
	{ COUNTER_FILE_BYTES_WRITTEN, FILE_BYTES, "direction", "written" },
	{ COUNTER_DELETES, CHANGES, "kind", "delete" },
	{ COUNTER_RENAMES, CHANGES, "kind", "rename" },
	{ COUNTER_FILE_FAILURES, "hpnsshd_file_failures_total",
	    "Transfers of files that failed.", NULL, NULL },
	{ COUNTER_LIMIT_GRACE, LIMITS, "limit", "LoginGraceTime" },
	{ COUNTER_LIMIT_CONNECTIONS, LIMITS, "limit", "MaxConnectionsPerUser" },
	{ COUNTER_LIMIT_SESSIONS, LIMITS, "limit", "MaxSessionsPerUser" },
	{ COUNTER_LIMIT_STARTUPS, LIMITS, "limit", "MaxStartups" },
	{ COUNTER_LIMIT_SOURCE, LIMITS, "limit", "PerSourceMaxStartups" },
	{ COUNTER_LIMIT_PENALTIES, LIMITS, "limit", "PerSourcePenalties" },
	{ COUNTER_LINES_DROPPED, "hpnsshd_event_lines_dropped_total",
	    "Lines that EventLog's log did not take.", NULL, NULL },
};
const size_t counter_row_count = ARRAY_LEN(counter_rows);

const char *const login_result_names[LOGIN_RESULT_COUNT] = {
	[LOGIN_ACCEPTED] = "accepted",
	[LOGIN_PARTIAL] = "partial",
	[LOGIN_FAILED] = "failed",
};

enum counter
counter_of_login(enum auth_method_id method, enum login_result result)
{
	return (enum counter)(COUNTER_LOGINS +
	    (int)method * LOGIN_RESULT_COUNT + (int)result);
}

enum counter
counter_of_limit(const char *keyword)
{
	for (size_t i = 0; i < counter_row_count; i++)
		if (counter_rows[i].label != NULL &&
		    strcmp(counter_rows[i].label, "limit") == 0 &&
		    strcmp(counter_rows[i].value, keyword) == 0)
			return counter_rows[i].counter;
	return COUNTER_COUNT;
}
