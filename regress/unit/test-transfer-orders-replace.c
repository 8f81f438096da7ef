/* SPDX-License-Identifier: ISC */
/* What a plan puts in the place of something: which attributes it gets, what
 * becomes of the old one, and what goes for good. */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"

static void
make_ends(void)
{
	plan_dir("from", 0755);
	plan_dir("to", 0755);
}

static bool
links_to(const char *path, const char *text)
{
	char found[64];
	ssize_t n = readlink(path, found, sizeof found);

	return n == (ssize_t)strlen(text) &&
	    memcmp(found, text, (size_t)n) == 0;
}

/* ---- attributes --------------------------------------------------------- */

/* Each set of attributes, for a file that is new, or there, or has its data
 * already. */
static void
test_flags(void **state)
{
	static const uint32_t sets[] = { 0, SFTP_A_MODE, SFTP_A_TIMES,
		SFTP_A_MODE | SFTP_A_TIMES,
		SFTP_A_MODE | SFTP_A_TIMES | SFTP_A_OWNER };
	enum { NEW, THERE, ATTRS, CASES };

	(void)state;
	for (size_t i = 0; i < 2 * PLAN_HOSTS * CASES * ARRAY_LEN(sets); i++) {
		struct host h = plan_host((int)(i / 2 % PLAN_HOSTS));
		int what = (int)(i / 2 / PLAN_HOSTS % CASES);
		uint32_t flags = sets[i / 2 / PLAN_HOSTS / CASES];
		bool up = i % 2;
		struct xfer_order *o;
		struct stat st;
		mode_t mode;

		make_ends();
		plan_file("from/f", "data", PLAN_NEW, 0600);
		if (what != NEW)
			plan_file("to/f", what == ATTRS ? "data" : "old",
			    PLAN_OLD, 0640);
		(void)plan_begin(up, true);
		o = plan_add(what == ATTRS ? XFER_ORDER_ATTRS :
					     XFER_ORDER_COPY, "f", flags);
		/* The plan decides; not the source's own mode. */
		((struct sftp_attrs *)o->attrs)->mode = S_IFREG | 04751;
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		assert_true(plan_holds("to/f", "data"));
		mode = flags & SFTP_A_MODE ? 04751 : what == NEW ? 0751 : 0640;
		assert_int_equal(plan_mode("to/f"), mode);
		assert_int_equal(stat("to/f", &st), 0);
		if (flags & SFTP_A_TIMES) {
			assert_int_equal(st.FILE_MTIME.tv_sec, PLAN_NEW);
			if (!h.stock || !up)
				assert_int_equal(st.FILE_MTIME.tv_nsec, 5);
		} else if (what == ATTRS) {
			assert_int_equal(st.FILE_MTIME.tv_sec, PLAN_OLD);
		} else {
			assert_true(st.FILE_MTIME.tv_sec > PLAN_NEW);
		}
		plan_end();
		plan_clean();
	}
}

/* Who may set owners sets them, before a mode that this would clear. */
static void
test_owner(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	for (int i = 0; i < 2 * PLAN_HOSTS; i++) {
		struct host h = plan_host(i / 2);
		struct sftp_attrs *a;
		struct stat st;

		make_ends();
		plan_file("from/f", "data", PLAN_NEW, 0600);
		plan_link("from/l", "f");
		plan_dir("from/d", 0755);
		(void)plan_begin(i % 2, true);
		for (int k = 0; k < 4; k++) {
			static const char *const names[] = { "d", "f", "l",
				"d" };
			static const enum xfer_order_kind kinds[] = {
				XFER_ORDER_MAKE_DIR, XFER_ORDER_COPY,
				XFER_ORDER_COPY, XFER_ORDER_DIR_ATTRS };
			struct xfer_order *o = plan_add(kinds[k], names[k],
			    SFTP_A_MODE | SFTP_A_OWNER);

			a = (struct sftp_attrs *)o->attrs;
			a->uid = 12;
			a->gid = k == 1 ? UINT32_MAX : 34;
			if (k == 1)
				a->mode = S_IFREG | 06755;
		}
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		assert_int_equal(lstat("to/f", &st), 0);
		assert_int_equal(st.st_uid, 12);
		assert_int_equal(st.st_gid, getegid());
		assert_int_equal(st.st_mode & 07777, 06755);
		assert_int_equal(lstat("to/l", &st), 0);
		if (!(h.unordered && i % 2)) { /* it has no lsetstat */
			assert_int_equal(st.st_uid, 12);
			assert_int_equal(st.st_gid, 34);
		}
		assert_int_equal(lstat("to/d", &st), 0);
		assert_int_equal(st.st_uid, 12);
		assert_int_equal(st.st_gid, 34);
		plan_end();
		plan_clean();
	}
}

