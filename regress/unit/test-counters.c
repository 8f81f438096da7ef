/* SPDX-License-Identifier: ISC */
/*
 * The counters of all monitors: nothing is lost or counted twice by processes
 * that count at once, are killed, or stop; slots of dead ones; limits; files
 * that are broken, somebody else's, or gone; the text of metrics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/proc.h"
#include "regress/unit/dice.h"
#include "regress/unit/help.h"
#include "server/events/counters.h"
#include "server/events/metrics-text.h"

static char path[128];
static int alive[2]; /* a pipe, which ends with this program */

static int
make_place(void **state)
{
	return pipe(alive) == -1 ? -1 : temp_make(state);
}

static int
set_up(void **state)
{
	snprintf(path, sizeof path, "%s/counters", temp_dir);
	(void)unlink(path);
	messages_forget();
	(void)state;
	return 0;
}

static struct counters_now
look(struct counters *c)
{
	struct counters_now now;

	assert_int_equal(counters_look(c, &now), 0);
	return now;
}

/* As somebody who looks on, after all others. */
static struct counters_now
look_alone(void)
{
	struct counters *c = counters_new(path);
	struct counters_now now = look(c);

	counters_free(c);
	now.connections--;
	return now;
}

static pid_t
begin_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	return pid;
}

static void
end_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void
test_counts(void **state)
{
	struct counters *c = counters_new(path), *d = counters_new(path);
	struct counters_now now;

	(void)state;
	counters_count(c, COUNTER_BYTES_IN, 5);
	assert_int_equal(counters_flush(c), 0);
	counters_count(d, COUNTER_BYTES_IN, 7);
	counters_count(d, COUNTER_COUNT, 1); /* no counter */
	now = look(d);
	assert_int_equal(now.total[COUNTER_BYTES_IN], 12);
	assert_true(now.since > 0 && now.since <= (uint64_t)time(NULL));
	counters_count(c, COUNTER_BYTES_IN, 1);
	counters_free(c);
	counters_free(d);
	now = look_alone();
	assert_int_equal(now.total[COUNTER_BYTES_IN], 13);
	assert_int_equal(now.connections, 0);
	counters_count(NULL, COUNTER_BYTES_IN, 1);
	counters_free(NULL);
}

/* Processes that count at once lose nothing. */
static void
test_races(void **state)
{
	enum { PROCESSES = 8, TURNS = 200 };
	pid_t pids[PROCESSES];
	struct counters_now now;

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		if ((pids[i] = begin_child()) != 0)
			continue;
		struct counters *c = counters_new(path);

		for (int n = 0; n < TURNS; n++) {
			counters_count(c, COUNTER_CONNECTIONS, 1);
			if (counters_flush(c) != 0)
				continue; /* it is kept */
		}
		while (counters_flush(c) != 0)
			;
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++)
		end_child(pids[i]);
	now = look_alone();
	assert_int_equal(now.total[COUNTER_CONNECTIONS], PROCESSES * TURNS);
	/* They have not given their slots back. */
	assert_int_equal(now.connections, 0);
}

/* A process that is killed at any time leaves a whole file, in which what it
 * had told of as handed over is there. */
static void
test_killed(void **state)
{
	enum { TURNS = 60 };
	struct dice d = { 7 };
	struct counters_now now;
	uint64_t told = 0, sure = 0, one;
	int ends[2];
	pid_t pid;

	(void)state;
	for (int i = 0; i < TURNS; i++) {
		assert_int_equal(pipe(ends), 0);
		if ((pid = begin_child()) == 0) {
			struct counters *c = counters_new(path);

			for (;;) {
				counters_count(c, COUNTER_DELETES, 1);
				if (counters_flush(c) == 0)
					(void)!write(ends[1], "", 1);
			}
		}
		close(ends[1]);
		clock_sleep_us(dice_below(&d, 4000));
		kill(pid, SIGKILL);
		end_child(pid);
		while (fd_read(ends[0], &one, 1) == 1)
			sure++;
		close(ends[0]);
		told++;
	}
	now = look_alone();
	/* Each process may have handed over one that it could not tell of. */
	assert_in_range(now.total[COUNTER_DELETES], sure, sure + told);
	assert_int_equal(now.connections, 0);
	assert_string_equal(messages, "");
}

