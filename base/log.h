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
#include "base/str.h"

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

/* Gets each message that is to be logged, because of its level or of
 * log_set_locations(): escaped, without a newline. */
typedef void (*log_sink_fn)(void *arg, enum log_level level, const char *text);

/* Begins logging to stderr. name is borrowed for ever (a literal, or the base
 * name of argv[0]). */
void log_init(const char *name, enum log_level level);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
void log_to_stderr(void);
/* Logs to syslog(3) from now on; facility is one of its LOG_* facilities. */
void log_to_syslog(int facility);
/* Connects to syslog now rather than with the first line, for processes that
 * change their root directory. If the log goes elsewhere nothing happens. */
void log_connect(void);
/* Appends to a file; ERR_SYSTEM if it cannot be opened. */
int log_to_file(const char *path) must_check;
/* While on is true, lines from VERBOSE to ERROR are logged as DEBUG1, because
 * they are about something that the user has not asked for. Returns what was
 * set before. */
bool log_demote(bool on);
/* The last ERROR line that was demoted, escaped: the reason why something
 * failed that the user was not told of. "": there was none. */
const char *log_demoted_error(void);
/* The last ERROR line, shown or not, escaped; "": there was none. */
const char *log_last_error(void);
void log_to_sink(log_sink_fn sink, void *arg);
/* LogVerbose: lines of these places in the source are logged at any level, with
 * their place in front: "file.c:function():12 (bin=hpnssh, pid=1): text". Each
 * item of the list, which is copied, is a list of patterns for the part before
 * the blank. An empty list ends that. */
int log_set_locations(const struct strlist *lists) must_check;
const struct strlist *log_locations(void);
/* For a sink: is this line logged because of log_set_locations(), whatever its
 * level is? */
bool log_is_forced(void);
/* Lines end with CR LF, for a terminal that is raw. */
void log_set_crlf(bool crlf);

/* "INFO", "debug2"... to a level or facility number; -1 if unknown. */
int log_level_parse(const char *name);
const char *log_level_name(enum log_level level);
int log_facility_parse(const char *name);
const char *log_facility_name(int facility);

/* The functions that log. fmt has no newline at its end. */
#ifdef __FILE_NAME__
#define LOG_FILE __FILE_NAME__
#else
#define LOG_FILE __FILE__
#endif
struct log_location {
	const char *file, *function; /* literals */
	int line;
};
#define LOG_HERE                                                              \
	&(const struct log_location)                                          \
	{                                                                     \
		LOG_FILE, __func__, __LINE__                                  \
	}
void log_at(const struct log_location *location, enum log_level level,
    const char *fmt, ...) printf_like(3, 4);
#define log_msg(level, ...) log_at(LOG_HERE, level, __VA_ARGS__)
#define log_error(...) log_msg(LOG_LVL_ERROR, __VA_ARGS__)
#define log_info(...) log_msg(LOG_LVL_INFO, __VA_ARGS__)
#define log_verbose(...) log_msg(LOG_LVL_VERBOSE, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_LVL_DEBUG1, __VA_ARGS__)
#define log_debug2(...) log_msg(LOG_LVL_DEBUG2, __VA_ARGS__)
#define log_debug3(...) log_msg(LOG_LVL_DEBUG3, __VA_ARGS__)

/* Logs a line of another process. forced: that process found log_is_forced(),
 * so the line is logged at any level. mark is appended to the text, which is
 * cut if the line would be too long. */
void log_relay(enum log_level level, bool forced, const char *text,
    const char *mark);

/* Programs, client/ and server/ only: logs, runs the hook, exits 255. */
_Noreturn void fatal_at(const struct log_location *location,
    const char *fmt, ...) printf_like(2, 3);
#define fatal(...) fatal_at(LOG_HERE, __VA_ARGS__)
void fatal_set_hook(void (*hook)(void));

#endif
