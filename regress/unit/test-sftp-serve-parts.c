/* SPDX-License-Identifier: ISC */
/* Parts: whose they are, and what becomes of them. */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/file.h"
#include "crypto/digest.h"
#include "xfer/part-lock.h"
#include "xfer/sftp/sftp-engine.h"

static void
ask_open_for(const char *path, uint32_t pflags, uint64_t copy, bool further)
{
	const struct sftp_attrs a = { .flags = SFTP_A_EXTENDED, .copy = copy,
		.further = further };
	struct buf *b = ask_for(SFTP_OPEN);

	buf_put_cstring(b, path);
	buf_put_u32(b, pflags);
	sftp_put_attrs(b, &a);
}

static void
expect_refused(void)
{
	expect_status(SFTP_FAILURE);
}

/* A part is of one copy; what was left is not replaced, but may be taken over
 * when nobody has it. */
static void
test_parts(void **state)
{
	const uint32_t make = SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL;
	uint32_t one, two;
	int fd;

	(void)state;
	make_file(".p.hpnpart", "left");
	ask_open(".p.hpnpart", make);
	expect_refused();
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 7, true);
	expect_refused(); /* nobody has it, so there is nothing to go on with */
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 7, false);
	one = answer_handle();
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 8, false);
	expect_refused();
	ask_open(".p.hpnpart", SFTP_O_WRITE); /* of an unknown copy */
	expect_refused();
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 7, true); /* another stream */
	two = answer_handle();
	ask_write(one, 0, "ab", 2);
	expect_status(SFTP_OK);
	ask_write(two, 1, "c", 1);
	expect_status(SFTP_OK);
	expect_file(".p.hpnpart", "acft");
	/* Nothing is renamed onto it. */
	make_file("n", "new");
	ask_paths(SFTP_RENAME, "n", ".p.hpnpart");
	expect_refused();
	buf_put_cstring(ask_ext("posix-rename@openssh.com"), "n");
	buf_put_cstring(&message, ".p.hpnpart");
	expect_refused();
	ask_put_file(".p.hpnpart", false, 0644, "x");
	expect_refused();
	expect_file(".p.hpnpart", "acft");
	close_handle(one, SFTP_OK);
	close_handle(two, SFTP_OK);
	buf_put_cstring(ask_ext("posix-rename@openssh.com"), "n");
	buf_put_cstring(&message, ".p.hpnpart");
	expect_status(SFTP_OK);
	/* A download of this host has it for itself. */
	fd = xfer_part_take(AT_FDCWD, ".p.hpnpart", 9);
	assert_true(fd >= 0);
	ask_open(".p.hpnpart", SFTP_O_WRITE);
	expect_refused();
	close(fd);
	/* Of other names nothing of that is true. */
	assert_int_equal(rename(".p.hpnpart", "p.hpnpart"), 0);
	ask_open("p.hpnpart", make);
	expect_refused();
	assert_int_equal(unlink("p.hpnpart"), 0);
}

/* What may be written and not read is held, too: another copy gets it neither
 * way, and a further handle of the same copy does. */
static void
test_parts_that_are_not_read(void **state)
{
	const int ways[] = { O_WRONLY, O_RDWR };
	int one, two, other;

	(void)state;
	make_file(".p.hpnpart", "left");
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		one = open(".p.hpnpart", O_WRONLY | O_CLOEXEC);
		two = open(".p.hpnpart", ways[i] | O_CLOEXEC);
		assert_true(one >= 0 && two >= 0);
		assert_false(xfer_part_hold(two, 7, true));
		assert_true(xfer_part_hold(one, 7, false));
		assert_true(xfer_part_is_held(AT_FDCWD, ".p.hpnpart"));
		assert_false(xfer_part_hold(two, 8, false));
		close(two);
		other = xfer_part_take(AT_FDCWD, ".p.hpnpart", 8);
		assert_int_equal(other, -1);
		assert_int_equal(errno, EBUSY);
		close(one);
		assert_false(xfer_part_is_held(AT_FDCWD, ".p.hpnpart"));
	}
	one = open(".p.hpnpart", O_WRONLY | O_CLOEXEC);
	two = open(".p.hpnpart", O_WRONLY | O_CLOEXEC);
	assert_true(xfer_part_hold(one, 7, false));
	assert_true(xfer_part_hold(two, 7, true));
	close(one);
	close(two);
	assert_int_equal(unlink(".p.hpnpart"), 0);
}

static uint32_t
made_part(const char *text)
{
	uint32_t h;

	ask_open_for(".p.hpnpart", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL,
	    7, false);
	h = answer_handle();
	ask_write(h, 0, text, strlen(text));
	expect_status(SFTP_OK);
	return h;
}

static void
ask_rename(uint32_t h, const char *part, const char *target)
{
	put_handle(ask_ext("rename-part@hpnssh.org"), h);
	buf_put_cstring(&message, part);
	buf_put_cstring(&message, target);
}

/* Another handle could still write to what has the target's name by then. */
static void
test_rename_part_in_use(void **state)
{
	uint32_t h, lost;

	(void)state;
	make_file("p", "old");
	lost = made_part("new");
	/* As a session would that does not know that it is lost. */
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 7, false);
	expect_status(SFTP_FAILURE);
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 7, true);
	h = answer_handle();
	ask_rename(h, ".p.hpnpart", "p");
	expect_status(SFTP_FAILURE);
	close_handle(h, SFTP_FAILURE); /* it is closed all the same */
	expect_file("p", "old");
	close_handle(lost, SFTP_OK);
	ask_open_for(".p.hpnpart", SFTP_O_WRITE, 7, false);
	h = answer_handle();
	ask_rename(h, ".p.hpnpart", "p");
	expect_status(SFTP_OK);
	expect_file("p", "new");
	assert_int_equal(unlink("p"), 0);
}

