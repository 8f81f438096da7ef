/* SPDX-License-Identifier: ISC */
#include "compat/proc.h"

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define OPEN_ONES "/proc/self/fd"
#elif defined(__FreeBSD__)
#include <sys/procctl.h>
#include <sys/sysctl.h>
#include <sys/user.h>
#include <sys/wait.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>
#include <sys/sysctl.h>

/* <sys/ptrace.h>, which not every set of headers has. */
int ptrace(int request, pid_t pid, char *address, int data);
enum { DENY_ATTACH = 31 };
#endif
#ifndef OPEN_ONES
#define OPEN_ONES "/dev/fd"
#endif

enum {
	/* Most descriptors that are closed without knowing whether they are
	 * open, if the resource limit gives no useful number. */
	BLIND_MAX = 1 << 20,
	TITLE_MAX = 2048,
};

extern char **environ;

/* ---- descriptors -------------------------------------------------------- */

#ifndef __FreeBSD__
/* Closes the open descriptors that the system lists, from low on. Returns how
 * many were closed; -1: there is no list. */
static int
close_listed(int low)
{
	DIR *d = opendir(OPEN_ONES);
	const struct dirent *e;
	char *end;
	long fd;
	int closed = 0;

	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL) {
		fd = strtol(e->d_name, &end, 10);
		if (end == e->d_name || *end != '\0' || fd < low ||
		    fd > INT_MAX || fd == dirfd(d))
			continue;
		if (close((int)fd) == 0)
			closed++;
	}
	closedir(d);
	return closed;
}

/* Closes all numbers from low on. The soft limit may be lower than a descriptor
 * that was opened before it was lowered. */
static void
close_blindly(int low)
{
	struct rlimit rl;
	int end = BLIND_MAX;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_max < BLIND_MAX)
		end = (int)rl.rlim_max;
	for (int fd = low; fd < end; fd++)
		(void)close(fd);
}
#endif

void
proc_close_from(int low)
{
#if defined(__FreeBSD__)
	closefrom(low);
#else
	int closed;

#if defined(SYS_close_range)
	/* Linux 5.9 and later. */
	if (syscall(SYS_close_range, (unsigned)low, ~0U, 0U) == 0)
		return;
#endif
	/* Repeated, as closing may change the list while it is read. */
	while ((closed = close_listed(low)) > 0)
		continue;
	if (closed == -1)
		close_blindly(low);
#endif
}

/* ---- the title ---------------------------------------------------------- */

static const char *own_name;

const char *
proc_name(void)
{
	if (own_name != NULL)
		return own_name;
#if defined(__linux__)
	return program_invocation_short_name;
#else
	return getprogname();
#endif
}

#if defined(__linux__)
/* Where the kernel has put arguments and environment, one behind the other, and
 * where ps(1) reads them. */
static struct {
	char *begin, *end;
	char *moved[2]; /* what they are now, for those who look for leaks */
} area;

/* Extends the area by the strings of a list, as long as each begins where the
 * area ends. */
static void
measure(char **list)
{
	for (; *list != NULL && *list == area.end; list++)
		area.end += strlen(*list) + 1;
}

/* A copy of all strings of a list, in the same list of pointers. Memory that
 * is missing leaves them where they are. */
static char *
move(char **list)
{
	size_t len = 0, n;
	char *copy, *to;

	for (size_t i = 0; list[i] != NULL; i++)
		len += strlen(list[i]) + 1;
	if (len == 0 || (copy = malloc(len)) == NULL)
		return NULL;
	to = copy;
	for (size_t i = 0; list[i] != NULL; i++) {
		n = strlen(list[i]) + 1;
		memcpy(to, list[i], n);
		list[i] = to;
		to += n;
	}
	return copy;
}

/* The C library's names of this program are places in the first argument. */
static void
move_name(const char *called)
{
	const char *slash = strrchr(called, '/');

	program_invocation_name = (char *)(uintptr_t)called;
	program_invocation_short_name = (char *)(uintptr_t)(slash == NULL ?
		called : slash + 1);
}

