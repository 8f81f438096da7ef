/* SPDX-License-Identifier: ISC */
/* A plan that comes from elsewhere: what is copied, what gets attributes only,
 * and what is deleted, when. */
#include "regress/unit/memory-carrier.h"
#include "regress/unit/orders-host.h"

#include <sys/stat.h>

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/file.h"
#include "xfer/transfer/transfer-orders.h"
#include "xfer/transfer/transfer.h"

enum { OLD = 1000, NEW = 2000 };

static struct strlist reports;

static void
report(void *arg, const char *tried, const char *path, const char *text)
{
	char line[4096];

	(void)arg;
	(void)tried;
	snprintf(line, sizeof line, "%s: %s", path, text);
	assert_int_equal(strlist_add(&reports, line), 0);
}

struct list {
	const struct xfer_order *orders;
	size_t n, at;
	int end; /* what follows the last one */
};

static int
next(void *arg, struct xfer_order *out)
{
	struct list *l = arg;

	if (l->at == l->n)
		return l->end;
	*out = l->orders[l->at++];
	return 1;
}

static unsigned long
follow(bool up, struct list *l)
{
	const struct xfer_orders orders = { .next = next, .arg = l };
	const struct xfer_opts opts = { .preserve = true, .report = report };
	unsigned long failures;
	struct memory m;
	struct xfer *x;

	memory_begin(&m, 1, true, 0);
	assert_int_equal(xfer_new(&x, NULL, m.client, &opts), 0);
	assert_int_equal(xfer_follow(x, up, &orders), 0);
	assert_int_equal(xfer_run(x), 0);
	failures = xfer_failures(x);
	xfer_free(x);
	memory_end(&m);
	return failures;
}

static struct sftp_attrs
attrs_of(const char *path)
{
	struct sftp_attrs a;
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	sftp_attrs_from_stat(&a, &st);
	return a;
}

static void
begin(void)
{
	assert_int_equal(mkdir("from", 0755) | mkdir("to", 0755) |
	    mkdir("to/old", 0755), 0);
	plan_file("from/new", "new", NEW, 0640);
	plan_file("from/same", "same", NEW, 0640);
	/* Whoever looks sees the case. */
	plan_file("to/same", "SAME", OLD, 0600);
	plan_file("to/gone", "gone", OLD, 0600);
	plan_file("to/old/gone", "gone", OLD, 0600);
}

static void
end(void)
{
	static const char *const files[] = { "from/new", "from/same",
		"to/new", "to/same", "to/gone", "to/old/gone" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)unlink(files[i]);
	(void)rmdir("to/old");
	assert_int_equal(rmdir("to") | rmdir("from"), 0);
	strlist_clear(&reports);
}

/* The one that is copied, or deleted, is at the end that `up` says. */
static struct xfer_order
order(enum xfer_order_kind kind, bool up, const char *source,
    const char *target, const struct sftp_attrs *attrs)
{
	return (struct xfer_order){ .kind = kind, .attrs = attrs,
		.local = up ? source : target,
		.remote = up ? target : source };
}