/* Somebody who was stopped with the lock delays others once, and what they
 * count meanwhile is kept. */
static void
test_stopped(void **state)
{
	struct counters *c = counters_new(path);
	uint64_t begin;
	int fd;

	(void)state;
	assert_int_equal(counters_flush(c), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	counters_count(c, COUNTER_RENAMES, 3);
	assert_int_equal(counters_flush(c), ERR_AGAIN);
	begin = clock_ms();
	counters_count(c, COUNTER_RENAMES, 1);
	assert_int_equal(counters_flush(c), ERR_AGAIN);
	assert_true(clock_ms() - begin < COUNTERS_WAIT_MS);
	close(fd);
	assert_int_equal(look(c).total[COUNTER_RENAMES], 4);
	counters_free(c);
}

static void
put_bytes(const void *p, size_t len, off_t at)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(pwrite(fd, p, len, at), (ssize_t)len);
	close(fd);
}

/* Any byte of the head that is changed is seen, and said. The process whose
 * slot is gone gets another. */
static void
test_broken(void **state)
{
	struct counters *c = counters_new(path);
	uint8_t byte;
	int fd;

	(void)state;
	assert_int_equal(counters_login(c, 1000, 9), 0);
	for (off_t at = 0; at < 40 + 8 * COUNTER_COUNT; at++) {
		if (at >= 8 && at < 12) /* the version: below */
			continue;
		counters_count(c, COUNTER_DELETES, 1);
		assert_int_equal(counters_flush(c), 0);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		close(fd);
		byte ^= 0x10;
		put_bytes(&byte, 1, at);
		messages_forget();
		assert_int_equal(look(c).total[COUNTER_DELETES], 0);
		assert_non_null(strstr(messages, "broken"));
	}
	assert_int_equal(look(c).connections, 1);
	assert_int_equal(look(c).users, 1);
	counters_free(c);
}

static void
test_short(void **state)
{
	struct counters *c = counters_new(path);

	(void)state;
	counters_count(c, COUNTER_DELETES, 1);
	assert_int_equal(counters_flush(c), 0);
	for (off_t len = 0; len < 2 * COUNTERS_HEAD; len += 61) {
		assert_int_equal(truncate(path, len), 0);
		assert_int_equal(look(c).connections, 1);
	}
	counters_free(c);
}

static void
test_random_bytes(void **state)
{
	enum { LEN = COUNTERS_HEAD + 40 * COUNTERS_SLOT, TURNS = 200 };
	uint8_t *bytes = malloc(LEN);
	struct counters *c;
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < TURNS; i++) {
		fill_bytes(bytes, LEN, i);
		/* Half of them only in the slots, below a good head. */
		c = counters_new(path);
		assert_int_equal(counters_flush(c), 0);
		if (i % 2 == 0)
			put_bytes(bytes, LEN, 0);
		else
			put_bytes(bytes, COUNTERS_SLOT, COUNTERS_HEAD);
		assert_int_equal(look(c).connections, 1);
		assert_int_equal(counters_login(c, 7, 1), 0);
		assert_int_equal(look(c).users, 1);
		counters_free(c);
	}
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 2 * LEN);
	free(bytes);
}

/* An earlier version's file is made anew, and the log says why. */
static void
test_earlier_version(void **state)
{
	struct counters *c = counters_new(path);
	uint32_t version = COUNTERS_VERSION - 1;

	(void)state;
	counters_count(c, COUNTER_DELETES, 1);
	assert_int_equal(counters_flush(c), 0);
	put_bytes(&version, sizeof version, 8);
	messages_forget();
	assert_int_equal(look(c).total[COUNTER_DELETES], 0);
	assert_non_null(strstr(messages, "made by an earlier version"));
	assert_null(strstr(messages, "broken"));
	counters_free(c);
}