static void
take_area(char **argv)
{
	area.begin = area.end = argv[0];
	measure(argv);
	if (environ != NULL)
		measure(environ);
	area.moved[0] = move(argv);
	if (area.moved[0] == NULL) {
		area.begin = NULL;
		return;
	}
	move_name(argv[0]);
	if (environ != NULL && environ[0] != NULL &&
	    (area.moved[1] = move(environ)) == NULL)
		area.end = area.begin; /* the environment is still there */
}
#endif

void
proc_title_begin(int argc, char **argv, const char *name)
{
#if defined(__linux__)
	if (argc > 0 && area.begin == NULL)
		take_area(argv);
	if (name != NULL)
		(void)prctl(PR_SET_NAME, name, 0, 0, 0);
#else
	(void)argc;
	(void)argv;
	if (name != NULL)
		setprogname(name);
#endif
	own_name = name;
}

void
proc_title(const char *fmt, ...)
{
	char text[TITLE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
#if defined(__linux__)
	/* ps(1) reads on behind the arguments where no zero ends them; so only
	 * zeros may follow a title. */
	size_t room = (size_t)(area.end - area.begin);

	if (area.begin == NULL || room == 0)
		return;
	memset(area.begin, 0, room);
	(void)snprintf(area.begin, room, "%s: %s", proc_name(), text);
#elif defined(__FreeBSD__)
	setproctitle("%s", text);
#endif
}

/* ---- environment, program ----------------------------------------------- */

int
proc_clear_env(void)
{
#if defined(__linux__)
	return clearenv() == 0 ? 0 : -1;
#else
	static char *none[] = { NULL };

	environ = none;
	return 0;
#endif
}

#if defined(__linux__)
/* Where no /proc is mounted: the path that the program was started by. A
 * program with more rights than its caller does not heed it. */
static int
path_of_start(char *out, size_t size)
{
	const char *name = getauxval(AT_SECURE) == 0 ?
	    (const char *)getauxval(AT_EXECFN) : NULL;
	char *path = name != NULL ? realpath(name, NULL) : NULL;
	int r = -1;

	if (path != NULL && strlen(path) < size) {
		memcpy(out, path, strlen(path) + 1);
		r = 0;
	}
	free(path);
	return r;
}
#endif

int
proc_self_path(char *out, size_t size)
{
#if defined(__linux__)
	ssize_t n = readlink("/proc/self/exe", out, size);

	if (n == -1)
		return path_of_start(out, size);
	if (n == 0 || (size_t)n >= size)
		return -1;
	out[n] = '\0';
	return 0;
#elif defined(__FreeBSD__)
	int name[] = { CTL_KERN, KERN_PROC, KERN_PROC_PATHNAME, -1 };

	return sysctl(name, 4, out, &size, NULL, 0);
#elif defined(__APPLE__)
	uint32_t room = (uint32_t)size;

	return _NSGetExecutablePath(out, &room) == 0 ? 0 : -1;
#else
	(void)out;
	(void)size;
	return -1;
#endif
}

void
proc_execute_self(char **argv, char **env)
{
#if defined(__linux__)
	(void)execve("/proc/self/exe", argv, env);
#else
	char path[PATH_MAX];

	if (proc_self_path(path, sizeof path) == 0)
		(void)execve(path, argv, env);
#endif
}

/* ---- others ------------------------------------------------------------- */

/* Returns -1 with the errno for a process whose beginning is not known: ENOSYS
 * if it exists, else ESRCH. */
static int
no_start(pid_t pid)
{
	if (kill(pid, 0) == 0 || errno == EPERM)
		errno = ENOSYS;
	return -1;
}

#if defined(__linux__)
/* Reads /proc/PID/stat into text. Returns the fields behind the program's name,
 * which may contain any character. */
static const char *
stat_fields(pid_t pid, char *text, size_t size)
{
	char path[32];
	const char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return NULL;
	n = read(fd, text, size - 1);
	(void)close(fd);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end + 2 : NULL;
}

int
proc_start(pid_t pid, uint64_t *start)
{
	enum { STAT_MAX = 1024, FIELDS_BEFORE = 19 };
	char text[STAT_MAX], *end;
	const char *p = stat_fields(pid, text, sizeof text);

	if (p != NULL && (*p == 'Z' || *p == 'X')) {
		errno = ESRCH;
		return -1;
	}
	for (int i = 0; p != NULL && i < FIELDS_BEFORE; i++)
		if ((p = strchr(p, ' ')) != NULL)
			p++;
	if (p == NULL)
		return no_start(pid);
	*start = strtoull(p, &end, 10);
	return end != p ? 0 : no_start(pid);
}
#elif defined(__FreeBSD__) || defined(__APPLE__)
#if defined(__FreeBSD__)
#define STATE(info) ((info).ki_stat)
#define BEGAN(info) ((info).ki_start)
#else
#define STATE(info) ((info).kp_proc.p_stat)
#define BEGAN(info) ((info).kp_proc.p_starttime)
#endif
int
proc_start(pid_t pid, uint64_t *start)
{
	enum { SECOND = 1000 * 1000 };
	int name[] = { CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)pid };
	struct kinfo_proc info;
	size_t len = sizeof info;

	memset(&info, 0, sizeof info);
	/* On macOS the call succeeds with no data if the process does not
	 * exist. */
	if (sysctl(name, 4, &info, &len, NULL, 0) == -1 || len == 0)
		return no_start(pid);
	if (STATE(info) == SZOMB) {
		errno = ESRCH;
		return -1;
	}
	*start = (uint64_t)BEGAN(info).tv_sec * SECOND +
	    (uint64_t)BEGAN(info).tv_usec;
	return 0;
}
#else
int
proc_start(pid_t pid, uint64_t *start)
{
	*start = 0;
	return no_start(pid);
}
#endif

