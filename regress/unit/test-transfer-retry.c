/* SPDX-License-Identifier: ISC */
/*
 * Transfers whose streams are lost again and again, all at a time, or stop to
 * answer: what has arrived is kept, and what is late does no harm.
 */
#include "regress/unit/transfer-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define PART ".dst.hpnpart"

enum {
	MIB = 1024 * 1024,
	BULK = 24 * MIB + 4711,
	GAP = 4 * MIB,
	TREE_FILES = 40,
	SILENT_MS = 200,
};

static bool
exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* ---- breaks without end ------------------------------------------------- */

enum {
	FLAG_RESUME = 1,
	FLAG_VERIFY = 2,
	FLAG_MANY = 4,
	FLAG_PRESERVE = 8,
	FLAG_IN_PLACE = 16,
	FLAG_SPARSE = 32,
	FLAGS = 64,
};

static struct xfer_opts
opts_of(unsigned flags)
{
	return (struct xfer_opts){
		.recursive = true,
		.retries = 3,
		.retry_wait_ms = 1,
		.resume = (flags & FLAG_RESUME) != 0,
		.verify = (flags & FLAG_VERIFY) != 0,
		.connections_max = flags & FLAG_MANY ? 4 : 1,
		.preserve = (flags & FLAG_PRESERVE) != 0,
		.in_place = (flags & FLAG_IN_PLACE) != 0,
		.sparse = (flags & FLAG_SPARSE) != 0,
	};
}

/* What a server without digests has of a file that is written in place nobody
 * can tell from what somebody else has put there. */
static bool
can_keep(bool up, unsigned flags, bool digests)
{
	return digests || !up || !(flags & FLAG_IN_PLACE);
}

static void
expect_progress(struct host *h, uint64_t size, unsigned flags, bool digests)
{
	uint64_t moved = size;
	unsigned streams = flags & FLAG_MANY ? 4 : 1, breaks;

	/* It is read back. */
	if ((flags & FLAG_VERIFY) && !digests)
		moved *= 2;
	/* Half of a gap may be lost: what was under way. */
	breaks = (unsigned)(2 * moved / GAP + 3);
	assert_in_range(h->opened, size / GAP / 2, streams * breaks);
	assert_in_range(h->moved, size, 2 * moved + GAP);
}

static void
one_file(unsigned seed, bool up, unsigned flags, bool digests)
{
	struct host h = { .seed = seed, .gap = GAP, .no_digests = !digests,
		.in_order = true };

	assert_int_equal(host_copy(&h, up, "src", "dst", opts_of(flags)), 0);
	assert_int_equal(host_reports.n, 0);
	assert_true(host_same("src", "dst"));
	assert_false(exists(PART));
	expect_progress(&h, BULK, flags, digests);
	assert_int_equal(unlink("dst"), 0);
}

static void
test_file(void **state)
{
	(void)state;
	host_make_file("src", BULK, 1);
	for (unsigned flags = 0; flags < FLAGS; flags += 21)
		for (unsigned i = 0; i < 4; i++)
			if (can_keep(i % 2, flags, i / 2))
				one_file(flags * 4 + i + 1, i % 2, flags,
				    i / 2);
	assert_int_equal(unlink("src"), 0);
}

static void
one_tree(uint64_t size, unsigned seed, bool up, unsigned flags, bool digests)
{
	struct host h = { .seed = seed, .gap = GAP, .no_digests = !digests,
		.in_order = true };

	assert_int_equal(host_copy(&h, up, "t", "u", opts_of(flags)), 0);
	assert_int_equal(host_reports.n, 0);
	assert_int_equal(system("diff -r t u && rm -r u"), 0);
	expect_progress(&h, size, flags, digests);
}