/* A later version's file is left as it is. */
static void
test_later_version(void **state)
{
	struct counters *c = counters_new(path);
	uint32_t version = COUNTERS_VERSION + 1;
	struct counters_now now;

	(void)state;
	assert_int_equal(counters_flush(c), 0);
	put_bytes(&version, sizeof version, 8);
	assert_int_equal(counters_look(c, &now), ERR_SYSTEM);
	assert_int_equal(counters_look(c, &now), ERR_SYSTEM);
	assert_non_null(strstr(messages, "later version"));
	version = COUNTERS_VERSION;
	put_bytes(&version, sizeof version, 8);
	assert_int_equal(look(c).connections, 1);
	counters_free(c);
}

/* What is not a file of ours alone is not written to. */
static void
test_foreign(void **state)
{
	char other[160];
	struct stat st;

	(void)state;
	snprintf(other, sizeof other, "%s/other", temp_dir);
	for (int i = 0; i < 5; i++) {
		(void)unlink(other);
		(void)unlink(path);
		put_bytes("x", 1, 0);
		assert_int_equal(rename(path, other), 0);
		if (i == 0)
			assert_int_equal(symlink(other, path), 0);
		else if (i == 1)
			assert_int_equal(link(other, path), 0);
		else if (i == 2)
			assert_int_equal(mkfifo(path, 0600), 0);
		else
			put_bytes("y", 1, 0);
		if (i == 3)
			assert_int_equal(chmod(path, 0660), 0);
		if (i == 4 && chown(path, 1, 1) != 0)
			continue;
		messages_forget();
		assert_int_equal(look_alone().connections, 0);
		assert_non_null(strstr(messages, "made anew"));
		assert_int_equal(stat(other, &st), 0);
		assert_int_equal(st.st_size, 1);
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISREG(st.st_mode) && st.st_nlink == 1);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(st.st_uid, geteuid());
	}
	(void)unlink(other);
}

/* A file that was removed is made again, with those who still count. */
static void
test_removed(void **state)
{
	struct counters *c = counters_new(path), *d;

	(void)state;
	assert_int_equal(counters_login(c, 1000, 1), 0);
	assert_int_equal(unlink(path), 0);
	d = counters_new(path);
	assert_int_equal(counters_login(d, 1000, 1), 0);
	counters_free(d);
	assert_int_equal(look(c).users, 1);
	d = counters_new(path);
	/* c and d are one process here, so d does not see c as another. */
	assert_int_equal(counters_login(d, 1000, 1), ERR_LIMIT);
	counters_free(d);
	counters_free(c);
}

static void
test_no_directory(void **state)
{
	struct counters *c = counters_new("/nonexistent/counters");

	(void)state;
	counters_count(c, COUNTER_DELETES, 1);
	assert_int_equal(counters_flush(c), ERR_SYSTEM);
	assert_int_equal(counters_login(c, 1, 1), ERR_SYSTEM);
	assert_non_null(strstr(messages, "No such file"));
	counters_free(c);
}

/* A child waits to be killed. A test that fails does not leave it behind: with
 * the program, the pipe ends that only the program can write to. */
static void
wait_for_end(void)
{
	char byte;

	close(alive[1]);
	(void)!read(alive[0], &byte, 1);
	_exit(0);
}

/* Whether a process has the same start in its own eyes and in those of others.
 * qemu-user shows a program a /proc of its own making. */
static bool
starts_agree(void)
{
	uint64_t own = 0, seen = 1;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	if ((pid = begin_child()) == 0) {
		if (proc_start(getpid(), &own) != 0)
			own = 0;
		(void)!write(ends[1], &own, sizeof own);
		wait_for_end();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &own, sizeof own), sizeof own);
	close(ends[0]);
	if (proc_start(pid, &seen) != 0)
		seen = 0;
	kill(pid, SIGKILL);
	end_child(pid);
	if (own != seen)
		print_message("a process sees another start of itself than "
			      "others do: an emulator\n");
	return own == seen;
}

