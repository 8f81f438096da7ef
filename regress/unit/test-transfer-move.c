/* SPDX-License-Identifier: ISC */
/* Files of the target's side that move to their targets' names, where no hard
 * link can be made: what they replace, and what happens when that fails, or
 * when answers are lost. */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"

/* In place of the C library's: no file system here has hard links. */
int
linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	(void)from_at;
	(void)from;
	(void)to_at;
	(void)to;
	(void)flags;
	errno = EPERM;
	return -1;
}

enum old { OLD_NONE, OLD_FILE, OLD_LINK, OLD_FIFO, OLD_DIR, OLD_FULL, OLDS };

static void
make_ends(enum old old)
{
	plan_dir("from", 0755);
	plan_dir("to", 0755);
	plan_dir("aside", 0700);
	plan_file("from/x", "new", PLAN_NEW, 0644);
	plan_file("aside/1", "new", PLAN_NEW, 0640);
	if (old == OLD_FILE)
		plan_file("to/x", "old", PLAN_OLD, 0644);
	if (old == OLD_LINK) {
		plan_file("to/victim", "victim", PLAN_OLD, 0644);
		plan_link("to/x", "victim");
	}
	if (old == OLD_FIFO)
		assert_int_equal(mkfifo("to/x", 0644), 0);
	if (old >= OLD_DIR)
		plan_dir("to/x", 0755);
	if (old == OLD_FULL)
		plan_file("to/x/in", "in", PLAN_OLD, 0644);
}

static struct xfer_order *
add_move(void)
{
	struct xfer_order *o = plan_add(XFER_ORDER_COPY, "x",
	    SFTP_A_MODE | SFTP_A_TIMES);

	plan_was(o, "x");
	o->replaces_kind = o->was != NULL &&
	    ((o->was->mode ^ o->attrs->mode) & S_IFMT) != 0;
	o->link = "aside/1";
	o->link_moves = true;
	return o;
}

static const struct xfer_opts unread = { .unread = true, .links = true };

/* The moved file replaces all that there can be, but a directory that is not
 * empty; each with a backup, and without. */
static void
test_replace(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS * OLDS; i++) {
		struct host h = plan_host(i / 2 % PLAN_HOSTS);
		enum old old = (enum old)(i / 2 / PLAN_HOSTS);
		bool fine = old != OLD_FULL, backup = i % 2;
		struct stat st;
		struct plan *p;

		make_ends(old);
		p = plan_begin(true, false);
		add_move()->backup = backup ? "to/a/b/x~" : NULL;
		assert_int_equal(plan_run(&h, unread), fine ? 0 : -1);
		assert_int_equal(p->ok[0], fine);
		assert_int_equal(plan_exists("aside/1"), !fine);
		if (fine) {
			assert_true(plan_holds("to/x", "new"));
			assert_int_equal(stat("to/x", &st), 0);
			assert_int_equal(st.st_mode & 07777, 0640);
			assert_int_equal(st.FILE_MTIME.tv_sec, PLAN_NEW);
		} else {
			assert_true(plan_holds("to/x/in", "in"));
		}
		if (backup && old == OLD_FILE)
			assert_true(plan_holds("to/a/b/x~", "old"));
		else
			assert_int_equal(plan_exists("to/a/b/x~"), backup &&
			    (old == OLD_LINK || old == OLD_FIFO));
		if (old == OLD_LINK)
			assert_true(plan_holds("to/victim", "victim"));
		/* Nobody reads it, so it is not told as data either. */
		assert_int_equal(p->bytes[0], 0);
		plan_end();
		plan_clean();
	}
}

/* What has become a directory since it was compared stays. */
static void
test_changed(void **state)
{
	(void)state;
	for (int i = 0; i < PLAN_HOSTS; i++) {
		struct host h = plan_host(i);

		make_ends(OLD_FILE);
		(void)plan_begin(true, false);
		(void)add_move();
		assert_int_equal(unlink("to/x") | mkdir("to/x", 0755), 0);
		assert_int_equal(plan_run(&h, unread), -1);
		assert_true(host_reported("to/x: has changed since it was "
		    "compared: left alone"));
		assert_true(plan_exists("aside/1"));
		plan_end();
		plan_clean();
	}
}

/* Where the file is gone the old target stays: under its own name, and not
 * under that of a backup. */
static void
test_nothing_to_move(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS; i++) {
		struct host h = plan_host(i / 2);

		make_ends(OLD_FILE);
		assert_int_equal(unlink("aside/1"), 0);
		(void)plan_begin(true, false);
		add_move()->backup = i % 2 ? "to/x~" : NULL;
		assert_int_equal(plan_run(&h, unread), -1);
		assert_true(host_reported("to/x: No such file or directory"));
		assert_true(plan_holds("to/x", "old"));
		assert_false(plan_exists("to/x~"));
		plan_end();
		plan_clean();
	}
}

enum { FILES = 4 };

static void
add_files(char names[FILES][32])
{
	char name[32];
	struct xfer_order *o;

	for (int n = 0; n < FILES; n++) {
		snprintf(names[n], sizeof names[n], "aside/f%d", n);
		plan_file(names[n], names[n], PLAN_NEW, 0644);
		snprintf(name, sizeof name, "from/f%d", n);
		plan_file(name, names[n], PLAN_NEW, 0644);
		snprintf(name, sizeof name, "to/f%d", n);
		if (n % 2)
			plan_file(name, "old", PLAN_OLD, 0644);
		o = plan_add(XFER_ORDER_COPY, name + 3, SFTP_A_MODE);
		o->link = names[n];
		o->link_moves = true;
	}
}

/* All sessions end when the host has had so many bytes. With another one each
 * file gets to its place; without, it is under one of its names, and what was
 * there before is lost only where nothing can be renamed over it. */
static void
test_lost_answers(void **state)
{
	bool over, again, answered, at_place, aside;
	struct host h;
	char names[FILES][32], name[32];
	int r;

	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS; i++) {
		over = answered = false;
		again = i % 2;
		for (uint64_t bytes = 1; !over; bytes += 7) {
			assert_true(bytes < 10000);
			h = plan_host(i / 2);
			h.cut_at = bytes;
			make_ends(OLD_NONE);
			(void)plan_begin(true, false);
			add_files(names);
			r = plan_run(&h, (struct xfer_opts){ .unread = true,
				.retries = again ? 3 : 0,
				.retry_wait_ms = 1 });
			over = h.cut_at > 0;
			assert_true(!over || r == 0);
			/* Another session follows from the first answer on. */
			answered |= again && r == 0;
			assert_true(!answered || r == 0);
			for (int n = 0; n < FILES; n++) {
				snprintf(name, sizeof name, "to/f%d", n);
				at_place = plan_holds(name, names[n]);
				aside = plan_holds(names[n], names[n]);
				assert_true(at_place != aside);
				assert_true(r != 0 || at_place);
				if (aside && n % 2 && !h.old_rename)
					assert_true(plan_holds(name, "old"));
			}
			plan_end();
			plan_clean();
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_nothing_to_move),
		cmocka_unit_test(test_lost_answers),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