static void
test_tree(void **state)
{
	uint64_t size = 0;
	char name[32];

	(void)state;
	assert_int_equal(mkdir("t", 0755) | mkdir("t/d", 0755), 0);
	for (unsigned i = 0; i < TREE_FILES; i++) {
		size_t len = i * 7919u % 17 * (MIB / 14);

		snprintf(name, sizeof name, i % 2 ? "t/%u" : "t/d/%u", i);
		host_make_file(name, len, i);
		size += len;
	}
	for (unsigned flags = 0; flags < FLAGS; flags += 21)
		for (unsigned i = 0; i < 4; i++)
			if (can_keep(i % 2, flags, i / 2))
				one_tree(size, flags * 4 + i + 1, i % 2, flags,
				    i / 2);
	assert_int_equal(system("rm -r t"), 0);
}

/* ---- tries -------------------------------------------------------------- */

static void
break_all(struct host *h, struct xfer *x)
{
	(void)x;
	h->deadly = 1;
}

/* Without a byte that is kept it ends after exactly so many. */
static void
test_number_of_tries(void **state)
{
	(void)state;
	host_make_file("src", BULK, 1);
	for (unsigned n = 0; n < 8; n++) {
		struct xfer_opts opts = opts_of(0);
		struct host h = { .seed = n, .greeted = true,
			.watch = break_all };

		opts.retries = n / 2;
		assert_int_equal(host_copy(&h, n % 2, "src", "dst", opts),
		    ERR_CLOSED);
		assert_int_equal(h.opened, 1 + n / 2);
		(void)unlink(PART);
	}
	assert_int_equal(unlink("src"), 0);
}

static void
refuse_us(struct host *h, struct xfer *x)
{
	struct xfer_stream *l;

	(void)h;
	TAILQ_FOREACH(l, &x->streams, entry)
		(void)!sftp_feed_end(l->s, ERR_DENIED);
}

/* A refusal would be the same the next time. */
static void
test_refused(void **state)
{
	struct host h = { .seed = 1, .greeted = true, .watch = refuse_us };

	(void)state;
	host_make_file("src", BULK, 1);
	assert_int_equal(host_copy(&h, true, "src", "dst", opts_of(0)),
	    ERR_DENIED);
	assert_int_equal(h.opened, 1);
	assert_int_equal(unlink("src"), 0);
}

/* ---- silence ------------------------------------------------------------ */

static unsigned stop_which, stop_at;

/* One of several stops to answer when it has moved some data, or all do. */
static void
stop_some(struct host *h, struct xfer *x)
{
	if (x->measured.acked < stop_at || stop_which > HOST_STREAMS)
		return;
	for (unsigned i = 0; i < HOST_STREAMS; i++)
		if ((i == stop_which || stop_which == HOST_STREAMS) &&
		    h->streams[i].server != NULL)
			h->streams[i].stopped = true;
	stop_which = UINT_MAX;
}

static void
edit(const char *name)
{
	int fd = open(name, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "edited", 6), 0);
	close(fd);
}

static void
expect_edited(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_size, 6);
}

static void
one_silence(unsigned seed, bool up, unsigned flags, bool digests)
{
	struct host h = { .seed = seed, .no_digests = !digests,
		.watch = stop_some };
	struct xfer_opts opts = opts_of(flags | FLAG_MANY);

	opts.retries = 0;
	opts.silent_ms = SILENT_MS;
	stop_which = seed % 3;
	stop_at = 2 * MIB + seed % 5 * 4 * MIB;
	assert_int_equal(host_copy(&h, up, "src", "dst", opts), 0);
	assert_int_equal(stop_which, UINT_MAX);
	assert_int_equal(host_reports.n, 0);
	assert_true(host_same("src", "dst"));
	/* What it was sent is done when the file is somebody else's by now. */
	if (!(flags & FLAG_IN_PLACE)) {
		edit("dst");
		host_do_late(&h);
		expect_edited("dst");
		assert_false(exists(PART));
	}
	host_do_late(&h);
	assert_int_equal(unlink("dst"), 0);
}

