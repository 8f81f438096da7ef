/* SPDX-License-Identifier: ISC */
/*
 * Parts over breaks: what has the name of a part when a copy goes on has to
 * show anew that it is one, be it of the same run.
 */
#include "regress/unit/transfer-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define PART ".dst.hpnpart"
enum { SIZE = 3000000 };

static unsigned turn; /* of the run; at that one it breaks */
static bool renaming; /* it did when the part was to be renamed */

static void
all_lost(struct host *h)
{
	for (size_t i = 0; i < HOST_STREAMS; i++)
		if (h->streams[i].client != NULL &&
		    sftp_error(h->streams[i].client) == 0)
			host_lose(h, h->streams[i].client);
}

static struct xfer_file *
active(struct xfer *x)
{
	return TAILQ_FIRST(&x->files.active);
}

/* Somebody puts his own file where the part was. */
static void
replaces(struct host *h, struct xfer *x)
{
	if (h->was_cut || active(x) == NULL || ++h->most < turn ||
	    access(PART, F_OK) != 0)
		return;
	h->was_cut = true;
	renaming = active(x)->state == XFER_RENAMING;
	assert_int_equal(rename("his", PART), 0);
	all_lost(h);
}

/* A rename by name may find his file only when it is done: then the copy fails,
 * and says so. */
static void
exchanged(void)
{
	assert_true(renaming);
	assert_true(host_reported("dst: " XFER_PART_EXCHANGED));
	assert_true(host_same("copy", "dst"));
}

/* It is neither written, nor renamed, nor removed, whatever it is like. True if
 * it came to a break. */
static bool
one_replaced(struct host h, size_t size, const char *change)
{
	const struct xfer_opts opts = { .retries = 3, .retry_wait_ms = 1,
		.connections_max = 2 };

	h.watch = replaces;
	host_make_file("his", size, 2);
	host_make_file("copy", size, 2);
	assert_int_equal(system(change), 0);
	renaming = false;
	if (host_copy(&h, true, "src", "dst", opts) != 0) {
		exchanged();
	} else {
		assert_true(host_same("src", "dst"));
		assert_true(host_same("copy", h.was_cut ? PART : "his"));
	}
	assert_int_equal(system("rm -f his copy dst .dst.*"), 0);
	return h.was_cut;
}