/* A child that logs in and then waits; its answer comes by the pipe. */
static pid_t
log_in(uid_t uid, uint64_t max, int *answer)
{
	int ends[2], r;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	if ((pid = begin_child()) == 0) {
		struct counters *c = counters_new(path);

		r = counters_login(c, uid, max);
		if (r == 0)
			r = counters_session(c, 3);
		(void)!write(ends[1], &r, sizeof r);
		wait_for_end();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], answer, sizeof *answer),
	    sizeof *answer);
	close(ends[0]);
	return pid;
}

static void
test_limits(void **state)
{
	pid_t pid[5];
	int r;
	struct counters_now now;

	(void)state;
	if (!starts_agree())
		skip();
	pid[0] = log_in(1000, 2, &r);
	assert_int_equal(r, 0);
	pid[1] = log_in(1000, 2, &r);
	assert_int_equal(r, 0);
	pid[2] = log_in(1000, 2, &r);
	assert_int_equal(r, ERR_LIMIT);
	pid[3] = log_in(1001, 2, &r);
	assert_int_equal(r, 0);
	now = look_alone();
	assert_int_equal(now.connections, 4);
	assert_int_equal(now.users, 2);
	assert_int_equal(now.sessions, 3);
	/* One that is killed makes room at once, though nobody reaped it. */
	kill(pid[0], SIGKILL);
	do
		r = proc_start(pid[0], &now.since);
	while (r == 0);
	pid[4] = log_in(1000, 2, &r);
	assert_int_equal(r, 0);
	for (int i = 0; i < 5; i++) {
		kill(pid[i], SIGKILL);
		end_child(pid[i]);
	}
	assert_int_equal(look_alone().connections, 0);
}

static void
test_sessions(void **state)
{
	struct counters *c = counters_new(path);

	(void)state;
	assert_int_equal(counters_login(c, 1000, UINT64_MAX), 0);
	assert_int_equal(counters_session(c, 2), 0);
	assert_int_equal(counters_session(c, 2), 0);
	assert_int_equal(counters_session(c, 2), ERR_LIMIT);
	counters_session_end(c);
	assert_int_equal(counters_session(c, 2), 0);
	assert_int_equal(look(c).sessions, 2);
	for (int i = 0; i < 3; i++)
		counters_session_end(c);
	assert_int_equal(look(c).sessions, 0);
	counters_free(c);
}

/* One of all writes, and the last one at its end. */
static void
test_turns(void **state)
{
	enum { LONG_MS = 3600 * 1000 };
	struct counters *c = counters_new(path);
	pid_t pid;
	int r;

	(void)state;
	if (!starts_agree())
		skip();
	assert_true(counters_turn(c, LONG_MS, false));
	assert_false(counters_turn(c, LONG_MS, false));
	assert_true(counters_turn(c, 0, false));
	pid = log_in(1000, 1, &r);
	assert_false(counters_turn(c, LONG_MS, true));
	kill(pid, SIGKILL);
	end_child(pid);
	assert_true(counters_turn(c, LONG_MS, true));
	counters_leave(c);
	assert_int_equal(look(c).connections, 0);
	counters_free(c);
}

static void
test_paths(void **state)
{
	static const struct {
		const char *pid, *counters;
	} t[] = { { "/run/hpnsshd.pid", "/run/hpnsshd.counters" },
		{ "/run/x/b.pid", "/run/x/b.counters" },
		{ "/run/sshd", "/run/sshd.counters" } };
	struct server_conf conf;
	char *got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		memset(&conf, 0, sizeof conf);
		conf.listen.pid_file = (char *)(uintptr_t)t[i].pid;
		got = counters_path(&conf);
		assert_string_equal(got, t[i].counters);
		free(got);
	}
	memset(&conf, 0, sizeof conf);
	got = counters_path(&conf);
	assert_non_null(strstr(got, "/hpnsshd-0.counters"));
	free(got);
}

