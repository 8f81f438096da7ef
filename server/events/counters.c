/* SPDX-License-Identifier: ISC */
#include "server/events/counters-internal.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/proc.h"
#include "conf/defaults.h"

#define MAGIC UINT64_C(0x68706e636f756e74)

enum { BUSY_AGAIN_MS = 1000 };

char *
counters_path(const struct server_conf *c)
{
	static const char end[] = ".pid";
	const char *pid = c->listen.pid_file;
	size_t len;
	char *path;

	if (pid == NULL) {
		xasprintf(&path, "%s/hpnsshd-%s.counters", RUNSTATEDIR,
		    c->listen.port.n > 0 ? c->listen.port.v[0] : "0");
		return path;
	}
	len = strlen(pid);
	if (len >= sizeof end - 1 &&
	    strcmp(pid + len - (sizeof end - 1), end) == 0)
		len -= sizeof end - 1;
	xasprintf(&path, "%.*s.counters", (int)len, pid);
	return path;
}

/* ---- the file ------------------------------------------------------------ */

static void
tell(struct counters *c, const char *what)
{
	if (!c->told)
		log_error("counters %s: %s", c->path, what);
	c->told = true;
}

uint64_t
counters_sum(const void *p, size_t len)
{
	const uint8_t *bytes = p;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static uint64_t
sum_of(const struct counters_head *h)
{
	return counters_sum(h, offsetof(struct counters_head, sum));
}

static bool
is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	    st->st_nlink == 1 && (st->st_mode & 077) == 0;
}

/* Writes once. SIGXFSZ is ignored meanwhile, because a limit on the size of
 * files must not end the process. */
static int
put(int fd, const void *p, size_t len, uint64_t offset)
{
	int r;

	(void)signal(SIGXFSZ, SIG_IGN);
	r = fd_pwrite_all(fd, p, len, offset);
	(void)signal(SIGXFSZ, SIG_DFL);
	return r;
}

/* Opens the file, or makes it. A file of that name that is not ours is removed:
 * nobody else may put anything there. */
static int
open_file(struct counters *c)
{
	struct stat st;

	for (int turn = 0; turn < 2; turn++) {
		c->fd = open(c->path,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			O_CLOEXEC,
		    0600);
		if (c->fd != -1 && fstat(c->fd, &st) == 0 && is_ours(&st))
			return 0;
		if (c->fd == -1 && errno != ELOOP && errno != ENXIO)
			break;
		fd_close(&c->fd);
		log_error("counters %s: not this server's file; made anew",
		    c->path);
		if (unlink(c->path) == -1 && errno != ENOENT)
			break;
		errno = EEXIST;
	}
	tell(c, errno == ENOENT ? "No such file or directory: they are made "
				  "in the directory of PidFile" :
				  strerror(errno));
	fd_close(&c->fd);
	return ERR_SYSTEM;
}

static int
wait_for_lock(int fd)
{
	enum { STEP_US = 1000 };
	uint64_t end_ms = clock_ms() + COUNTERS_WAIT_MS;

	while (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return ERR_SYSTEM;
		if (clock_ms() >= end_ms)
			return ERR_AGAIN;
		clock_sleep_us(STEP_US);
	}
	return 0;
}

/* Sets all totals to zero in the existing file, so that other processes go on
 * with the same file. The truncation also zeroes old slots. */
static int
make_head(struct counters *c)
{
	memset(&c->head, 0, sizeof c->head);
	c->head.magic = MAGIC;
	c->head.version = COUNTERS_VERSION;
	c->head.counters = COUNTER_COUNT;
	c->head.since = (uint64_t)time(NULL);
	return ftruncate(c->fd, 0) == 0 ? 0 : ERR_SYSTEM;
}

/* Reads the head. A damaged file is made anew. A file of a later version is
 * left alone, because programs of that version count in it. */