static void
test_replaced_at_a_break(void **state)
{
	static const size_t sizes[] = { 20, 700000, SIZE, SIZE + 40 };
	unsigned cut = 0;

	(void)state;
	host_make_file("src", SIZE, 1);
	for (unsigned i = 0; i < 64; i++) {
		struct host h = { .seed = i, .no_digests = i / 4 % 2,
			.stock = i / 4 % 4 == 2 };

		turn = 2 + i;
		cut += one_replaced(h, sizes[i % ARRAY_LEN(sizes)], "true");
	}
	assert_true(cut > 20);
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* A stock server shows of an empty file whose it is, its mode and its time. */
static void
test_empty_at_a_break(void **state)
{
	unsigned cut = 0;

	(void)state;
	host_make_file("src", SIZE, 1);
	for (unsigned i = 0; i < 48; i++) {
		struct host h = { .seed = i, .stock = true };

		turn = 1 + i / 2;
		cut += one_replaced(h, 0, i % 2 ? "chmod 640 his" :
		    "touch -d '1 minute ago' his");
	}
	assert_true(cut > 20);
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* It is lost when its attributes are known, and nothing was written to it. */
static void
breaks_empty(struct host *h, struct xfer *x)
{
	const struct xfer_file *f = active(x);
	struct stat st;

	if (h->was_cut || f == NULL || f->made.attrs.flags == 0 ||
	    stat(PART, &st) != 0 || st.st_size > 0)
		return;
	h->was_cut = true;
	all_lost(h);
}

/* It is known again, so no other part is made. */
static void
test_own_empty_at_a_break(void **state)
{
	const struct xfer_opts opts = { .retries = 3, .retry_wait_ms = 1,
		.connections_max = 1 };

	(void)state;
	host_make_file("src", SIZE / 6, 1);
	for (unsigned i = 0; i < 8; i++) {
		struct host h = { .seed = i, .stock = i % 2, .in_order = true,
			.watch = breaks_empty };

		assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
		assert_true(h.was_cut);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
		assert_int_not_equal(system("ls .dst* 2>/dev/null"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(host_reports.n, 0);
}

/* It takes no round trip to ask what the part is. */
static void
test_look_takes_no_turn(void **state)
{
	unsigned turns[4];

	(void)state;
	host_make_file("src", SIZE / 6, 1);
	for (unsigned i = 0; i < ARRAY_LEN(turns); i++) {
		const struct xfer_opts opts = { .retries = i % 2 * 3,
			.connections_max = 1 };
		struct host h = { .stock = i / 2, .greeted = true,
			.steady = true };

		assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
		turns[i] = h.turns;
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(turns[0], turns[1]);
	assert_int_equal(turns[2], turns[3]);
	assert_int_equal(unlink("src"), 0);
}

/* When it is being read, or digests of it are compared. */
static void
breaks_comparing(struct host *h, struct xfer *x)
{
	struct xfer_file *f = active(x);

	if (h->was_cut || f == NULL || f->compare.pending == 0)
		return;
	h->was_cut = true;
	all_lost(h);
}

/* An old part, which has the source's size, is not taken for whole because a
 * break came while it was compared. */
static void
test_break_while_comparing(void **state)
{
	const struct xfer_opts opts = { .resume = true, .retries = 3,
		.retry_wait_ms = 1, .connections_max = 2 };

	(void)state;
	host_make_file("src", SIZE, 1);
	for (unsigned i = 0; i < 32; i++) {
		struct host h = { .seed = i, .watch = breaks_comparing,
			.stock = i % 2, .no_digests = i / 2 % 2 };
		int fd;

		assert_int_equal(system("cp src " PART), 0);
		fd = open(PART, O_WRONLY);
		assert_int_equal(pwrite(fd, "another", 7, SIZE - 500), 7);
		close(fd);
		assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
		assert_true(h.was_cut);
		assert_true(host_same("src", "dst"));
		assert_int_equal(system("rm -f dst .dst.*"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(host_reports.n, 0);
}

static void
note(void *arg, const char *path, const char *text)
{
	char line[300];

	(void)arg;
	snprintf(line, sizeof line, "%s: %s", path, text);
	assert_int_equal(strlist_add(&host_reports, line), 0);
}

/* What a killed server has left of a small file is told, all in one line. */
static void
test_left_is_told(void **state)
{
	char *left[] = { xfer_put_name("to/a", 1), xfer_put_name("to/b", 1) };
	const struct xfer_opts opts = { .recursive = true, .note = note };
	struct host h = { .seed = 1, .greeted = true };
	char line[200];
	bool told = false;

	(void)state;
	assert_int_equal(system("mkdir from to"), 0);
	host_make_file("from/a", 20, 1);
	host_make_file("from/b", 20, 2);
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		host_make_file(left[i], 10, 3);
	assert_int_equal(host_copy(&h, true, "from", "to", opts), 0);
	assert_true(host_same("from/a", "to/a"));
	assert_int_equal(host_reports.n, 1);
	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		snprintf(line, sizeof line, "%s: left alone (2 such): what a "
		    "copy that was killed has left, or another one is writing",
		    left[i]);
		told |= strlist_has(&host_reports, line);
		assert_int_equal(access(left[i], F_OK), 0);
		free(left[i]);
	}
	assert_true(told);
	strlist_clear(&host_reports);
	assert_int_equal(system("rm -r from to"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaced_at_a_break),
		cmocka_unit_test(test_empty_at_a_break),
		cmocka_unit_test(test_own_empty_at_a_break),
		cmocka_unit_test(test_look_takes_no_turn),
		cmocka_unit_test(test_break_while_comparing),
		cmocka_unit_test(test_left_is_told),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