/* Every counter is in the text once, and names have one head each. */
static void
test_text(void **state)
{
	struct counters_now now = { .since = 5, .connections = 2 };
	struct buf b = { 0 };
	char *text, want[32];
	size_t heads = 0, types = 0;

	(void)state;
	for (size_t i = 0; i < COUNTER_COUNT; i++)
		now.total[i] = 1000 + i;
	metrics_text(&b, &now);
	text = buf_dup_string(&b);
	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		snprintf(want, sizeof want, " %zu\n", 1000 + i);
		assert_non_null(strstr(text, want));
		assert_null(strstr(strstr(text, want) + 1, want));
	}
	assert_non_null(strstr(text, "\nhpnsshd_connections 2\n"));
	assert_non_null(strstr(text,
	    "{method=\"publickey\",result=\"accepted\"} 1004\n"));
	for (const char *p = text; (p = strstr(p, "# HELP ")) != NULL; p++)
		heads++;
	for (const char *p = text; (p = strstr(p, "# TYPE ")) != NULL; p++)
		types++;
	assert_int_equal(heads, types);
	assert_int_equal(heads, 15);
	free(text);
	buf_clear(&b);
}

static const struct counters_limits no_limits = { .user_max = UINT64_MAX,
	.group_max = UINT64_MAX };

/* Shares of three connections, of two users, one of whom has two. */
static void
test_shares_of_counters(void **state)
{
	static const uint64_t all[2] = { UINT64_MAX, 10 };
	struct counters *c[3];
	uint64_t got[3][2];
	uid_t uids[3] = { 1, 1, 2 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		c[i] = counters_new(path);
		assert_int_equal(counters_login(c[i], uids[i], 100), 0);
		counters_set_limits(c[i], &no_limits);
		assert_int_equal(counters_share(c[i], all, 400, i == 2,
				     got[i]), 0);
	}
	assert_int_equal(got[2][0], 200);
	/* The others find theirs when they tell again. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(counters_share(c[i], all, 400, false,
				     got[i]), 0);
		assert_int_equal(got[i][0], 100);
	}
	/* Of the other direction nobody wants much: the rest is divided. */
	assert_int_equal(got[2][1], 10 + (400 - 30) / 2);
	/* What else is written keeps shares; a user's limit is one of all. */
	counters_note_sessions(c[0], 1);
	assert_int_equal(counters_flush(c[0]), 0);
	counters_set_limits(c[1], &(struct counters_limits){ .user_max = 50,
		.group_max = UINT64_MAX });
	assert_int_equal(counters_share(c[1], all, 400, true, got[1]), 0);
	assert_int_equal(counters_share(c[0], all, 400, false, got[0]), 0);
	assert_int_equal(counters_share(c[2], all, 400, false, got[2]), 0);
	assert_int_equal(got[0][0], 25);
	assert_int_equal(got[1][0], 25);
	assert_int_equal(got[2][0], 350);
	/* Who has left has no share. */
	counters_leave(c[2]);
	counters_set_limits(c[1], &no_limits);
	assert_int_equal(counters_share(c[1], all, 400, true, got[1]), 0);
	assert_int_equal(got[1][0], 200);
	for (int i = 0; i < 3; i++)
		counters_free(c[i]);
}

static void
test_limit_names(void **state)
{
	(void)state;
	assert_int_equal(counter_of_limit("LoginGraceTime"),
	    COUNTER_LIMIT_GRACE);
	assert_int_equal(counter_of_limit("MaxSessionsPerUser"),
	    COUNTER_LIMIT_SESSIONS);
	assert_int_equal(counter_of_limit("publickey"), COUNTER_COUNT);
	assert_int_equal(counter_of_limit("shell"), COUNTER_COUNT);
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int
main(void)
{
	const struct CMUnitTest tests[] = { TEST(test_counts),
		TEST(test_races), TEST(test_killed), TEST(test_stopped),
		TEST(test_broken), TEST(test_short), TEST(test_random_bytes),
		TEST(test_earlier_version), TEST(test_later_version),
		TEST(test_foreign),
		TEST(test_removed), TEST(test_no_directory), TEST(test_limits),
		TEST(test_sessions), TEST(test_turns), TEST(test_paths),
		TEST(test_text), TEST(test_shares_of_counters),
		TEST(test_limit_names) };

	messages_keep();
	return cmocka_run_group_tests(tests, make_place, temp_remove);
}