/* ---- what was there ----------------------------------------------------- */

enum old { OLD_NONE, OLD_FILE, OLD_READ_ONLY, OLD_LINK, OLD_NAMES, OLD_FIFO,
	OLD_DIR, OLD_FULL, OLDS };

static void
make_old(enum old old)
{
	switch (old) {
	case OLD_NONE:
		break;
	case OLD_FILE:
	case OLD_READ_ONLY:
	case OLD_NAMES:
		plan_file("to/x", "old", PLAN_OLD,
		    old == OLD_READ_ONLY ? 0444 : 0644);
		if (old == OLD_NAMES)
			assert_int_equal(link("to/x", "to/other"), 0);
		break;
	case OLD_LINK:
		plan_file("to/victim", "victim", PLAN_OLD, 0644);
		plan_link("to/x", "victim");
		break;
	case OLD_FIFO:
		assert_int_equal(mkfifo("to/x", 0644), 0);
		break;
	default:
		plan_dir("to/x", 0755);
		if (old == OLD_FULL)
			plan_file("to/x/in", "in", PLAN_OLD, 0644);
	}
}

/* Files and links in the place of all that there can be; each with a backup,
 * and without. */
static void
test_replace(void **state)
{
	(void)state;
	for (int i = 0; i < 8 * PLAN_HOSTS * OLDS; i++) {
		struct host h = plan_host(i / 8 % PLAN_HOSTS);
		enum old old = (enum old)(i / 8 / PLAN_HOSTS);
		bool up = i & 1, link = i & 2, backup = i & 4;
		bool fine = old != OLD_FULL;
		struct xfer_order *o;
		struct plan *p;

		make_ends();
		if (link)
			plan_link("from/x", "text");
		else
			plan_file("from/x", "new", PLAN_NEW, 0644);
		make_old(old);
		p = plan_begin(up, true);
		o = plan_add(XFER_ORDER_COPY, "x", SFTP_A_MODE | SFTP_A_TIMES);
		plan_was(o, "x");
		o->replaces_kind = o->was != NULL &&
		    ((o->was->mode ^ o->attrs->mode) & S_IFMT) != 0;
		if (backup)
			o->backup = up ? "to/a/b/x~" : "a/b/x~";
		if (link)
			o->text = "text";
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }),
		    fine ? 0 : -1);
		assert_int_equal(p->ok[0], fine);
		if (fine && link)
			assert_true(links_to("to/x", "text"));
		else if (fine)
			assert_true(plan_holds("to/x", "new"));
		else
			assert_true(plan_holds("to/x/in", "in"));
		if (backup && old == OLD_LINK)
			assert_true(links_to("to/a/b/x~", "victim"));
		else if (backup && old != OLD_NONE && old < OLD_FIFO)
			assert_true(plan_holds("to/a/b/x~", "old"));
		else
			assert_false(plan_exists("to/a/b/x~") &&
			    old != OLD_FIFO);
		if (old == OLD_NAMES)
			assert_true(plan_holds("to/other", "old"));
		if (old == OLD_LINK)
			assert_true(plan_holds("to/victim", "victim"));
		plan_end();
		plan_clean();
	}
}

/* What is another one than the plan has seen is not replaced by another kind,
 * nor deleted. */