static int
get_head(struct counters *c)
{
	struct counters_head *h = &c->head;
	ssize_t n = fd_pread_all(c->fd, h, sizeof *h, 0);

	if (n == 0)
		return make_head(c);
	if (n >= (ssize_t)offsetof(struct counters_head, since) &&
	    h->magic == MAGIC && h->version > COUNTERS_VERSION) {
		tell(c, "made by a later version, and not used");
		return ERR_SYSTEM;
	}
	if (n == (ssize_t)sizeof *h && h->magic == MAGIC &&
	    h->version == COUNTERS_VERSION && h->counters == COUNTER_COUNT &&
	    h->used <= COUNTERS_SLOTS && h->sum == sum_of(h))
		return 0;
	log_error("counters %s: %s; they begin at 0 again", c->path,
	    n >= (ssize_t)offsetof(struct counters_head, since) &&
		    h->magic == MAGIC && h->version < COUNTERS_VERSION ?
		"made by an earlier version" : "broken");
	return make_head(c);
}

int
counters_put_head(struct counters *c)
{
	c->head.sum = sum_of(&c->head);
	return put(c->fd, &c->head, sizeof c->head, 0) == 0 ? 0 : ERR_SYSTEM;
}

/* ---- slots -------------------------------------------------------------- */

static uint64_t
slot_place(uint64_t i)
{
	return COUNTERS_HEAD + i * COUNTERS_SLOT;
}

/* Reads all slots, c->head.used; those behind the end of the file are zero,
 * that is, free. Caller frees. */
struct counters_slot *
counters_get_slots(struct counters *c)
{
	size_t n = (size_t)c->head.used;
	struct counters_slot *s = xcalloc(n + 1, sizeof *s);
	ssize_t got = fd_pread_all(c->fd, s, n * sizeof *s, slot_place(0));
	size_t whole = got > 0 ? (size_t)got / sizeof *s : 0;

	memset(s + whole, 0, (n - whole) * sizeof *s);
	return s;
}

int
counters_put_slots(struct counters *c, const struct counters_slot *s)
{
	return put(c->fd, s, (size_t)c->head.used * sizeof *s,
		   slot_place(0)) == 0 ? 0 : ERR_SYSTEM;
}

static int
put_slot(struct counters *c, uint64_t i, const struct counters_slot *s)
{
	return put(c->fd, s, sizeof *s, slot_place(i)) == 0 ? 0 : ERR_SYSTEM;
}

static bool
is_alive(const struct counters_slot *s)
{
	uint64_t start;
	pid_t pid = (pid_t)s->pid;

	if (pid <= 0 || (uint64_t)pid != s->pid)
		return false;
	if (proc_start(pid, &start) == 0)
		return start == s->start;
	return errno == ENOSYS;
}

static void
free_slot(struct counters *c, uint64_t i, struct counters_slot *s)
{
	memset(s, 0, sizeof *s);
	(void)put_slot(c, i, s);
}

/* Frees the slots of processes that have ended. */
static void
sweep(struct counters *c, struct counters_slot *s)
{
	for (uint64_t i = 0; i < c->head.used; i++)
		if (s[i].pid != 0 && !is_alive(&s[i]))
			free_slot(c, i, &s[i]);
}

static bool
is_mine(const struct counters *c, const struct counters_slot *s)
{
	return s->pid == c->mine.pid && s->start == c->mine.start;
}

/* Takes a free slot. If there is none, this connection counts in the totals
 * only. */
static int
take_slot(struct counters *c)
{
	struct counters_slot *s = counters_get_slots(c);
	uint64_t i = 0;

	for (int turn = 0; turn < 2; turn++) {
		for (i = 0; i < c->head.used && s[i].pid != 0; i++)
			;
		if (i < COUNTERS_SLOTS)
			break;
		sweep(c, s);
	}
	free(s);
	if (i == COUNTERS_SLOTS) {
		tell(c, "no room for further connections");
		return ERR_LIMIT;
	}
	if (i == c->head.used) {
		c->head.used++;
		if (counters_put_head(c) != 0)
			return ERR_SYSTEM;
	}
	c->at = (int64_t)i;
	return put_slot(c, i, &c->mine);
}

/* Makes sure that this process still has its slot; another one may have made
 * the file anew. */