/* The others do its work. */
static void
test_one_is_silent(void **state)
{
	(void)state;
	host_make_file("src", BULK, 1);
	for (unsigned i = 0; i < 12; i++)
		one_silence(i + 1, i % 2, i * 7 % FLAGS, i / 2 % 2);
	assert_int_equal(unlink("src"), 0);
}

/* Streams are opened anew, and the part goes on. */
static void
test_all_are_silent(void **state)
{
	(void)state;
	host_make_file("src", BULK, 1);
	for (unsigned i = 0; i < 12; i++) {
		struct host h = { .seed = i + 1, .no_digests = i / 2 % 2,
			.stock = i / 4 == 1, .watch = stop_some };
		struct xfer_opts opts = opts_of(i < 8 ? FLAG_MANY : 0);

		opts.silent_ms = SILENT_MS;
		stop_which = HOST_STREAMS;
		stop_at = 12 * MIB;
		assert_int_equal(host_copy(&h, i % 2, "src", "dst", opts), 0);
		assert_int_equal(stop_which, UINT_MAX);
		assert_true(host_same("src", "dst"));
		assert_in_range(h.moved, BULK, BULK + 8 * MIB);
		edit("dst");
		host_do_late(&h);
		expect_edited("dst");
		assert_false(exists(PART));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

static unsigned copy_turns; /* until it breaks while a part is copied */
static bool copy_kills;	     /* the program is killed then */

/* All are silent; then it breaks while the server copies the part. */
static void
stop_while_copied(struct host *h, struct xfer *x)
{
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);

	stop_some(h, x);
	if (h->was_cut || f == NULL || f->state != XFER_COPYING_PART ||
	    ++h->most < copy_turns)
		return;
	h->was_cut = true;
	h->fatal = copy_kills;
	for (unsigned i = 0; i < HOST_STREAMS && !copy_kills; i++)
		if (h->streams[i].server != NULL && !h->streams[i].stopped)
			host_lose(h, h->streams[i].client);
}

/* It is copied again, by the same run or by one with -Z. */
static void
test_break_while_part_is_copied(void **state)
{
	unsigned cut = 0;

	(void)state;
	host_make_file("src", BULK, 1);
	for (unsigned i = 0; i < 40; i++) {
		struct host h = { .seed = i + 1, .stock = i % 2,
			.watch = stop_while_copied };
		struct xfer_opts opts = opts_of(i / 20 ? FLAG_MANY : 0);
		int r;

		copy_turns = 1 + i / 4 % 5;
		copy_kills = i / 2 % 2;
		opts.silent_ms = SILENT_MS;
		stop_which = HOST_STREAMS;
		stop_at = 12 * MIB;
		r = host_copy(&h, true, "src", "dst", opts);
		cut += h.was_cut;
		assert_true((r == 0) != (h.was_cut && copy_kills));
		assert_true(r != 0 || host_same("src", "dst"));
		assert_true(r == 0 || !exists("dst"));
		host_do_late(&h);
		if (r == 0)
			assert_int_not_equal(system("ls .dst.* 2>/dev/null"),
			    0);
		if (r != 0) {
			opts = opts_of(FLAG_RESUME);
			h = (struct host){ .seed = i, .stock = i % 2 };
			assert_int_equal(host_copy(&h, true, "src", "dst",
			    opts), 0);
		}
		assert_true(host_same("src", "dst"));
		assert_int_equal(host_reports.n, 0);
		assert_int_equal(system("rm -f dst .dst.*"), 0);
	}
	assert_true(cut > 30);
	assert_int_equal(unlink("src"), 0);
}

/* The client's end of some connections is cut, or of all; the server does not
 * know that, and still has much to write. */
static void
cut_some(struct host *h, struct xfer *x)
{
	if (x->measured.acked < stop_at || stop_which > HOST_STREAMS)
		return;
	for (unsigned i = 0; i < HOST_STREAMS; i++) {
		struct host_stream *l = &h->streams[i];

		if ((i != stop_which && stop_which != HOST_STREAMS) ||
		    l->server == NULL || sftp_error(l->client) != 0)
			continue;
		buf_commit(&l->taken, sftp_take(l->client,
		    buf_reserve(&l->taken, 2 * MIB), 2 * MIB));
		l->stopped = true;
		(void)!sftp_feed_end(l->client, ERR_CLOSED);
	}
	stop_which = UINT_MAX;
}

/* Our server shows that a session still has the part open, also when it is to
 * be renamed. */
static void
test_ends_at_one_side(void **state)
{
	(void)state;
	host_make_file("src", BULK, 1);
	for (unsigned i = 0; i < 16; i++) {
		struct host h = { .seed = i + 1, .watch = cut_some,
			.no_digests = i / 8 };
		struct xfer_opts opts = opts_of(FLAG_MANY);

		stop_which = i % 2 ? HOST_STREAMS : i / 2 % 2;
		stop_at = (1 + i / 2 % 4 * 6) * MIB;
		assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
		assert_int_equal(stop_which, UINT_MAX);
		assert_true(host_same("src", "dst"));
		assert_int_equal(host_reports.n, 0);
		edit("dst");
		host_do_late(&h);
		expect_edited("dst");
		assert_false(exists(PART));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

static void
change_most(void)
{
	assert_int_equal(system("head -c 1M src >head"), 0);
	host_make_file("src", BULK, 2);
	assert_int_equal(system("dd if=head of=src conv=notrunc status=none && "
	    "rm head"), 0);
}

/* Most of the source is another one then, and what is late comes while it is
 * copied. */
static void
cut_and_change(struct host *h, struct xfer *x)
{
	const struct xfer_file *f = TAILQ_FIRST(&x->files.active);
	bool before = stop_which == UINT_MAX;

	if (h->most > 0)
		stop_some(h, x);
	else
		cut_some(h, x);
	if (!before && stop_which == UINT_MAX)
		change_most();
	if (before && f != NULL && f->progress.moved > BULK - 2 * MIB) {
		h->was_cut = true;
		host_do_late(h);
	}
}

static void
test_source_changes_at_a_break(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		struct host h = { .seed = i + 1, .watch = cut_and_change,
			.most = i % 3, .stock = i % 3 == 2,
			.greeted = i / 3 % 2 };
		struct xfer_opts opts = opts_of(0);

		host_make_file("src", BULK, 1);
		assert_int_equal(system("touch -d '1 hour ago' src"), 0);
		opts.silent_ms = SILENT_MS;
		stop_which = HOST_STREAMS;
		stop_at = (1 + i / 3 * 6) * MIB;
		assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
		assert_true(h.was_cut);
		assert_true(host_same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
		assert_int_equal(unlink("src"), 0);
		assert_int_equal(system("rm -f .dst.*"), 0);
	}
}

/* Who only has much to do is not silent: answers come, though slowly. */
static void
test_slow_is_not_silent(void **state)
{
	struct host h = { .seed = 1, .uneven = true };
	struct xfer_opts opts = opts_of(FLAG_MANY);

	(void)state;
	opts.retries = 0;
	opts.silent_ms = SILENT_MS;
	opts.rate_bytes = 20 * MIB;
	host_make_file("src", BULK, 1);
	assert_int_equal(host_copy(&h, true, "src", "dst", opts), 0);
	assert_int_equal(h.opened, 4);
	assert_int_equal(unlink("src") | unlink("dst"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_number_of_tries),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_one_is_silent),
		cmocka_unit_test(test_all_are_silent),
		cmocka_unit_test(test_break_while_part_is_copied),
		cmocka_unit_test(test_ends_at_one_side),
		cmocka_unit_test(test_source_changes_at_a_break),
		cmocka_unit_test(test_slow_is_not_silent),
	};

	return cmocka_run_group_tests(tests, host_setup, host_teardown);
}
