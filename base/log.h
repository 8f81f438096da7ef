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

/* Gets each message that passes the level, or that log_set_locations() asks
 * for, escaped, without newline. */
typedef void (*log_sink_fn)(void *arg, enum log_level level, const char *text);

/* Life. name is borrowed for ever (a literal or argv[0]'s base name). */
void log_init(const char *name, enum log_level level);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
void log_to_stderr(void);
/* facility is one of syslog(3)'s LOG_* facilities. */
void log_to_syslog(int facility);
/* Connects to the system's log now, not with the first line: for processes
 * that change their root directory. Others are left as they are. */
void log_connect(void);
/* Appends to a file; ERR_SYSTEM if it cannot be opened. */
int log_to_file(const char *path) must_check;
/* While on, lines from VERBOSE to ERROR are DEBUG1: they are about something
 * that nobody asked for. Gives how it was before. */
bool log_demote(bool on);
/* The last ERROR line that was demoted, escaped: why something did not succeed
 * that was tried without a word. "": there was none. */
const char *log_demoted_error(void);
/* The last ERROR line, shown or not, escaped; "": there was none. */
const char *log_last_error(void);
void log_to_sink(log_sink_fn sink, void *arg);
/* LogVerbose: lines of these places are logged whatever the level is, with
 * their place in front: "file.c:function():12 (bin=hpnssh, pid=1): text". Each
 * item is a list of patterns for the part before the blank. Copied; none: as
 * it was in the beginning. */
int log_set_locations(const struct strlist *lists) must_check;
const struct strlist *log_locations(void);
/* For a sink: did log_set_locations() ask for this line, whether the level lets
 * it pass or not? */
bool log_is_forced(void);
/* Lines end with CR LF, for a terminal that is raw. */
void log_set_crlf(bool crlf);

/* "INFO", "debug2"... to a level or facility number; -1 if unknown. */
int log_level_parse(const char *name);
const char *log_level_name(enum log_level level);
int log_facility_parse(const char *name);
const char *log_facility_name(int facility);

/* Use. No newline in fmt. */
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

/* Logs a line of another process, which has compared its place with the
 * locations already: forced, as of log_is_forced(), lets it pass at any level.
 * mark stands behind the text, which is cut if the line would be too long. */
void log_relay(enum log_level level, bool forced, const char *text,
    const char *mark);

/* Programs, client/ and server/ only: logs, runs the hook, exits 255. */
_Noreturn void fatal_at(const struct log_location *location,
    const char *fmt, ...) printf_like(2, 3);
#define fatal(...) fatal_at(LOG_HERE, __VA_ARGS__)
void fatal_set_hook(void (*hook)(void));

#endif
