/* SPDX-License-Identifier: ISC */
/*
 * Plans on file systems that fail, and over connections that end: whatever call
 * fails, and at whatever byte, what was there before is still there under its
 * name or the backup's, or its replacement is whole.
 *
 * System calls of this program fail where a test says so, also those of the
 * server engine, which is in this process.
 */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- system calls that fail --------------------------------------------- */

static struct {
	unsigned at; /* the call that fails; 0: none */
	bool for_good; /* and all that follow */
	unsigned calls; /* so far */
} fault;

static bool
fails(void)
{
	if (fault.at == 0)
		return false;
	fault.calls++;
	if (fault.calls != fault.at &&
	    !(fault.for_good && fault.calls > fault.at))
		return false;
	errno = EIO;
	return true;
}

int
renameat(int from_at, const char *from, int to_at, const char *to)
{
	return fails() ? -1 : (int)syscall(SYS_renameat2, from_at, from, to_at,
	    to, 0);
}

int
rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int
linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	return fails() ? -1 : (int)syscall(SYS_linkat, from_at, from, to_at,
	    to, flags);
}

int
link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
unlinkat(int at, const char *name, int flags)
{
	return fails() ? -1 : (int)syscall(SYS_unlinkat, at, name, flags);
}

int
mkdirat(int at, const char *name, mode_t mode)
{
	return fails() ? -1 : (int)syscall(SYS_mkdirat, at, name, mode);
}

int
symlinkat(const char *text, int at, const char *name)
{
	return fails() ? -1 : (int)syscall(SYS_symlinkat, text, at, name);
}

int
fchmod(int fd, mode_t mode)
{
	return fails() ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int
futimens(int fd, const struct timespec ts[2])
{
	return fails() ? -1 : (int)syscall(SYS_utimensat, fd, NULL, ts, 0);
}

ssize_t
write(int fd, const void *p, size_t len)
{
	return fails() ? -1 : syscall(SYS_write, fd, p, len);
}

ssize_t
pwrite(int fd, const void *p, size_t len, off_t offset)
{
	return fails() ? -1 : syscall(SYS_pwrite64, fd, p, len, offset);
}

int
close(int fd)
{
	bool bad = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && fails();

	(void)syscall(SYS_close, fd);
	errno = EIO;
	return bad ? -1 : 0;
}

/* ---- what is done, and what must be there then -------------------------- */

enum story { REPLACED, BACKED_UP, BACKED_UP_LINK, DIR_BACKED_UP, DELETED,
	MOVED, STORIES };

static void
order_story(enum story story, bool up)
{
	struct xfer_order *o;

	plan_dir("from", 0755);
	plan_dir("to", 0755);
	plan_file("to/x", "old", PLAN_OLD, 0644);
	if (story == DIR_BACKED_UP)
		plan_dir("from/x", 0755);
	else if (story == BACKED_UP_LINK)
		plan_link("from/x", "new");
	else
		plan_file("from/x", "new", PLAN_NEW, 0600);
	(void)plan_begin(up, true);
	o = plan_add(story == DELETED ? XFER_ORDER_DELETE :
	    story == DIR_BACKED_UP ? XFER_ORDER_MAKE_DIR : XFER_ORDER_COPY,
	    "x", SFTP_A_MODE | SFTP_A_TIMES);
	plan_was(o, "x");
	o->replaces_kind = story == DIR_BACKED_UP || story == BACKED_UP_LINK;
	o->remove_source = story == MOVED;
	if (story != REPLACED && story != MOVED)
		o->backup = up ? "to/a/x~" : "a/x~";
}

/* The RENAME of SFTP 3 replaces nothing: between the end of the old file and
 * the rename, the new one has the part's name. */
static bool
is_part_whole(void)
{
	return plan_holds("to/.x.hpnpart", "new");
}

static bool
is_made(enum story story)
{
	struct stat st;

	if (lstat("to/x", &st) != 0)
		return story == DELETED;
	if (story == DIR_BACKED_UP)
		return S_ISDIR(st.st_mode);
	if (story == BACKED_UP_LINK)
		return S_ISLNK(st.st_mode);
	return story != DELETED && plan_holds("to/x", "new");
}

/* done: the run says that all is well. gentle: a single call has failed. */
static void
check_story(enum story story, bool done, bool gentle)
{
	bool old = plan_holds("to/x", "old");
	bool saved = plan_holds("to/a/x~", "old");
	bool made = is_made(story);

	if (done)
		assert_true(made);
	if (story == MOVED) {
		assert_true(plan_holds("from/x", "new") || made);
		assert_true(!done || !plan_exists("from/x"));
	} else if (story != DELETED) {
		assert_true(plan_exists("from/x"));
	}
	if (story == REPLACED || story == MOVED) {
		assert_true(old || made || (!gentle && is_part_whole()));
		return;
	}
	assert_true(old || saved);
	assert_true(!done || saved);
	/* The backup has got its name back. */
	if (gentle && story != DELETED && story != DIR_BACKED_UP)
		assert_true(old || made);
}

static void
test_calls(void **state)
{
	(void)state;
	for (int i = 0; i < 4 * PLAN_HOSTS * STORIES; i++) {
		enum story story = (enum story)(i / 4 / PLAN_HOSTS);
		bool up = i & 1, for_good = i & 2, over = false;

		for (unsigned at = 1; !over; at++) {
			struct host h = plan_host(i / 4 % PLAN_HOSTS);
			int r;

			assert_true(at < 200);
			order_story(story, up);
			fault.calls = 0;
			fault.for_good = for_good;
			fault.at = at;
			r = plan_run(&h, (struct xfer_opts){ 0 });
			fault.at = 0;
			over = fault.calls < at;
			assert_true(!over || r == 0);
			check_story(story, r == 0, !for_good);
			plan_end();
			plan_clean();
		}
	}
}

/* All streams end when the host has had so many bytes; the run gives up, or
 * goes on over others. */
static void
test_streams(void **state)
{
	(void)state;
	for (int i = 0; i < 4 * PLAN_HOSTS * STORIES; i++) {
		enum story story = (enum story)(i / 4 / PLAN_HOSTS);
		bool over = false;

		for (uint64_t bytes = 1; !over; bytes += 23) {
			struct host h = plan_host(i / 4 % PLAN_HOSTS);
			int r;

			assert_true(bytes < 10000);
			order_story(story, i & 1);
			h.cut_at = bytes;
			r = plan_run(&h, (struct xfer_opts){
				.retries = i & 2 ? 3 : 0,
				.retry_wait_ms = 1 });
			over = h.cut_at > 0;
			assert_true(!over || r == 0);
			check_story(story, r == 0, false);
			plan_end();
			plan_clean();
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
