/* SPDX-License-Identifier: ISC */
#include "server/listener/hash-survey.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/file.h"
#include "compat/libc.h"
#include "compat/proc.h"
#include "compat/sock.h"
#include "server/oom.h"

enum {
	FILE_MAX = 8 * 1024 * 1024, /* bytes of the file that are read */
	ACCOUNTS_MAX = 4096,	    /* lines of the file that are read */
	USES_MAX = 16,		    /* settings that are told apart */
	/* In milliseconds of CPU time. A hash that takes longer is stopped, and
	 * counts as this. */
	HASH_MAX_MS = 2000,
	/* In microseconds of CPU time for all settings. Later ones are not
	 * measured, and count as HASH_MAX_MS. */
	ALL_MAX_US = 5 * 1000 * 1000,
	CHEAP_US = 100 * 1000, /* microseconds; a cheaper hash is measured
				* several times */
	MEASURES = 3,
	ONCE_MS = 2000,		    /* how long hash_survey_once() waits */
	ANSWER_MAX = 4096,
	LOOK_MS = 5000,
};

struct hash_survey {
	struct loop *loop;
	hash_survey_fn found;
	void *arg;
	int fd; /* pipe from a child that has not answered yet; or -1 */
	struct loop_fd *watch;
	struct buf answer;
	struct stat seen; /* of the file when it was read last */
	uint64_t looked_ms;
};

/* ---- in the child ------------------------------------------------------- */

struct survey {
	struct decoy_use uses[USES_MAX];
	size_t n;
};

static void
count_use(struct survey *s, const char *field)
{
	char *setting = decoy_setting(field);
	size_t i;

	if (setting == NULL)
		return;
	for (i = 0; i < s->n; i++)
		if (strcmp(s->uses[i].setting, setting) == 0)
			break;
	if (i < s->n || s->n == USES_MAX ||
	    strlen(setting) >= DECOY_SETTING_MAX) {
		free(setting);
		if (i == s->n)
			return;
	} else {
		s->uses[s->n].is_first = s->n == 0;
		s->uses[s->n++].setting = setting;
	}
	s->uses[i].accounts++;
}

/* Counts the settings of all accounts. text is cut into lines and fields in
 * place. */
static void
read_accounts(struct survey *s, char *text)
{
	char *line, *field;

	for (int i = 0; i < ACCOUNTS_MAX &&
	    (line = strsep(&text, "\n")) != NULL; i++) {
		(void)strsep(&line, ":");
		if ((field = strsep(&line, ":")) != NULL)
			count_use(s, field);
	}
}

/* Reads the file into memory that is wiped, and with read(2): the C library
 * would leave lines of it in its own buffers. */
