/* SPDX-License-Identifier: ISC */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/open-named.h"
#include "base/path.h"
#include "base/screen.h"
#include "compat/bsd.h"
#include "compat/proc.h"

enum {
	TEXT_MAX = 2048, /* a longer message is cut */
	ESCAPED_MAX = 4096,
	/* Of a line from another process, whose text anybody may have made.
	 * Programs that collect lines cut them at 2048 bytes or more. */
	RELAYED_MAX = 1536,
	MARK_MAX = 32,
	DEMOTED_MAX = 512,
	LOCATION_MAX = 256, /* file, function, line, program and process */
};

static struct {
	const char *name;
	enum log_level level;
	int fd;	      /* file or stderr */
	int facility; /* -1: not to syslog */
	log_sink_fn sink;
	void *sink_arg;
	void (*fatal_hook)(void);
	bool demote;
	char demoted[DEMOTED_MAX]; /* the last error that was demoted */
	char last[DEMOTED_MAX];	   /* the last error, demoted or not */
	bool crlf;
	bool forced; /* the line being written is logged at any level */
	struct strlist locations;
} st = { .name = "hpnssh", .level = LOG_LVL_INFO, .fd = STDERR_FILENO,
	.facility = -1 };

static const struct {
	const char *name;
	enum log_level level;
} levels[] = {
	{ "SILENT", LOG_LVL_QUIET },
	{ "QUIET", LOG_LVL_QUIET },
	{ "FATAL", LOG_LVL_FATAL },
	{ "ERROR", LOG_LVL_ERROR },
	{ "INFO", LOG_LVL_INFO },
	{ "VERBOSE", LOG_LVL_VERBOSE },
	{ "DEBUG", LOG_LVL_DEBUG1 },
	{ "DEBUG1", LOG_LVL_DEBUG1 },
	{ "DEBUG2", LOG_LVL_DEBUG2 },
	{ "DEBUG3", LOG_LVL_DEBUG3 },
};

static const struct {
	const char *name;
	int facility;
} facilities[] = {
	{ "DAEMON", LOG_DAEMON },
	{ "USER", LOG_USER },
	{ "AUTH", LOG_AUTH },
#ifdef LOG_AUTHPRIV
	{ "AUTHPRIV", LOG_AUTHPRIV },
#endif
	{ "LOCAL0", LOG_LOCAL0 },
	{ "LOCAL1", LOG_LOCAL1 },
	{ "LOCAL2", LOG_LOCAL2 },
	{ "LOCAL3", LOG_LOCAL3 },
	{ "LOCAL4", LOG_LOCAL4 },
	{ "LOCAL5", LOG_LOCAL5 },
	{ "LOCAL6", LOG_LOCAL6 },
	{ "LOCAL7", LOG_LOCAL7 },
};

static const int syslog_priority[] = {
	[LOG_LVL_QUIET] = LOG_CRIT,
	[LOG_LVL_FATAL] = LOG_CRIT,
	[LOG_LVL_ERROR] = LOG_ERR,
	[LOG_LVL_INFO] = LOG_INFO,
	[LOG_LVL_VERBOSE] = LOG_INFO,
	[LOG_LVL_DEBUG1] = LOG_DEBUG,
	[LOG_LVL_DEBUG2] = LOG_DEBUG,
	[LOG_LVL_DEBUG3] = LOG_DEBUG,
};

void
log_init(const char *name, enum log_level level)
{
	st.name = name;
	st.level = level;
}

void
log_set_level(enum log_level level)
{
	st.level = level;
}

enum log_level
log_get_level(void)
{
	return st.level;
}

static void
forget_target(void)
{
	if (st.facility != -1)
		closelog();
	if (st.fd != STDERR_FILENO && st.fd != -1)
		close(st.fd);
	st.fd = -1;
	st.facility = -1;
	st.sink = NULL;
}

void
log_to_stderr(void)
{
	forget_target();
	st.fd = STDERR_FILENO;
}

void
log_to_syslog(int facility)
{
	forget_target();
	st.facility = facility;
	openlog(st.name, LOG_PID, facility);
}

void
log_connect(void)
{
	if (st.facility != -1)
		openlog(st.name, LOG_PID | LOG_NDELAY, st.facility);
}

int
log_to_file(const char *path)
{
	int fd;

	fd = open_named(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd == -1)
		return ERR_SYSTEM;
	forget_target();
	st.fd = fd;
	return 0;
}

void
log_to_sink(log_sink_fn sink, void *arg)
{
	forget_target();
	st.sink = sink;
	st.sink_arg = arg;
}

void
log_set_crlf(bool crlf)
{
	st.crlf = crlf;
}

int
log_level_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strcasecmp(name, levels[i].name) == 0)
			return (int)levels[i].level;
	return -1;
}

const char *
log_level_name(enum log_level level)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "UNKNOWN";
}

int
log_facility_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(facilities); i++)
		if (strcasecmp(name, facilities[i].name) == 0)
			return facilities[i].facility;
	return -1;
}

const char *
log_facility_name(int facility)
{
	for (size_t i = 0; i < ARRAY_LEN(facilities); i++)
		if (facilities[i].facility == facility)
			return facilities[i].name;
	return "UNKNOWN";
}

