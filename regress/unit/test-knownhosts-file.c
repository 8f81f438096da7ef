/* SPDX-License-Identifier: ISC */
/* Several programs change one known_hosts file. */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

enum { WRITERS = 4, LINES = 60 };

static struct key *first, *second, *third;

static int
set_up(void **state)
{
	assert_int_equal(key_generate("ed25519", 0, &first), 0);
	assert_int_equal(key_generate("ed25519", 0, &second), 0);
	assert_int_equal(key_generate("ed25519", 0, &third), 0);
	return temp_enter(state);
}

static int
tear_down(void **state)
{
	key_free(first);
	key_free(second);
	key_free(third);
	return temp_leave(state);
}

/* Somebody replaces the file while we wait for its lock. */
static const char *replaced_by;

int
flock(int fd, int operation)
{
	if (replaced_by != NULL) {
		assert_int_equal(file_replace("known", replaced_by,
				     strlen(replaced_by), 0600), 0);
		replaced_by = NULL;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

static void
write_file(const char *text)
{
	assert_int_equal(file_replace("known", text, strlen(text), 0600), 0);
}

static void
append_as_others_do(const char *text)
{
	FILE *f = fopen("known", "ae");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
assert_file(const char *want)
{
	struct buf b = { 0 };
	char *got;

	assert_int_equal(file_read("known", &b, 1 << 20), 0);
	got = buf_dup_string(&b);
	assert_string_equal(got, want);
	free(got);
	buf_clear(&b);
}

static int
replace(struct knownhosts_held *h, const char *text)
{
	struct buf b = { 0 };
	int r;

	buf_printf(&b, "%s", text);
	r = knownhosts_replace(h, "known", &b);
	buf_clear(&b);
	knownhosts_release(h);
	return r;
}

/* The lock that we get is that of a file that has gone. */
static void
replaced_while_we_wait(void **state)
{
	struct knownhosts_held h;

	(void)state;
	write_file("a\n");
	replaced_by = "b\n";
	assert_int_equal(knownhosts_append("known",
			     (struct span){ (const uint8_t *)"c\n", 2 }), 0);
	assert_file("b\nc\n");
	replaced_by = "d\n";
	assert_int_equal(knownhosts_hold(&h, "known"), 0);
	assert_int_equal(replace(&h, "e\n"), 0);
	assert_file("e\n");
	unlink("known");
}

/* Somebody who knows of no locks appends between the look and the change. */
static void
appended_meanwhile(void **state)
{
	static const struct {
		const char *before, *appended, *after; /* NULL: refused */
	} cases[] = {
		{ "a\nb\n", "", "b\n" },
		{ "a\nb\n", "@revoked * c\n", "b\n@revoked * c\n" },
		{ "a\nb", "\nc\n", "b\n\nc\n" },
		{ "", "c\n", "b\nc\n" },
		{ "a\nb", "c\n", NULL }, /* the last line goes on */
		{ "a\nb\n", "c", NULL }, /* another is being written */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct knownhosts_held h;
		char *all;

		write_file(cases[i].before);
		assert_int_equal(knownhosts_hold(&h, "known"), 0);
		append_as_others_do(cases[i].appended);
		assert_int_equal(replace(&h, "b\n"),
		    cases[i].after != NULL ? 0 : ERR_AGAIN);
		xasprintf(&all, "%s%s", cases[i].before, cases[i].appended);
		assert_file(cases[i].after != NULL ? cases[i].after : all);
		free(all);
	}
	unlink("known");
}

static void
changed_meanwhile(void **state)
{
	struct knownhosts_held h;

	(void)state;
	write_file("a\nb\n");
	assert_int_equal(knownhosts_hold(&h, "known"), 0);
	assert_int_equal(truncate("known", 2), 0);
	assert_int_equal(replace(&h, "b\n"), ERR_AGAIN);
	assert_file("a\n");
	assert_int_equal(knownhosts_hold(&h, "known"), 0);
	write_file("a\nnew\n");
	assert_int_equal(replace(&h, "b\n"), ERR_AGAIN);
	assert_file("a\nnew\n");
	assert_int_equal(knownhosts_hold(&h, "known"), 0);
	unlink("known");
	assert_int_equal(replace(&h, "b\n"), ERR_AGAIN);
	assert_int_equal(access("known", F_OK), -1);
	assert_int_equal(knownhosts_hold(&h, "known"), ERR_SYSTEM);
	knownhosts_release(&h);
}

/* Whoever may read the file can lock it: that is no reason to wait for ever, or
 * to forget a key. */
static void
lock_without_end(void **state)
{
	int fd;

	(void)state;
	write_file("");
	fd = open("known", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(knownhosts_add("known", "h", first, false), 0);
	fd_close(&fd);
	unlink("known");
}

/* ---- all at the same time ----------------------------------------------- */

/* The second half waits until the file was replaced in both ways. */
static void
add_lines(int writer, int replaced)
{
	for (int i = 0; i < LINES; i++) {
		char name[32], byte;

		if (i == LINES / 2 && read(replaced, &byte, 1) != 1)
			_exit(1);
		snprintf(name, sizeof name, "h%d-%d", writer, i);
		if (knownhosts_add("known", name, third, false) != 0)
			_exit(1);
	}
	_exit(0);
}

static int
count_line(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	(void)path;
	(void)number;
	if (line->hosts[0] == 'h')
		++*(int *)arg;
	return 0;
}

/* Lines are added while the file is replaced again and again: by other keys of
 * one host, and by removing another. */
static void
nothing_is_lost(void **state)
{
	struct key *keys[2] = { first, second };
	static const char all[WRITERS] = { 0 };
	struct knownhosts_renewal rn = { .name = "alpha", .shown = first,
		.keys = keys };
	unsigned changed, renewed = 0;
	int left = WRITERS, status, count = 0, replaced[2];

	(void)state;
	write_file("");
	assert_int_equal(pipe(replaced), 0);
	assert_int_equal(knownhosts_add("known", "alpha", first, false), 0);
	for (int i = 0; i < WRITERS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(replaced[1]);
			add_lines(i, replaced[0]);
		}
		assert_true(pid > 0);
	}
	for (int turn = 0; left > 0; turn++) {
		if (turn == 3)
			assert_int_equal(write(replaced[1], all, WRITERS),
			    WRITERS);
		rn.n = 1 + turn % 2; /* the second key comes and goes */
		if (knownhosts_renew("known", &rn, false) == 0)
			renewed += rn.added + rn.dropped;
		(void)!knownhosts_add("known", "beta", third, false);
		assert_int_equal(knownhosts_remove("known", "beta", NULL, NULL,
				     &changed), 0);
		while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
			assert_int_equal(status, 0);
			left--;
		}
	}
	assert_int_equal(knownhosts_each_line("known", NULL, count_line,
			     &count), 0);
	assert_int_equal(count, WRITERS * LINES);
	assert_true(renewed > 0);
	close(replaced[0]);
	close(replaced[1]);
	unlink("known");
	unlink("known.old");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaced_while_we_wait),
		cmocka_unit_test(appended_meanwhile),
		cmocka_unit_test(changed_meanwhile),
		cmocka_unit_test(lock_without_end),
		cmocka_unit_test(nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
