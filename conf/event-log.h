/* SPDX-License-Identifier: ISC */
/*
 * The value of EventLog: which kind of log, and where.
 *
 * Threads: any; pure functions.
 */
#ifndef HPN_CONF_EVENT_LOG_H
#define HPN_CONF_EVENT_LOG_H

enum event_log_kind {
	EVENT_LOG_NONE,
	EVENT_LOG_FILE,
	EVENT_LOG_UNIX,
	EVENT_LOG_SYSLOG,
	EVENT_LOG_JOURNAL,
	EVENT_LOG_KINDS
};

/* Splits a value into kind and path, which is borrowed from it or constant.
 * EVENT_LOG_KINDS: it is none. */
enum event_log_kind event_log_split(const char *value, const char **path);

/* What is wrong with a value; NULL: nothing. For the table of keywords. */
const char *event_log_check(const char *value);

#endif