/* Data moves, attributes are set without any, and deletes come last. */
static void
test_plan(void **state)
{
	(void)state;
	for (int up = 0; up < 2; up++) {
		struct sftp_attrs new, same;
		struct stat st;

		begin();
		new = attrs_of("from/new");
		same = attrs_of("from/same");
		struct xfer_order orders[] = {
			order(XFER_ORDER_COPY, up, "from/new", "to/new", &new),
			order(XFER_ORDER_ATTRS, up, "from/same", "to/same",
			    &same),
			order(XFER_ORDER_DELETE, up, NULL, "to/gone", NULL),
			order(XFER_ORDER_DELETE, up, NULL, "to/none", NULL),
			order(XFER_ORDER_DELETE, up, NULL, "to/old/gone",
			    NULL),
			order(XFER_ORDER_DELETE_DIR, up, NULL, "to/old", NULL),
		};
		struct list l = { orders, ARRAY_LEN(orders), 0, 0 };

		assert_int_equal(follow(up, &l), 0);
		assert_true(plan_holds("to/new", "new"));
		assert_true(plan_holds("to/same", "SAME"));
		assert_int_equal(stat("to/same", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
		assert_int_equal(st.FILE_MTIME.tv_sec, NEW);
		assert_int_equal(st.FILE_MTIME.tv_nsec, 5);
		assert_int_equal(access("to/gone", F_OK), -1);
		assert_int_equal(access("to/old", F_OK), -1);
		end();
	}
}

/* A plan of which something failed, or that broke off, deletes nothing. */
static void
test_nothing_is_deleted(void **state)
{
	const struct sftp_attrs file = { .flags = SFTP_A_MODE | SFTP_A_SIZE,
		.mode = S_IFREG | 0644, .size = 3 };
	enum { FAILS, BREAKS_OFF, CASES };

	(void)state;
	for (int i = 0; i < 2 * CASES; i++) {
		bool up = i % 2;
		struct xfer_order orders[] = {
			order(XFER_ORDER_COPY, up, "from/none", "to/none",
			    &file),
			order(XFER_ORDER_DELETE, up, NULL, "to/gone", NULL),
			order(XFER_ORDER_COPY, up, "from/new", "to/new",
			    &file),
		};
		struct list l = { orders, ARRAY_LEN(orders), 0, 0 };

		begin();
		if (i / 2 == BREAKS_OFF)
			l = (struct list){ orders + 2, 1, 0, ERR_CLOSED };
		assert_true(follow(up, &l) > 0);
		assert_int_equal(access("to/gone", F_OK), 0);
		assert_int_equal(access("to/new", F_OK), 0);
		end();
	}
}

/* What follows a delete comes when that has ended, as where a file takes the
 * place of a directory. */
static void
test_after_deletes(void **state)
{
	const struct sftp_attrs file = { .flags = SFTP_A_MODE | SFTP_A_SIZE,
		.mode = S_IFREG | 0644, .size = 3 };

	(void)state;
	for (int up = 0; up < 2; up++) {
		struct xfer_order orders[] = {
			order(XFER_ORDER_DELETE, up, NULL, "to/old/gone",
			    NULL),
			order(XFER_ORDER_DELETE_DIR, up, NULL, "to/old", NULL),
			order(XFER_ORDER_COPY, up, "from/new", "to/old",
			    &file),
			order(XFER_ORDER_DELETE, up, NULL, "to/gone", NULL),
		};
		struct list l = { orders, ARRAY_LEN(orders), 0, 0 };

		begin();
		assert_int_equal(follow(up, &l), 0);
		assert_true(plan_holds("to/old", "new"));
		assert_int_equal(access("to/gone", F_OK), -1);
		assert_int_equal(unlink("to/old"), 0);
		end();
	}
}

/* What cannot be deleted is told, and the others are. A directory that is not
 * empty stays, which is no failure. */
static void
test_delete_fails(void **state)
{
	(void)state;
	for (int up = 0; up < 2; up++) {
		struct xfer_order orders[] = {
			order(XFER_ORDER_DELETE, up, NULL, "to/old", NULL),
			order(XFER_ORDER_DELETE_DIR, up, NULL, "to/old", NULL),
			order(XFER_ORDER_DELETE, up, NULL, "to/gone", NULL),
		};
		struct list l = { orders, ARRAY_LEN(orders), 0, 0 };

		begin();
		assert_int_equal(follow(up, &l), 1);
		assert_int_equal(reports.n, 1);
		assert_int_equal(access("to/old/gone", F_OK), 0);
		assert_int_equal(access("to/gone", F_OK), -1);
		end();
	}
}

/* A plan of more than fits the queue, and deletes beyond what may be under way.
 */
static void
test_long_plan(void **state)
{
	enum { FILES = 3000 };
	static struct xfer_order orders[2 * FILES];
	static char from[FILES][16], to[FILES][16], old[FILES][16];
	struct sftp_attrs a;
	struct list l = { orders, ARRAY_LEN(orders), 0, 0 };

	(void)state;
	assert_int_equal(mkdir("from", 0755) | mkdir("to", 0755), 0);
	plan_file("from/one", "1", NEW, 0640);
	a = attrs_of("from/one");
	for (int i = 0; i < FILES; i++) {
		snprintf(from[i], sizeof from[i], "from/one");
		snprintf(to[i], sizeof to[i], "to/n%d", i);
		snprintf(old[i], sizeof old[i], "to/o%d", i);
		plan_file(old[i], "o", OLD, 0600);
		orders[i] = order(XFER_ORDER_COPY, true, from[i], to[i], &a);
		orders[FILES + i] = order(XFER_ORDER_DELETE, true, NULL,
		    old[i], NULL);
	}
	assert_int_equal(follow(true, &l), 0);
	for (int i = 0; i < FILES; i++) {
		assert_int_equal(access(old[i], F_OK), -1);
		assert_int_equal(unlink(to[i]), 0);
	}
	assert_int_equal(unlink("from/one") | rmdir("from") | rmdir("to"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_nothing_is_deleted),
		cmocka_unit_test(test_after_deletes),
		cmocka_unit_test(test_delete_fails),
		cmocka_unit_test(test_long_plan),
	};

	return cmocka_run_group_tests(tests, memory_setup, temp_leave);
}
