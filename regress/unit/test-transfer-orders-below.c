/* SPDX-License-Identifier: ISC */
/* Orders whose local paths are below a held root, when the plan knows them, and
 * what it is told of their end. */
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static void
make_ends(void)
{
	plan_dir("from", 0755);
	plan_dir("to", 0755);
}

/* A plan that is not known yet: each time that it says so, the run waits for a
 * turn, and then goes on. */
static void
test_later(void **state)
{
	enum { FILES = 3, TIMES = 5 };

	(void)state;
	for (int up = 0; up < 2; up++) {
		struct host h = { .seed = 1, .steady = true };
		struct plan *p;

		make_ends();
		plan_file("from/a", "a", PLAN_NEW, 0644);
		plan_file("from/b", "bb", PLAN_NEW, 0644);
		plan_file("from/c", "ccc", PLAN_NEW, 0644);
		p = plan_begin(up, true);
		p->later = TIMES;
		(void)plan_add(XFER_ORDER_COPY, "a", 0);
		(void)plan_add(XFER_ORDER_COPY, "b", 0);
		(void)plan_add(XFER_ORDER_COPY, "c", 0);
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		/* The turn that takes an order does not wait. */
		assert_true(h.turns >= (FILES + 1) * (TIMES - 1));
		for (int i = 0; i < FILES; i++) {
			assert_true(p->ok[i]);
			assert_int_equal(p->bytes[i], i + 1);
		}
		assert_true(plan_holds("to/c", "ccc"));
		plan_end();
		plan_clean();
	}
}

/* The names of a plan are those of a tree, one directory after the other, and
 * back. */
static void
test_below(void **state)
{
	static const char *const names[] = { "x", "a/1", "a/b/1", "a/b/2",
		"a/2", "c/b/1", "a/b/3", "y" };

	(void)state;
	for (int up = 0; up < 2; up++) {
		struct host h = { .seed = 1 };
		char source[64], target[64];

		make_ends();
		for (int end = 0; end < 2; end++) {
			const char *top = end ? "to" : "from";

			assert_int_equal(chdir(top), 0);
			plan_dir("a", 0755);
			plan_dir("a/b", 0755);
			plan_dir("c", 0755);
			plan_dir("c/b", 0755);
			assert_int_equal(chdir(".."), 0);
		}
		(void)plan_begin(up, true);
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			snprintf(source, sizeof source, "from/%s", names[i]);
			plan_file(source, names[i], PLAN_NEW, 0644);
			(void)plan_add(XFER_ORDER_COPY, names[i], 0);
		}
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }), 0);
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			snprintf(target, sizeof target, "to/%s", names[i]);
			assert_true(plan_holds(target, names[i]));
		}
		plan_end();
		plan_clean();
	}
}

/* A link in the way is followed if the order says so, and belongs to us. No
 * path leads out of the root. */
static void
test_bounds(void **state)
{
	static const struct {
		const char *name;
		enum local_links links;
		bool fine;
	} cases[] = {
		{ "real/f", LOCAL_LINKS_NONE, true },
		{ "link/f", LOCAL_LINKS_NONE, false },
		{ "link/f", LOCAL_LINKS_OWN, true },
		{ "real/../f", LOCAL_LINKS_OWN, false },
		{ "../f", LOCAL_LINKS_OWN, false },
		{ "..", LOCAL_LINKS_OWN, false },
		{ "./f", LOCAL_LINKS_OWN, false },
		{ "/f", LOCAL_LINKS_OWN, false },
		{ "real//f", LOCAL_LINKS_OWN, false },
		{ "f/", LOCAL_LINKS_OWN, false },
		{ "none/f", LOCAL_LINKS_OWN, false },
		{ "f/f", LOCAL_LINKS_OWN, false },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_SIZE,
			.mode = S_IFREG | 0644, .size = 1 };
		struct host h = { .seed = 1 };
		struct xfer_order *o;
		struct plan *p;
		bool up = i % 2;

		make_ends();
		for (int end = 0; end < 2; end++) {
			assert_int_equal(chdir(end ? "to" : "from"), 0);
			plan_dir("real", 0755);
			plan_link("link", "real");
			plan_file("f", "f", PLAN_NEW, 0644);
			if (!end)
				plan_file("real/f", "f", PLAN_NEW, 0644);
			assert_int_equal(chdir(".."), 0);
		}
		p = plan_begin(up, true);
		o = plan_add(XFER_ORDER_COPY, "real/f", 0);
		o->local = cases[i / 2].name;
		o->links = cases[i / 2].links;
		o->attrs = &a;
		assert_int_equal(plan_run(&h, (struct xfer_opts){ 0 }),
		    cases[i / 2].fine ? 0 : -1);
		assert_int_equal(p->ok[0], cases[i / 2].fine);
		assert_int_equal(plan_exists("to/real/f"), cases[i / 2].fine);
		assert_false(plan_exists("f"));
		plan_end();
		plan_clean();
	}
}

static bool stop;
static unsigned turns_left;

static void
stop_soon(struct host *h, struct xfer *x)
{
	(void)h;
	(void)x;
	if (turns_left > 0 && --turns_left == 0)
		stop = true;
}

/* What is whole when a run is stopped stays; all that was ordered ends. */
static void
test_stopped(void **state)
{
	enum { FILES = 600 };
	unsigned stopped = 0;
	int r;

	(void)state;
	for (int turns = 1; turns < 40; turns += 3) {
		struct host h = { .seed = 1, .watch = stop_soon };
		bool up = turns % 2;
		char name[64];
		struct plan *p;

		make_ends();
		p = plan_begin(up, true);
		p->later = turns % 5;
		for (int i = 0; i < FILES; i++) {
			snprintf(name, sizeof name, "from/%d", i);
			plan_file(name, "text", PLAN_NEW, 0644);
			(void)plan_add(XFER_ORDER_COPY, name + 5, 0);
		}
		stop = false;
		turns_left = (unsigned)turns;
		r = plan_run(&h, (struct xfer_opts){ .stop = &stop });
		assert_true(r == 0 || r == ERR_CANCELLED);
		stopped += r != 0;
		for (size_t i = 0; i < p->at; i++) {
			snprintf(name, sizeof name, "to/%zu", i);
			assert_int_equal(p->ended[i], 1);
			assert_int_equal(plan_exists(name), p->ok[i]);
			assert_true(!p->ok[i] || plan_holds(name, "text"));
		}
		plan_end();
		plan_clean();
	}
	assert_true(stopped > 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