static void
test_changed(void **state)
{
	enum { REPLACED, DELETED, DELETED_DIR, CASES };

	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS * CASES; i++) {
		struct host h = plan_host(i / 2 % PLAN_HOSTS);
		int what = i / 2 / PLAN_HOSTS;
		struct xfer_order *o;
		struct plan *p;

		make_ends();
		plan_file("from/x", "new", PLAN_NEW, 0644);
		if (what == DELETED_DIR)
			plan_dir("to/x", 0755);
		else
			plan_link("to/x", "somewhere");
		p = plan_begin(i % 2, true);
		o = plan_add(what == REPLACED ? XFER_ORDER_COPY :
		    what == DELETED ? XFER_ORDER_DELETE :
		    XFER_ORDER_DELETE_DIR, "x", 0);
		if (what != REPLACED && !(i % 2))
			o->local = "x";
		plan_was(o, "x");
		o->replaces_kind = what == REPLACED;
		assert_int_equal(what == DELETED_DIR ? rmdir("to/x") :
			unlink("to/x"), 0);
		plan_file("to/x", "precious", PLAN_OLD, 0644);
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), -1);
		assert_false(p->ok[0]);
		assert_true(plan_holds("to/x", "precious"));
		plan_end();
		plan_clean();
	}
}

/* ---- what goes ---------------------------------------------------------- */

/* A tree goes, children first; each file to its backup, or for good. */
static void
test_delete_tree(void **state)
{
	enum { DIRS = 40, FILES = 20 };

	(void)state;
	for (int i = 0; i < 4 * PLAN_HOSTS; i++) {
		struct host h = plan_host(i / 4);
		bool up = i & 1, backup = i & 2;
		char name[64], aside[DIRS][64];
		struct xfer_order *o;
		struct plan *p;

		make_ends();
		p = plan_begin(up, true);
		for (int d = 0; d < DIRS; d++) {
			snprintf(name, sizeof name, "to/%d", d);
			plan_dir(name, 0755);
			for (int f = 0; f < FILES; f++) {
				snprintf(name, sizeof name, "to/%d/%d", d, f);
				plan_file(name, "old", PLAN_OLD, 0644);
				o = plan_add(XFER_ORDER_DELETE, name + 3, 0);
				plan_was(o, name + 3);
				snprintf(aside[d], sizeof aside[d],
				    "%sold/%d~", up ? "to/" : "", d);
				if (backup && f == 0)
					o->backup = aside[d];
			}
			snprintf(name, sizeof name, "%d", d);
			plan_was(plan_add(XFER_ORDER_DELETE_DIR, name, 0),
			    name);
		}
		for (size_t k = 0; k < p->n; k++)
			if (!up) /* a name of the target is local */
				assert_non_null(p->orders[k].local);
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		for (int d = 0; d < DIRS; d++) {
			snprintf(name, sizeof name, "to/%d", d);
			assert_false(plan_exists(name));
			snprintf(name, sizeof name, "to/old/%d~", d);
			assert_int_equal(plan_holds(name, "old"), backup);
		}
		assert_int_equal(p->notes.n, 0);
		plan_end();
		plan_clean();
	}
}

/* Sources go when their targets are whole, unless they have changed. */
static void
test_sources(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * PLAN_HOSTS; i++) {
		struct host h = plan_host(i / 2);
		struct plan *p;

		make_ends();
		plan_file("from/f", "data", PLAN_NEW, 0644);
		plan_link("from/l", "f");
		plan_file("from/same", "same", PLAN_NEW, 0644);
		plan_file("to/same", "same", PLAN_NEW, 0644);
		plan_file("from/other", "long", PLAN_NEW, 0644);
		plan_file("to/other", "short", PLAN_NEW, 0644);
		p = plan_begin(i % 2, true);
		(void)plan_add(XFER_ORDER_COPY, "f", SFTP_A_TIMES);
		(void)plan_add(XFER_ORDER_COPY, "l", 0);
		(void)plan_add(XFER_ORDER_ATTRS, "same", SFTP_A_MODE);
		(void)plan_add(XFER_ORDER_ATTRS, "other", SFTP_A_MODE);
		for (size_t k = 0; k < p->n; k++)
			p->orders[k].remove_source = true;
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), -1);
		assert_true(plan_holds("to/f", "data"));
		assert_true(links_to("to/l", "f"));
		assert_false(plan_exists("from/f"));
		assert_false(plan_exists("from/l"));
		assert_false(plan_exists("from/same"));
		assert_true(plan_holds("from/other", "long"));
		assert_true(p->ok[0] && p->ok[1] && p->ok[2] && !p->ok[3]);
		plan_end();
		plan_clean();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_delete_tree),
		cmocka_unit_test(test_sources),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
