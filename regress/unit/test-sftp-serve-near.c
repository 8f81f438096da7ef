/* SPDX-License-Identifier: ISC */
/* Small files, one after the other, to one directory of a confined session: it
 * is that which the path names at the time, and what is set is what the request
 * says. */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-rights.h"

enum { OLDER_US = 20 * 1000 }; /* than a directory is held */

/* To the present directory, without links; in which the session may be. */
static void
confine(void)
{
	struct buf *b = ask_ext("confine@hpnssh.org");
	uint32_t status;

	buf_put_cstring(b, temp_dir);
	buf_put_u32(b, SFTP_MAY_ALL);
	for (int i = 0; i < 3; i++)
		buf_put_u64(b, UINT64_MAX);
	buf_put_u32(b, 0);
	status = answer().status;
	assert_true(status == SFTP_OK || status == SFTP_NO_SUCH_FILE);
}

static void
put(const char *path, const char *text)
{
	ask_put_file(path, false, 0644, text);
	expect_status(SFTP_OK);
	expect_file(path, text);
}

static void
test_renamed_by_a_request(void **state)
{
	(void)state;
	confine();
	assert_int_equal(mkdir("d", 0755), 0);
	put("d/one", "1");
	put("d/two", "2");
	ask_paths(SFTP_RENAME, "d", "e");
	expect_status(SFTP_OK);
	ask_put_file("d/three", false, 0644, "3");
	expect_status(SFTP_NO_SUCH_FILE);
	assert_int_equal(mkdir("d", 0755), 0);
	put("d/one", "other");
	expect_file("e/one", "1");
	assert_int_equal(system("rm -r d e"), 0);
}

static void
test_renamed_by_somebody(void **state)
{
	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	put("d/one", "1");
	assert_int_equal(system("mv d e && mkdir d"), 0);
	usleep(OLDER_US);
	put("d/two", "2");
	assert_int_equal(access("e/two", F_OK), -1);
	assert_int_equal(system("rm -r d && ln -s e d"), 0);
	usleep(OLDER_US);
	ask_put_file("d/three", false, 0644, "3");
	assert_int_not_equal(answer().status, SFTP_OK);
	assert_int_equal(access("e/three", F_OK), -1);
	assert_int_equal(system("rm -r d e"), 0);
	/* One that is held no longer has a name. */
	for (int i = 0; i < 20; i++) {
		char path[16];

		assert_int_equal(mkdir("d", 0755), 0);
		put("d/one", "1");
		put("d/two", "2");
		snprintf(path, sizeof path, "e%d", i);
		assert_int_equal(unlink("d/one") | unlink("d/two") |
		    rmdir("d") | mkdir(path, 0755) | rename(path, "d"), 0);
		put("d/three", "3");
		assert_int_equal(unlink("d/three") | rmdir("d"), 0);
	}
}

/* Names by turns, and paths that end in no name. */
static void
test_other_directories(void **state)
{
	static const char *const none[] = { "d/", "d/.", "d/x/..", "d/x/" };

	(void)state;
	confine();
	assert_int_equal(system("mkdir -p d/x dx"), 0);
	for (int i = 0; i < 3; i++) {
		put("d/one", "1");
		put("d/x/one", "2");
		put("dx/one", "3");
		put("one", "4");
		expect_file("d/one", "1");
	}
	put("d/one", "1");
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		ask_put_file(none[i], false, 0644, "bad");
		assert_int_not_equal(answer().status, SFTP_OK);
	}
	expect_file("d/one", "1");
	assert_int_not_equal(system("find . -name '*hpnpart*' | grep ."), 0);
	assert_int_equal(system("rm -r d dx one"), 0);
}

static void
ask_put_ns(const char *path, uint32_t mode, uint32_t uid, uint32_t gid)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_OWNER,
		.mode = mode, .uid = uid, .gid = gid };
	struct buf *b = ask_ext("put-file-ns@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, SFTP_A_MODE | SFTP_A_OWNER);
	sftp_put_attrs(b, &a);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(b, 1000);
		buf_put_u32(b, 7);
	}
	buf_put_cstring(b, "new");
}

static void
expect_put(const char *path, uint32_t mode, uint32_t uid, uint32_t gid)
{
	struct stat st;

	ask_put_ns(path, mode, uid, gid);
	expect_status(SFTP_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	if (uid != UINT32_MAX)
		assert_int_equal(st.st_uid, uid);
	if (gid != UINT32_MAX)
		assert_int_equal(st.st_gid, gid);
}

/* Owner and mode are as asked for, also where the part has them at once, and
 * where its directory, the umask or an old target would have others. */
static void
test_attributes(void **state)
{
	static const uint32_t modes[] = { 0644, 0600, 0666, 0, 0444, 04755,
		01777, 02711 };
	const mode_t masks[] = { 022, 077, 0 };
	const uint32_t me = geteuid(), group = getegid(), any = UINT32_MAX;
	mode_t old = umask(022);

	(void)state;
	confine();
	for (int special = 0; special < 2; special++) {
		assert_int_equal(mkdir("d", 0755), 0);
		if (special)
			assert_int_equal(chmod("d", 02755), 0);
		for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
			umask(masks[m]);
			for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
				/* New, and again over it. */
				expect_put("d/a", modes[i], me, group);
				expect_put("d/b", modes[i], any, group);
				expect_put("d/c", modes[i], any, any);
				/* Others than root open only what they may. */
				if (me == 0 || (modes[i] & S_IWUSR) != 0)
					expect_put("d/a", 0640, me, group);
				assert_int_equal(unlink("d/a") |
				    unlink("d/b") | unlink("d/c"), 0);
			}
		}
		if (me == 0) {
			expect_put("d/a", 0640, 1, 2);
			expect_put("d/b", 0640, 0, 0);
			expect_put("d/a", 0644, 0, 0);
			assert_int_equal(chown("d", 1, 2), 0);
			expect_put("d/e", 0640, 0, 0);
		}
		assert_int_equal(system("rm -r d"), 0);
	}
	umask(old);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_renamed_by_a_request),
		cmocka_unit_test(test_renamed_by_somebody),
		cmocka_unit_test(test_other_directories),
		cmocka_unit_test(test_attributes),
	};

	return serve_run_modes(tests);
}
