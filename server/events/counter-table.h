/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd counts, and what each number is called in MetricsTextfile: one
 * row of counter-table.c each. docs/CENTRES.md has the names.
 *
 * Threads: any; constants.
 */
#ifndef HPN_SERVER_EVENTS_COUNTER_TABLE_H
#define HPN_SERVER_EVENTS_COUNTER_TABLE_H

#include <stddef.h>

#include "conf/auth-method-table.h"

enum login_result {
	LOGIN_ACCEPTED,
	LOGIN_PARTIAL,
	LOGIN_FAILED,
	LOGIN_RESULT_COUNT
};

/* A change of these, or of their order, is another COUNTERS_VERSION. */
enum counter {
	COUNTER_CONNECTIONS,
	/* One for each method and result: counter_of_login(). */
	COUNTER_LOGINS,
	COUNTER_SHELLS =
	    COUNTER_LOGINS + AUTH_METHOD_COUNT * LOGIN_RESULT_COUNT,
	COUNTER_COMMANDS,
	COUNTER_SUBSYSTEMS,
	COUNTER_BYTES_IN,
	COUNTER_BYTES_OUT,
	COUNTER_RETRANSMISSIONS,
	COUNTER_FILES_READ,
	COUNTER_FILES_WRITTEN,
	COUNTER_FILE_BYTES_READ,
	COUNTER_FILE_BYTES_WRITTEN,
	COUNTER_DELETES,
	COUNTER_RENAMES,
	COUNTER_FILE_FAILURES,
	COUNTER_LIMIT_GRACE,
	COUNTER_LIMIT_CONNECTIONS,
	COUNTER_LIMIT_SESSIONS,
	COUNTER_LIMIT_STARTUPS,
	COUNTER_LIMIT_SOURCE,
	COUNTER_LIMIT_PENALTIES,
	COUNTER_LINES_DROPPED,
	COUNTER_COUNT
};

enum counter counter_of_login(enum auth_method_id method,
    enum login_result result);
/* COUNTER_COUNT: the keyword is no limit that is counted. */
enum counter counter_of_limit(const char *keyword);

/* One name in the text, whose counters differ in labels: name{label="value"}.
 * Rows of one name stand together. */
struct counter_row {
	enum counter counter;
	const char *name, *help;
	const char *label, *value; /* NULL: no label */
};
extern const struct counter_row counter_rows[];
extern const size_t counter_row_count;

/* The rows' name and labels of logins, which have two. */
#define COUNTER_LOGIN_NAME "hpnsshd_logins_total"
extern const char *const login_result_names[LOGIN_RESULT_COUNT];

#endif
