/* SPDX-License-Identifier: ISC */
/*
 * The counters of hpnsshd, with their names in MetricsTextfile: one row of
 * counter-table.c each. docs/CENTRES.md lists the names.
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

/* The counters. COUNTERS_VERSION has to change with this list or its order. */
enum counter {
	COUNTER_CONNECTIONS,
	/* A counter for each method and result: counter_of_login(). */
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
/* The counter of a keyword that limits connections; COUNTER_COUNT: that keyword
 * has none. */
enum counter counter_of_limit(const char *keyword);

/* A counter's name and labels in the text: name{label="value"}. Rows of the
 * same name stand together. */
struct counter_row {
	enum counter counter;
	const char *name, *help;
	const char *label, *value; /* NULL: no label */
};
extern const struct counter_row counter_rows[];
extern const size_t counter_row_count;

/* The counters of logins: their name, and the values of their label for the
 * result. */
#define COUNTER_LOGIN_NAME "hpnsshd_logins_total"
extern const char *const login_result_names[LOGIN_RESULT_COUNT];

#endif