static void
read_shadow(struct survey *s)
{
	int fd = open(LIBC_HASHES_FILE, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct buf b;
	uint8_t *to;
	ssize_t n;

	buf_init_secret(&b);
	while (fd != -1 && buf_len(&b) < FILE_MAX &&
	    (to = buf_reserve(&b, 64 * 1024)) != NULL &&
	    (n = fd_read(fd, to, 64 * 1024)) > 0)
		buf_commit(&b, (size_t)n);
	buf_put_u8(&b, 0);
	if (buf_err(&b) == 0)
		read_accounts(s, (char *)(uintptr_t)buf_data(&b));
	buf_clear(&b);
	fd_close(&fd);
}

static void
count_standard(struct survey *s)
{
	const char *setting = libc_password_setting();

	s->uses[s->n++].setting = setting != NULL ? setting : DECOY_STANDARD;
}

static uint64_t
own_cpu_us(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) == -1)
		return 0;
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
	    1000000 +
	    (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Hashes in a process of its own, which a timer ends, because a setting may ask
 * for hours of work. Writes the CPU time of each hash to out, in microseconds.
 * Only the hash is in it, not the process: a monitor divides by this what a
 * module has spent, to guess how many hashes that were. */
static _Noreturn void
run_hashes(int out, const char *setting)
{
	const struct itimerval limit = {
		.it_value.tv_sec = HASH_MAX_MS / 1000 };
	char got[LIBC_HASH_MAX];
	uint64_t began_us, us = 0;

	signal(SIGPROF, SIG_DFL);
	for (int i = 0; i < MEASURES && us < CHEAP_US; i++) {
		(void)setitimer(ITIMER_PROF, &limit, NULL);
		began_us = own_cpu_us();
		(void)libc_hash_password("", setting, got);
		us = MAX(own_cpu_us() - began_us, (uint64_t)1);
		if (fd_write_all(out, &us, sizeof us) != 0)
			break;
	}
	_exit(0);
}

/* CPU time in microseconds of a hash. A cheap one is measured several times and
 * the least counts: other load makes a hash look more expensive, never
 * cheaper. */
static uint64_t
measure(const char *setting)
{
	uint64_t least_us = HASH_MAX_MS * 1000, us;
	int ends[2];
	pid_t pid;

	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return least_us;
	pid = fork();
	if (pid == 0)
		run_hashes(ends[1], setting);
	fd_close(&ends[1]);
	while (pid != -1 &&
	    read(ends[0], &us, sizeof us) == (ssize_t)sizeof us)
		least_us = MIN(least_us, us);
	fd_close(&ends[0]);
	if (pid != -1)
		(void)waitpid(pid, NULL, 0);
	return least_us;
}

static int
by_accounts(const void *a, const void *b)
{
	const struct decoy_use *x = a, *y = b;

	return (x->accounts < y->accounts) - (x->accounts > y->accounts);
}

static _Noreturn void
run_child(int out, bool measures)
{
	struct survey s = { .n = 0 };
	struct decoys d;
	struct buf b = { 0 };
	uint64_t spent_us = 0;

	oom_give_back(OOM_FILE, oom_before());
	(void)proc_hide();
	(void)proc_end_with_parent();
	/* Closes what is the listener's: sockets, and the file with the host's
	 * keys. */
	if (dup2(out, STDIN_FILENO) == -1)
		_exit(1);
	proc_close_from(STDERR_FILENO + 1);
	read_shadow(&s);
	/* Nobody has a password: takes the method for new ones. */
	if (s.n == 0)
		count_standard(&s);
	qsort(s.uses, s.n, sizeof s.uses[0], by_accounts);
	for (size_t i = 0; measures && i < s.n; i++) {
		s.uses[i].cost_us = spent_us < ALL_MAX_US ?
		    measure(s.uses[i].setting) : HASH_MAX_MS * 1000;
		spent_us += s.uses[i].cost_us;
	}
	decoys_choose(&d, s.uses, s.n);
	decoys_export(&d, &b);
	_exit(buf_err(&b) == 0 && fd_write_all(STDIN_FILENO, buf_data(&b),
		  buf_len(&b)) == 0 ? 0 : 1);
}

/* ---- in the listener ---------------------------------------------------- */

/* Returns the end of a pipe to read the child's answer from, or -1. */
static int
start_child(pid_t *pid, bool measures)
{
	int ends[2];

	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return -1;
	*pid = fork();
	if (*pid == 0)
		run_child(ends[1], measures);
	fd_close(&ends[1]);
	if (*pid == -1)
		fd_close(&ends[0]);
	return ends[0];
}

static int
take(const struct buf *answer, struct decoys *d)
{
	struct rd in = rd_from_buf(answer);
	int r = decoys_import(d, &in);

	return r != 0 ? r : rd_end(&in);
}

static void
forget_child(struct hash_survey *s)
{
	loop_unwatch(s->loop, s->watch);
	s->watch = NULL;
	fd_close(&s->fd);
	buf_reset(&s->answer);
}

static void
on_answer(void *arg, int fd, int events)
{
	struct hash_survey *s = arg;
	struct decoys d = { 0 };
	uint8_t part[512];
	ssize_t n = fd_read(fd, part, sizeof part);
	bool is_good;

	(void)events;
	if (n > 0) {
		buf_put(&s->answer, part, (size_t)n);
		if (buf_len(&s->answer) <= ANSWER_MAX)
			return;
	}
	is_good = n == 0 && take(&s->answer, &d) == 0;
	if (!is_good)
		log_error("cannot find out how accounts are hashed");
	forget_child(s);
	s->found(s->arg, is_good ? &d : NULL);
	decoys_clear(&d);
}

static void
begin(struct hash_survey *s)
{
	pid_t pid;

	/* Before the child reads: a change after this stat() is found by
	 * hash_survey_look(). */
	if (stat(LIBC_HASHES_FILE, &s->seen) == -1 || geteuid() != 0)
		return;
	s->fd = start_child(&pid, true);
	if (s->fd == -1)
		return;
	s->watch = loop_watch(s->loop, s->fd, LOOP_READ, on_answer, s);
	if (s->watch == NULL)
		fatal("out of memory");
}

struct hash_survey *
hash_survey_new(struct loop *loop, hash_survey_fn found, void *arg)
{
	struct hash_survey *s = xcalloc(1, sizeof *s);

	s->loop = loop;
	s->found = found;
	s->arg = arg;
	s->fd = -1;
	s->looked_ms = clock_ms();
	begin(s);
	return s;
}

bool
hash_survey_runs(const struct hash_survey *s)
{
	return s != NULL && s->fd != -1;
}

void
hash_survey_free(struct hash_survey *s)
{
	if (s == NULL)
		return;
	forget_child(s);
	buf_clear(&s->answer);
	free(s);
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	    a->st_size == b->st_size &&
	    a->FILE_MTIME.tv_sec == b->FILE_MTIME.tv_sec &&
	    a->FILE_MTIME.tv_nsec == b->FILE_MTIME.tv_nsec;
}

void
hash_survey_look(struct hash_survey *s, uint64_t now_ms)
{
	struct stat now;

	if (s == NULL || s->fd != -1 || now_ms - s->looked_ms < LOOK_MS)
		return;
	s->looked_ms = now_ms;
	if (stat(LIBC_HASHES_FILE, &now) == 0 && !is_same(&now, &s->seen))
		begin(s);
}

void
hash_survey_once(struct decoys *d)
{
	struct buf answer = { 0 };
	pid_t pid;
	int fd, r = ERR_SYSTEM;

	if (geteuid() == 0 && (fd = start_child(&pid, false)) != -1) {
		r = child_read_all(fd, clock_ms() + ONCE_MS, ANSWER_MAX,
		    &answer);
		if (r == 0)
			r = take(&answer, d);
		fd_close(&fd);
		if (r != 0)
			kill(pid, SIGKILL);
		(void)!child_wait(pid);
	}
	if (r != 0)
		decoys_choose(d, NULL, 0);
	buf_clear(&answer);
}