/* ---- what it gives up --------------------------------------------------- */

#if defined(__linux__)
static int
control(int what, unsigned long value)
{
	return prctl(what, value, 0, 0, 0) == -1 ? -1 : 0;
}
#elif defined(__FreeBSD__)
static int
control(int what, int value)
{
	return procctl(P_PID, 0, what, &value) == -1 ? -1 : 0;
}
#endif

#if !defined(__linux__) && !defined(__FreeBSD__)
static int
has_none(void)
{
	errno = ENOSYS;
	return -1;
}
#endif

int
proc_hide(void)
{
#if defined(__linux__)
	return control(PR_SET_DUMPABLE, 0);
#elif defined(__FreeBSD__)
	return control(PROC_TRACE_CTL, PROC_TRACE_CTL_DISABLE);
#elif defined(__APPLE__)
	return ptrace(DENY_ATTACH, 0, NULL, 0);
#else
	return has_none();
#endif
}

int
proc_unhide(void)
{
#if defined(__linux__)
	return control(PR_SET_DUMPABLE, 1);
#elif defined(__FreeBSD__)
	return control(PROC_TRACE_CTL, PROC_TRACE_CTL_ENABLE);
#else
	return has_none();
#endif
}

int
proc_no_new_privs(void)
{
#if defined(__linux__)
	return control(PR_SET_NO_NEW_PRIVS, 1);
#elif defined(PROC_NO_NEW_PRIVS_CTL)
	return control(PROC_NO_NEW_PRIVS_CTL, PROC_NO_NEW_PRIVS_ENABLE);
#else
	return has_none();
#endif
}

int
proc_end_with_parent(void)
{
#if defined(__linux__)
	return control(PR_SET_PDEATHSIG, SIGKILL);
#elif defined(PROC_PDEATHSIG_CTL)
	return control(PROC_PDEATHSIG_CTL, SIGKILL);
#else
	return has_none();
#endif
}

bool
proc_keeps_caps(void)
{
#if defined(__linux__)
	return prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) == 1;
#else
	return false;
#endif
}

void
proc_keep_caps(void)
{
#if defined(__linux__)
	(void)control(PR_SET_KEEPCAPS, 1);
#endif
}

void
proc_reset_signals(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void
proc_drop_signals(const sigset_t *signals)
{
#if defined(__APPLE__)
	sigset_t come, one;
	int signo;

	while (sigpending(&come) == 0) {
		for (signo = 1; signo < NSIG; signo++)
			if (sigismember(signals, signo) == 1 &&
			    sigismember(&come, signo) == 1)
				break;
		if (signo == NSIG)
			return;
		sigemptyset(&one);
		sigaddset(&one, signo);
		if (sigwait(&one, &signo) != 0)
			return;
	}
#else
	const struct timespec at_once = { 0, 0 };

	while (sigtimedwait(signals, NULL, &at_once) > 0)
		continue;
#endif
}