static int
keep_slot(struct counters *c)
{
	struct counters_slot s = { 0 };
	int r;

	if (c->at >= 0 && (uint64_t)c->at < c->head.used &&
	    fd_pread_all(c->fd, &s, sizeof s, slot_place((uint64_t)c->at)) ==
		(ssize_t)sizeof s &&
	    is_mine(c, &s)) {
		/* mine.got is taken from the file: another process may have
		 * computed it. */
		memcpy(c->mine.got, s.got, sizeof c->mine.got);
		return 0;
	}
	c->at = -1;
	r = take_slot(c);
	return r == ERR_LIMIT ? 0 : r;
}

/* ---- under the lock ------------------------------------------------------ */

void
counters_unlock(struct counters *c)
{
	(void)flock(c->fd, LOCK_UN);
}

/* Opens the file if it is not open, and takes the lock. A file without a name
 * was replaced meanwhile, and is opened again. */
static int
lock(struct counters *c)
{
	struct stat st;
	int r;

	for (;;) {
		if (c->fd == -1 && (r = open_file(c)) != 0)
			return r;
		if ((r = wait_for_lock(c->fd)) != 0)
			return r;
		if (fstat(c->fd, &st) == 0 && st.st_nlink > 0)
			break;
		fd_close(&c->fd);
	}
	if ((r = get_head(c)) == 0 && c->mine.pid != 0)
		r = keep_slot(c);
	if (r != 0) {
		tell(c, strerror(errno));
		fd_close(&c->fd);
	}
	return r;
}

/* Adds what was counted to the totals in the file, by one write. */
static int
hand_over(struct counters *c)
{
	int r;

	for (int i = 0; i < COUNTER_COUNT; i++)
		c->head.total[i] += c->todo[i];
	if ((r = counters_put_head(c)) == 0)
		memset(c->todo, 0, sizeof c->todo);
	if (r == 0 && c->mine_is_new && (r = counters_put_mine(c)) == 0)
		c->mine_is_new = false;
	return r;
}

/* A process that has held the lock for that long, perhaps because it was
 * stopped, may hold it longer. So events do not wait for it each time. */
int
counters_lock_often(struct counters *c)
{
	int r;

	if (c->busy_ms != 0 && clock_ms() - c->busy_ms < BUSY_AGAIN_MS)
		return ERR_AGAIN;
	r = lock(c);
	c->busy_ms = r == ERR_AGAIN ? clock_ms() : 0;
	return r;
}

int
counters_flush(struct counters *c)
{
	int r = counters_lock_often(c);

	if (r != 0)
		return r;
	r = hand_over(c);
	counters_unlock(c);
	return r;
}

/* ---- for monitors -------------------------------------------------------- */

struct counters *
counters_new(const char *path)
{
	struct counters *c = xcalloc(1, sizeof *c);
	pid_t pid = getpid();

	c->path = xstrdup(path);
	c->fd = -1;
	c->at = -1;
	c->mine.pid = (uint64_t)pid;
	c->mine.uid = COUNTERS_NOBODY;
	c->mine.limits = (struct counters_limits){ .user_max = UINT64_MAX,
		.group_max = UINT64_MAX };
	if (proc_start(pid, &c->mine.start) != 0)
		c->mine.start = 0;
	return c;
}

struct counters *
counters_new_aside(const char *path)
{
	struct counters *c = counters_new(path);

	c->mine.pid = 0;
	return c;
}

void
counters_leave(struct counters *c)
{
	struct counters_slot s;

	if (lock(c) != 0)
		return;
	(void)hand_over(c);
	if (c->at >= 0)
		free_slot(c, (uint64_t)c->at, &s);
	c->at = -1;
	c->mine.pid = 0;
	counters_unlock(c);
}

void
counters_free(struct counters *c)
{
	if (c == NULL)
		return;
	if (c->fd != -1 && c->mine.pid != 0)
		counters_leave(c);
	fd_close(&c->fd);
	free(c->path);
	free(c);
}

