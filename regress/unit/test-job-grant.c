/* SPDX-License-Identifier: ISC */
/*
 * Grants in a job's directory: whoever takes one has it alone, files that are
 * none are no grant, and what could not be written leaves no key behind.
 */
#include "regress/unit/help.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/job/job-grant.h"
#include "keys/key.h"

enum { TAKERS = 4, GRANTS = 200 };

static int dir, grants;

static void
begin(void)
{
	assert_int_equal(job_make("job", &dir), 0);
	assert_int_equal(job_grants_open(dir, true, &grants), 0);
}

static void
end(void)
{
	fd_close(&grants);
	fd_close(&dir);
	assert_int_equal(system("rm -rf job"), 0);
}

/* A grant whose name begins with n. */
static struct job_grant
grant_of(uint8_t n)
{
	struct job_grant g = { .rights = 5, .verify = true,
		.host = xstrdup("host"), .user = xstrdup("us er"), .port = 22 };

	g.grant[0] = n;
	buf_put_cstring(&g.hostkey, "blob");
	assert_int_equal(key_generate("ed25519", 0, &g.key), 0);
	return g;
}

static void
put(const char *name, uint8_t n)
{
	struct job_grant g = grant_of(n);

	assert_int_equal(job_grant_put(grants, name, &g), 0);
	job_grant_clear(&g);
}

static void
write_file(const char *name, const uint8_t *p, size_t len)
{
	int fd = job_file(grants, name, O_WRONLY | O_CREAT | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, p, len), 0);
	fd_close(&fd);
}

static bool
is_there(const char *name)
{
	return faccessat(grants, name, F_OK, 0) == 0;
}

