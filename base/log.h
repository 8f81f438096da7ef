/* SPDX-License-Identifier: ISC */
/*
 * Logging to stderr, a file, syslog or a callback. A message is one line;
 * bytes that are not printable are escaped on the way out, so that text
 * from a peer cannot forge lines or reach a terminal.
 *
 * Threads: loop thread only; workers do not log.
 */
#ifndef HPN_BASE_LOG_H
#define HPN_BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

/* Names and order are those of the LogLevel keyword. */
enum log_level {
	LOG_LVL_QUIET,
	LOG_LVL_FATAL,
	LOG_LVL_ERROR,
	LOG_LVL_INFO,
	LOG_LVL_VERBOSE,
	LOG_LVL_DEBUG1,
	LOG_LVL_DEBUG2,
	LOG_LVL_DEBUG3,
};

/* Gets each message that passes the level, escaped, without newline. */
typedef void (*log_sink_fn)(void *arg, enum log_level level, const char *text);

/* Life. name is borrowed for ever (a literal or argv[0]'s base name). */
void log_init(const char *name, enum log_level level);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
void log_to_stderr(void);
/* facility is one of syslog(3)'s LOG_* facilities. */
void log_to_syslog(int facility);
/* Appends to a file; ERR_SYSTEM if it cannot be opened. */
int log_to_file(const char *path) must_check;
/* While on, lines from VERBOSE to ERROR are DEBUG1: they are about something
 * that nobody asked for. Gives how it was before. */
bool log_demote(bool on);
void log_to_sink(log_sink_fn sink, void *arg);
/* Lines end with CR LF, for a terminal that is raw. */
void log_set_crlf(bool crlf);

/* "INFO", "debug2"... to a level or facility number; -1 if unknown. */
int log_level_parse(const char *name);
const char *log_level_name(enum log_level level);
int log_facility_parse(const char *name);
const char *log_facility_name(int facility);

/* Use. No newline in fmt. */
void log_msg(enum log_level level, const char *fmt, ...) printf_like(2, 3);
#define log_error(...) log_msg(LOG_LVL_ERROR, __VA_ARGS__)
#define log_info(...) log_msg(LOG_LVL_INFO, __VA_ARGS__)
#define log_verbose(...) log_msg(LOG_LVL_VERBOSE, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_LVL_DEBUG1, __VA_ARGS__)
#define log_debug2(...) log_msg(LOG_LVL_DEBUG2, __VA_ARGS__)
#define log_debug3(...) log_msg(LOG_LVL_DEBUG3, __VA_ARGS__)

/* Programs, client/ and server/ only: logs, runs the hook, exits 255. */
_Noreturn void fatal(const char *fmt, ...) printf_like(1, 2);
void fatal_set_hook(void (*hook)(void));

#endif