/* What is renamed is what the handle is of, or nothing is. */
static void
test_rename_part(void **state)
{
	uint32_t h, other;

	(void)state;
	make_file("p", "old");
	h = made_part("new");
	ask_rename(h, ".p.hpnpart", "p");
	expect_status(SFTP_OK);
	expect_file("p", "new");
	assert_int_not_equal(access(".p.hpnpart", F_OK), 0);
	close_handle(h, SFTP_FAILURE); /* it is closed */
	/* exchanged, by a file and by a link; removed; no part at all */
	for (int i = 0; i < 4; i++) {
		h = made_part("newer");
		make_file("n", "his");
		if (i == 0)
			assert_int_equal(rename("n", ".p.hpnpart"), 0);
		else
			assert_int_equal(unlink(".p.hpnpart"), 0);
		if (i == 1)
			assert_int_equal(symlink("n", ".p.hpnpart"), 0);
		ask_rename(h, i == 3 ? "n" : ".p.hpnpart", "p");
		expect_status(SFTP_NO_SUCH_FILE);
		expect_file("p", "new");
		(void)unlink("n");
		(void)unlink(".p.hpnpart");
		close_handle(h, SFTP_FAILURE);
	}
	/* onto a part that is being written */
	h = made_part("of p");
	buf_put_cstring(ask_for(SFTP_OPEN), "..p.hpnpart.hpnpart");
	buf_put_u32(&message, SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
	sftp_put_attrs(&message, NULL);
	other = answer_handle();
	ask_rename(other, "..p.hpnpart.hpnpart", ".p.hpnpart");
	expect_refused();
	ask_rename(h, ".p.hpnpart", "p");
	expect_status(SFTP_OK);
	expect_file("p", "of p");
	ask_rename(77, ".p.hpnpart", "p");
	expect_refused();
	assert_int_equal(unlink("p") | unlink("..p.hpnpart.hpnpart"), 0);
}

static void
expect_opened(const char *path, uint32_t pflags, bool opens)
{
	ask_open(path, pflags);
	if (opens)
		close_handle(answer_handle(), SFTP_OK);
	else
		assert_true(answer().status > SFTP_EOF);
}

/* A neighbour who may write to the directory has put something where a part
 * would be: it is neither written nor cut, nor written through. */
static void
test_parts_of_others(void **state)
{
	static const uint32_t flags[] = { SFTP_O_WRITE,
		SFTP_O_WRITE | SFTP_O_READ, SFTP_O_WRITE | SFTP_O_TRUNC,
		SFTP_O_WRITE | SFTP_O_CREAT,
		SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_TRUNC,
		SFTP_O_WRITE | SFTP_O_APPEND };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		make_file("victim", "text");
		assert_int_equal(symlink("victim", ".p.hpnpart"), 0);
		expect_opened(".p.hpnpart", flags[i], false);
		assert_int_equal(unlink(".p.hpnpart"), 0);
		assert_int_equal(symlink("none", ".p.hpnpart"), 0);
		expect_opened(".p.hpnpart", flags[i], false);
		assert_int_not_equal(access("none", F_OK), 0);
		assert_int_equal(unlink(".p.hpnpart"), 0);
		assert_int_equal(link("victim", ".p.hpnpart"), 0);
		expect_opened(".p.hpnpart", flags[i], false);
		assert_int_equal(unlink(".p.hpnpart"), 0);
		assert_int_equal(mkfifo(".p.hpnpart", 0666), 0);
		expect_opened(".p.hpnpart", flags[i], false);
		assert_int_equal(unlink(".p.hpnpart"), 0);
		expect_file("victim", "text");
		/* Somebody else's; only root can make one. */
		if (geteuid() == 0) {
			make_file(".p.hpnpart", "theirs");
			assert_int_equal(chown(".p.hpnpart", 1, 1), 0);
			expect_opened(".p.hpnpart", flags[i], false);
			expect_file(".p.hpnpart", "theirs");
			assert_int_equal(unlink(".p.hpnpart"), 0);
		}
		/* Our own it may be, and other names are as ever. */
		make_file(".p.hpnpart", "ours");
		expect_opened(".p.hpnpart", flags[i], true);
		expect_file(".p.hpnpart", flags[i] & SFTP_O_TRUNC ? "" :
								    "ours");
		assert_int_equal(unlink(".p.hpnpart"), 0);
		assert_int_equal(symlink("victim", "l"), 0);
		expect_opened("l", flags[i], true);
		assert_int_equal(unlink("l") | unlink("victim"), 0);
	}
}

/* What the part of a put-file let others do, as its mode was set. */
static mode_t fchmod_found;

int
fchmod(int fd, mode_t mode)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	fchmod_found = st.st_mode & 07777;
	return (int)syscall(SYS_fchmod, fd, mode);
}

/* Data that takes the place of a secret is one before it has its name. */
static void
test_part_is_private(void **state)
{
	(void)state;
	make_file("p", "secret");
	assert_int_equal(chmod("p", 0640), 0);
	fchmod_found = 0;
	ask_put_file("p", false, 0666, "new");
	expect_status(SFTP_OK);
	assert_int_equal(fchmod_found, 0600);
	expect_mode("p", 0640);
	expect_file("p", "new");
	assert_int_equal(unlink("p"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_parts_that_are_not_read),
		cmocka_unit_test(test_rename_part),
		cmocka_unit_test(test_rename_part_in_use),
		cmocka_unit_test(test_parts_of_others),
		cmocka_unit_test(test_part_is_private),
	};

	return serve_run_modes(tests);
}