void
counters_count(struct counters *c, enum counter counter, uint64_t n)
{
	if (c != NULL && counter < COUNTER_COUNT)
		c->todo[counter] += n;
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static uint64_t
count_different(uint64_t *v, size_t n)
{
	uint64_t different = 0;

	qsort(v, n, sizeof *v, by_number);
	for (size_t i = 0; i < n; i++)
		different += i == 0 || v[i] != v[i - 1];
	return different;
}

static void
sum_up(const struct counters_slot *s, size_t n, struct counters_now *now)
{
	uint64_t *uids = xcalloc(n + 1, sizeof *uids);
	size_t logged_in = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i].pid == 0)
			continue;
		now->connections++;
		if (s[i].uid == COUNTERS_NOBODY)
			continue;
		uids[logged_in++] = s[i].uid;
		now->sessions += s[i].sessions;
	}
	now->users = count_different(uids, logged_in);
	free(uids);
}

int
counters_look(struct counters *c, struct counters_now *now)
{
	struct counters_slot *s;
	int r = lock(c);

	memset(now, 0, sizeof *now);
	if (r != 0)
		return r;
	r = hand_over(c);
	s = counters_get_slots(c);
	sweep(c, s);
	memcpy(now->total, c->head.total, sizeof now->total);
	now->since = c->head.since;
	sum_up(s, (size_t)c->head.used, now);
	counters_unlock(c);
	free(s);
	return r;
}

static bool
is_alone(struct counters *c)
{
	struct counters_slot *s = counters_get_slots(c);
	bool alone = true;

	for (uint64_t i = 0; alone && i < c->head.used; i++)
		alone = s[i].pid == 0 || is_mine(c, &s[i]) || !is_alive(&s[i]);
	free(s);
	return alone;
}

bool
counters_turn(struct counters *c, uint64_t every_ms, bool at_end)
{
	uint64_t now = clock_ms(), written;
	bool turn;

	if (lock(c) != 0)
		return false;
	written = c->head.written_ms;
	/* A time in the future was written before the machine last started. */
	turn = written == 0 || written > now || now - written >= every_ms ||
	    (at_end && is_alone(c));
	if (turn) {
		c->head.written_ms = now;
		turn = counters_put_head(c) == 0;
	}
	counters_unlock(c);
	return turn;
}

/* ---- limits -------------------------------------------------------------- */

/* Counts a user's connections, or the sessions on them. Slots of processes that
 * have ended are freed only if that could bring the number below max. */
static uint64_t
have(struct counters *c, uint64_t uid, uint64_t max, bool sessions)
{
	struct counters_slot *s = counters_get_slots(c);
	uint64_t n = 0;

	for (int turn = 0; turn < 2; turn++) {
		n = 0;
		for (uint64_t i = 0; i < c->head.used; i++)
			if (s[i].pid != 0 && s[i].uid == uid)
				n += sessions ? s[i].sessions : 1;
		if (n < max)
			break;
		sweep(c, s);
	}
	free(s);
	return n;
}

int
counters_put_mine(struct counters *c)
{
	return c->at >= 0 ? put_slot(c, (uint64_t)c->at, &c->mine) : 0;
}

int
counters_login(struct counters *c, uid_t uid, uint64_t max)
{
	int r = lock(c);

	if (r != 0) {
		c->mine.uid = uid;
		return r;
	}
	if (have(c, uid, max, false) >= max) {
		r = ERR_LIMIT;
	} else {
		c->mine.uid = uid;
		r = counters_put_mine(c);
	}
	counters_unlock(c);
	return r;
}

int
counters_session(struct counters *c, uint64_t max)
{
	int r = lock(c);

	if (r != 0) {
		c->mine.sessions++;
		return r;
	}
	if (have(c, c->mine.uid, max, true) >= max) {
		r = ERR_LIMIT;
	} else {
		c->mine.sessions++;
		r = counters_put_mine(c);
	}
	counters_unlock(c);
	return r;
}

void
counters_session_end(struct counters *c)
{
	if (c->mine.sessions == 0)
		return;
	c->mine.sessions--;
	if (lock(c) != 0)
		return;
	(void)!counters_put_mine(c);
	counters_unlock(c);
}

void
counters_note_sessions(struct counters *c, uint64_t n)
{
	c->mine.sessions = n;
	c->mine_is_new = true;
}