static void
test_all_of_it(void **state)
{
	struct job_grant g = grant_of(7), got;
	struct stat st;

	(void)state;
	begin();
	assert_int_equal(job_grant_take(grants, &got), ERR_AGAIN);
	assert_int_equal(job_grant_put(grants, "grant-1", &g), 0);
	assert_int_equal(fstatat(grants, "grant-1", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(job_grant_take(grants, &got), 0);
	assert_memory_equal(got.grant, g.grant, sizeof g.grant);
	assert_int_equal(got.rights, 5);
	assert_true(got.verify);
	assert_string_equal(got.host, "host");
	assert_string_equal(got.user, "us er");
	assert_int_equal(got.port, 22);
	assert_int_equal(buf_len(&got.hostkey), buf_len(&g.hostkey));
	assert_true(key_equal_public(got.key, g.key));
	job_grant_clear(&got);
	assert_int_equal(job_grant_take(grants, &got), ERR_AGAIN);
	job_grant_clear(&g);
	end();
}

/* Whatever is cut off or changed: no grant, and it does not stay. */
static void
test_any_bytes(void **state)
{
	struct job_grant got;
	struct buf b = { 0 };
	uint8_t *bytes;
	size_t len;
	int fd;

	(void)state;
	begin();
	put("grant-1", 1);
	fd = job_file(grants, "grant-1", O_RDONLY);
	assert_int_equal(fd_read_file(fd, &b, 65536), 0);
	fd_close(&fd);
	len = buf_len(&b);
	bytes = xcalloc(len + 1, 1);
	memcpy(bytes, buf_data(&b), len);
	for (size_t i = 0; i < len; i++) {
		write_file("grant-1", bytes, i);
		assert_int_not_equal(job_grant_take(grants, &got), 0);
		job_grant_clear(&got);
		assert_false(is_there("grant-1"));
		/* Some changes leave a grant, of another name or host. */
		bytes[i] ^= (uint8_t)(1 << i % 8);
		write_file("grant-1", bytes, len);
		(void)!job_grant_take(grants, &got);
		job_grant_clear(&got);
		assert_false(is_there("grant-1"));
		bytes[i] ^= (uint8_t)(1 << i % 8);
	}
	write_file("grant-1", bytes, len + 1);
	assert_int_not_equal(job_grant_take(grants, &got), 0);
	job_grant_clear(&got);
	free(bytes);
	buf_clear(&b);
	end();
}

/* What is no file, and what is still being written. */
static void
test_other_kinds(void **state)
{
	struct job_grant got;

	(void)state;
	begin();
	assert_int_equal(mkfifoat(grants, "grant-f", 0600), 0);
	assert_int_equal(job_grant_take(grants, &got), ERR_FORMAT);
	assert_int_equal(symlinkat("/etc/passwd", grants, "grant-l"), 0);
	assert_int_equal(job_grant_take(grants, &got), ERR_SYSTEM);
	assert_int_equal(unlinkat(grants, "grant-l", 0), 0);
	assert_int_equal(mkdirat(grants, "grant-d", 0700), 0);
	assert_int_equal(job_grant_take(grants, &got), ERR_SYSTEM);
	assert_int_equal(unlinkat(grants, "grant-d", AT_REMOVEDIR), 0);
	write_file("grant-1.12.part", (const uint8_t *)"x", 1);
	write_file("other", (const uint8_t *)"x", 1);
	assert_int_equal(job_grant_take(grants, &got), ERR_AGAIN);
	assert_true(is_there("grant-1.12.part") && is_there("other"));
	end();
}

/* Takes grants until one says that it is the last, and counts them in a
 * file. Runs in a process of its own. */
_Noreturn static void
take_many(int number)
{
	struct job_grant g;
	int r, fd, n = 0;

	for (;;) {
		if ((r = job_grant_take(grants, &g)) == 0 && g.grant[0] == 0) {
			job_grant_clear(&g);
			break;
		}
		n += r == 0;
		job_grant_clear(&g);
		if (r != 0 && r != ERR_AGAIN)
			_exit(1);
	}
	fd = openat(dir, "counts", O_WRONLY | O_APPEND | O_CREAT, 0600);
	_exit(dprintf(fd, "%d %d\n", number, n) > 0 ? 0 : 1);
}

static void
test_each_has_one_owner(void **state)
{
	pid_t pid[TAKERS];
	char name[JOB_NAME_MAX];
	int status, taken = 0, number, n;
	FILE *f;

	(void)state;
	begin();
	for (int i = 0; i < TAKERS; i++) {
		assert_int_not_equal(pid[i] = fork(), -1);
		if (pid[i] == 0)
			take_many(i);
	}
	for (int i = 0; i < GRANTS + TAKERS; i++) {
		snprintf(name, sizeof name, "grant-%d", i);
		if (i == GRANTS) /* all others are gone first */
			while (system("ls job/grants | grep -q grant-") == 0)
				continue;
		put(name, i < GRANTS ? 1 : 0);
	}
	for (int i = 0; i < TAKERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_non_null(f = fopen("job/counts", "r"));
	while (fscanf(f, "%d %d", &number, &n) == 2)
		taken += n;
	(void)fclose(f);
	assert_int_equal(taken, GRANTS);
	end();
}

/* Another giver removes what one has left that was killed. */
static void
test_lock(void **state)
{
	struct job_grant got;
	int lock, status;
	pid_t pid;

	(void)state;
	begin();
	put("grant-1", 1);
	write_file("grant-2.7.part", (const uint8_t *)"x", 1);
	assert_int_equal(job_grants_lock(grants, &lock), 0);
	assert_int_equal(job_grant_take(grants, &got), ERR_AGAIN);
	assert_false(is_there("grant-2.7.part"));
	assert_int_not_equal(pid = fork(), -1);
	if (pid == 0) {
		int other;

		_exit(job_grants_lock(grants, &other) == ERR_SYSTEM &&
		    (errno == EAGAIN || errno == EACCES) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fd_close(&lock);
	end();
}

/* As on a full disk: no key stays behind, and errno tells why. */
static void
test_no_room(void **state)
{
	struct rlimit old, small;
	struct job_grant g = grant_of(1);

	(void)state;
	begin();
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(job_grant_put(grants, "grant-1", &g), ERR_SYSTEM);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(rmdir("job/grants"), 0);
	job_grant_clear(&g);
	end();
}

/* Only the owner may see keys. */
static void
test_modes(void **state)
{
	int fd;

	(void)state;
	begin();
	assert_int_equal(chmod("job/grants", 0740), 0);
	assert_int_equal(job_grants_open(dir, false, &fd), ERR_PERMISSION);
	assert_int_equal(fd, -1);
	assert_int_equal(chmod("job/grants", 0701), 0);
	assert_int_equal(job_grants_open(dir, true, &fd), ERR_PERMISSION);
	assert_int_equal(rename("job/grants", "job/away"), 0);
	assert_int_equal(job_grants_open(dir, false, &fd), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(symlink("away", "job/grants"), 0);
	assert_int_equal(job_grants_open(dir, true, &fd), ERR_SYSTEM);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_each_has_one_owner),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