static void
write_line(enum log_level level, const char *text)
{
	char line[ESCAPED_MAX + 32];
	const char *tag = "";
	int n;

	if (level >= LOG_LVL_DEBUG1)
		tag = level == LOG_LVL_DEBUG1 ? "debug1: " :
		    level == LOG_LVL_DEBUG2   ? "debug2: " :
						"debug3: ";
	n = snprintf(line, sizeof line, "%s%s%s", tag, text,
	    st.fd == STDERR_FILENO && st.crlf ? "\r\n" : "\n");
	if (st.fd == STDERR_FILENO)
		screen_clear();
	if (n > 0)
		(void)!write(st.fd, line, MIN((size_t)n, sizeof line - 1));
}

/* Writes text, which is escaped already, to the log. */
static void
put(enum log_level level, bool forced, const char *text)
{
	st.forced = forced;
	if (st.sink != NULL)
		st.sink(st.sink_arg, level, text);
	else if (st.facility != -1)
		syslog(syslog_priority[level], "%s%s",
		    level == LOG_LVL_ERROR	? "error: " :
			level == LOG_LVL_FATAL	? "fatal: " :
			level >= LOG_LVL_DEBUG1 ? "debug: " :
						  "",
		    text);
	else if (st.fd != -1)
		write_line(level, text);
	st.forced = false;
}

static void
emit(enum log_level level, const char *location, const char *fmt, va_list ap)
{
	char text[TEXT_MAX + LOCATION_MAX], escaped[ESCAPED_MAX];
	int saved = errno;
	size_t used;

	used = strlcpy(text, location, LOCATION_MAX);
	used = MIN(used, LOCATION_MAX - 1);
	vsnprintf(text + used, TEXT_MAX, fmt, ap);
	str_escape(escaped, sizeof escaped, text);
	put(level, used > 0, escaped);
	errno = saved;
}

/* The text that is put before a line logged at this location, if the user asked
 * for it; otherwise "". */
static const char *
location_prefix(const struct log_location *location, char *out, size_t size)
{
	size_t len;

	out[0] = '\0';
	if (st.locations.n == 0)
		return out;
	snprintf(out, size, "%.64s:%.64s():%d",
	    path_last(location->file), location->function, location->line);
	for (size_t i = 0; i < st.locations.n; i++) {
		if (str_match_list(out, st.locations.v[i], false) <= 0)
			continue;
		len = strlen(out);
		snprintf(out + len, size - len, " (bin=%.64s, pid=%ld): ",
		    proc_name(), (long)getpid());
		return out;
	}
	out[0] = '\0';
	return out;
}

static void
keep_error(const char *fmt, va_list ap)
{
	char text[DEMOTED_MAX];
	int saved = errno;

	(void)vsnprintf(text, sizeof text, fmt, ap);
	str_escape(st.last, sizeof st.last, text);
	if (st.demote)
		strlcpy(st.demoted, st.last, sizeof st.demoted);
	errno = saved;
}

const char *
log_last_error(void)
{
	return st.last;
}

const char *
log_demoted_error(void)
{
	return st.demoted;
}

void
log_at(const struct log_location *location, enum log_level level,
    const char *fmt, ...)
{
	char prefix[LOCATION_MAX];
	va_list ap;

	if (level == LOG_LVL_ERROR) {
		va_start(ap, fmt);
		keep_error(fmt, ap);
		va_end(ap);
	}
	if (st.demote && level > LOG_LVL_FATAL && level < LOG_LVL_DEBUG1)
		level = LOG_LVL_DEBUG1;
	if (location_prefix(location, prefix, sizeof prefix)[0] == '\0' &&
	    level > st.level)
		return;
	va_start(ap, fmt);
	emit(level, prefix, fmt, ap);
	va_end(ap);
}

void
log_relay(enum log_level level, bool forced, const char *text,
    const char *mark)
{
	char escaped[RELAYED_MAX + MARK_MAX];
	int saved = errno;

	if (!forced && level > st.level)
		return;
	str_escape(escaped, RELAYED_MAX, text);
	strlcat(escaped, mark, sizeof escaped);
	put(level, forced, escaped);
	errno = saved;
}

int
log_set_locations(const struct strlist *lists)
{
	return strlist_copy(&st.locations, lists);
}

const struct strlist *
log_locations(void)
{
	return &st.locations;
}

bool
log_is_forced(void)
{
	return st.forced;
}

bool
log_demote(bool on)
{
	bool was = st.demote;

	st.demote = on;
	return was;
}

void
fatal_at(const struct log_location *location, const char *fmt, ...)
{
	static bool dying;
	char prefix[LOCATION_MAX];
	va_list ap;

	if (location_prefix(location, prefix, sizeof prefix)[0] != '\0' ||
	    LOG_LVL_FATAL <= st.level) {
		va_start(ap, fmt);
		emit(LOG_LVL_FATAL, prefix, fmt, ap);
		va_end(ap);
	}
	if (!dying && st.fatal_hook != NULL) {
		dying = true;
		st.fatal_hook();
	}
	exit(255);
}

void
fatal_set_hook(void (*hook)(void))
{
	st.fatal_hook = hook;
}
