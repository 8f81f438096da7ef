/* SPDX-License-Identifier: ISC */
/* From what a check has measured to the rate, the limit and the line to
 * change. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "client/check/check-limits.h"

/* ---- curves -------------------------------------------------------------- */

enum { STEP_MS = 50, POINTS = 100 };

static struct check_point curve[POINTS];

/* A curve of 5 s: before the time `until_ms` it has the rate `first`, in bytes
 * a millisecond, and then `later`. */
static void
make_curve(uint64_t until_ms, uint64_t first, uint64_t later)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < POINTS; i++) {
		curve[i] = (struct check_point){ .ms = i * STEP_MS,
			.bytes = bytes };
		bytes += STEP_MS * (i * STEP_MS < until_ms ? first : later);
	}
}

static void
test_rate_is_that_after_the_start(void **state)
{
	(void)state;
	make_curve(0, 0, 100);
	assert_int_equal(check_steady_rate(curve, POINTS), 100000);
	make_curve(1500, 10, 100);
	assert_in_range(check_steady_rate(curve, POINTS), 97000, 100000);
	/* A path that loses packets lets the beginning be fast. */
	make_curve(1500, 400, 100);
	assert_in_range(check_steady_rate(curve, POINTS), 100000, 105000);
	assert_int_equal(check_steady_rate(curve, 2), 0);
}

static void
test_rate_with_bursts_is_their_mean(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < POINTS; i++) {
		curve[i] = (struct check_point){ .ms = i * STEP_MS,
			.bytes = bytes };
		bytes += STEP_MS * (i % 4 == 0 ? 400u : 0u);
	}
	assert_in_range(check_steady_rate(curve, POINTS), 94000, 106000);
}

static void
test_steady(void **state)
{
	(void)state;
	make_curve(0, 0, 100);
	assert_true(check_is_steady(curve, POINTS, 400));
	assert_true(check_is_steady(curve, 40, 400));
	assert_false(check_is_steady(curve, 20, 400)); /* too short */
	assert_false(check_is_steady(curve, 0, 400));
	make_curve(4500, 80, 100);
	assert_false(check_is_steady(curve, POINTS, 400));
	make_curve(5000, 0, 0);
	assert_false(check_is_steady(curve, POINTS, 400));
}

/* ---- limits -------------------------------------------------------------- */

static struct check_path path;
static struct check_ciphers ciphers;
static struct check_moved moved;
static struct check_disk disk;

/* 100 MB/s over 100 ms, nothing in the way. */
static void
far_away(void)
{
	path = (struct check_path){ .known = true, .rtt_us = 101000,
		.least_us = 100000, .mss = 1448, .mtu = 1500,
		.segments_up = 100000, .segments_down = 100000,
		.server_told = true, .congestion = "cubic",
		.send_limit = 4 << 20, .receive_limit = 6 << 20,
		.bdp = 10000000 };
	ciphers = (struct check_ciphers){ .known = true,
		.up = "aes256-ctr", .down = "aes256-ctr",
		.encrypts = 500000000, .decrypts = 500000000,
		.best = "aes128-gcm@openssh.com", .best_rate = 2000000000 };
	moved = (struct check_moved){ .tried = true, .known = true,
		.rate = 100000000, .connections = 4 };
	disk = (struct check_disk){ .tried = false };
}

/* What is expected: the limit, a word of the reason, and one of the change
 * (NULL: there is none). Returns the rate. */
static uint64_t
expect(bool up, enum check_limit limit, const char *why, const char *change)
{
	const struct check_facts f = { .path = &path, .ciphers = &ciphers,
		.moved = &moved, .disk = &disk, .up = up };
	struct check_expected e;
	char *words, *line;
	uint64_t rate;

	check_expect(&f, &e);
	assert_string_equal(check_limit_name(e.limit),
	    check_limit_name(limit));
	words = buf_dup_string(&e.why);
	line = buf_dup_string(&e.change);
	if (strstr(words, why) == NULL)
		fail_msg("%s: not in: %s", why, words);
	if (change == NULL)
		assert_string_equal(line, "");
	else if (strstr(line, change) == NULL)
		fail_msg("%s: not in: %s", change, line);
	free(words);
	free(line);
	rate = e.rate;
	check_expected_clear(&e);
	return rate;
}

static void
test_path(void **state)
{
	(void)state;
	far_away();
	assert_int_equal(expect(true, CHECK_LIMIT_PATH, "no more", NULL),
	    100000000);
	moved.queued = true;
	expect(true, CHECK_LIMIT_PATH, "queue", NULL);
	path.again_up = 3000; /* that is what fills the queue */
	expect(true, CHECK_LIMIT_PATH, "queue", NULL);
	moved.queued = false;
	expect(true, CHECK_LIMIT_LOSS, "3.00 %", "bbr in the configuration "
						 "here");
	expect(false, CHECK_LIMIT_PATH, "no more", NULL);
	strcpy(path.congestion, "bbr");
	expect(true, CHECK_LIMIT_LOSS, "3.00 %", NULL);
	path.again_up = 0;
	moved.refused = true;
	expect(true, CHECK_LIMIT_PATH, "no more", "MaxStartups");
}

/* One packet of a thousand over 100 ms: 42 segments a round trip, on each of 12
 * connections, whatever the first seconds have moved. */
static void
test_loss_by_chance(void **state)
{
	(void)state;
	far_away();
	moved.connections = 12;
	moved.rate = 20000000;
	moved.late_segments = 50000;
	moved.late_again = 50;
	assert_int_equal(check_loss_rate(&path, &moved, true), UINT64_MAX);
	path.up_backs_off = true; /* not bbr */
	path.again_up = 100;
	assert_in_range(check_loss_rate(&path, &moved, true),
	    UINT64_C(12) * 42 * 14480, UINT64_C(12) * 43 * 14480);
	assert_int_equal(expect(true, CHECK_LIMIT_LOSS, "0.10 %", "bbr"),
	    check_loss_rate(&path, &moved, true));
	assert_int_equal(check_loss_rate(&path, &moved, false), UINT64_MAX);
	moved.rate = 100000000; /* nothing falls so far */
	assert_int_equal(check_loss_rate(&path, &moved, true), UINT64_MAX);
	moved.rate = 20000000;
	moved.filled = true; /* it was full, and lost packets by that */
	assert_int_equal(check_loss_rate(&path, &moved, true), UINT64_MAX);
	moved.filled = false;
	moved.queued = true;
	assert_int_equal(check_loss_rate(&path, &moved, true), UINT64_MAX);
	moved.queued = false;
	moved.late_again = 5; /* so few belong to cubic */
	assert_int_equal(check_loss_rate(&path, &moved, true), UINT64_MAX);
	moved.late_again = 0;
	assert_int_equal(check_loss_rate(&path, &moved, true), UINT64_MAX);
}

static void
test_buffers(void **state)
{
	(void)state;
	far_away();
	path.up_receiver = 90;
	expect(true, CHECK_LIMIT_RECEIVE_BUFFER, "on the host",
	    "tcp_rmem=\"4096 131072 67108864\" (on the host)");
	path.up_sender = 95;
	expect(true, CHECK_LIMIT_SEND_BUFFER, "here, at most 4096 KiB",
	    "tcp_wmem=\"4096 16384 67108864\" (here)");
	path.down_receiver = 50;
	expect(false, CHECK_LIMIT_RECEIVE_BUFFER, "here, at most 6144 KiB",
	    "tcp_rmem=\"4096 131072 67108864\" (here)");
	path.down_receiver = 5;
	path.down_sender = 50;
	expect(false, CHECK_LIMIT_SEND_BUFFER, "on the host",
	    "tcp_wmem");
	/* 100 Gbit/s over 300 ms: sysctl takes no number of 32 bits. */
	path.bdp = UINT64_C(3750000000);
	expect(false, CHECK_LIMIT_SEND_BUFFER, "on the host",
	    "tcp_wmem=\"4096 16384 1073741824\"");
}

/* A host tells what its kernel has sent, and sent again, as it likes. */
static void
test_numbers_of_a_liar(void **state)
{
	(void)state;
	far_away();
	path.segments_down = path.again_down = UINT64_MAX;
	expect(false, CHECK_LIMIT_LOSS, "100.00 %", "bbr");
	path.segments_down = 1;
	expect(false, CHECK_LIMIT_LOSS, "100.00 %", "bbr");
	path.down_backs_off = true;
	moved.late_segments = moved.late_again = UINT64_MAX;
	assert_true(check_loss_rate(&path, &moved, false) >=
	    moved.rate / 10);
	moved.late_segments = 1;
	assert_true(check_loss_rate(&path, &moved, false) >=
	    moved.rate / 10);
}

static void
test_cpu_and_windows(void **state)
{
	(void)state;
	far_away();
	moved.cpu = 97;
	expect(true, CHECK_LIMIT_CPU, "aes256-ctr alone: 500 MB/s",
	    "-c aes128-gcm@openssh.com");
	ciphers.encrypts = ciphers.best_rate;
	expect(true, CHECK_LIMIT_CPU, "97 %", NULL);
	moved.cpu = 20;
	moved.held = true;
	expect(true, CHECK_LIMIT_WINDOW, "SSH windows", "hpnsshd");
	expect(false, CHECK_LIMIT_PATH, "no more", NULL);
	moved.refused = true;
	expect(true, CHECK_LIMIT_WINDOW, "SSH windows", "MaxSessions");
	path.least_us = 100;
	expect(true, CHECK_LIMIT_SERVER, "processor", NULL);
}

static void
test_disk(void **state)
{
	(void)state;
	far_away();
	disk = (struct check_disk){ .known = true, .synced = true,
		.reread = true, .write = 30000000, .taken = 50000000,
		.sync = 60000000, .read = 10000000 };
	/* Over a long path what was taken in shows TCP's start. */
	assert_int_equal(expect(true, CHECK_LIMIT_DISK, "writes 60 MB/s",
	    NULL), 60000000);
	assert_int_equal(expect(false, CHECK_LIMIT_DISK, "reads 10 MB/s",
	    NULL), 10000000);
	/* A quarter of the rate is what each of 4 connections gives. */
	disk.read = 20000000;
	assert_int_equal(expect(false, CHECK_LIMIT_PATH, "no more", NULL),
	    100000000);
	disk.read = 10000000;
	disk.cached = true;
	assert_int_equal(expect(false, CHECK_LIMIT_PATH, "no more", NULL),
	    100000000);
	path.least_us = 100;
	assert_int_equal(expect(true, CHECK_LIMIT_DISK, "writes 50 MB/s",
	    NULL), 50000000);
	disk.sync = disk.taken = 200000000;
	expect(true, CHECK_LIMIT_SERVER, "processor", NULL);
	disk.synced = false;
	assert_int_equal(expect(true, CHECK_LIMIT_DISK, "writes 30 MB/s",
	    NULL), 30000000);
}

static void
test_nothing_known(void **state)
{
	(void)state;
	far_away();
	moved.known = false;
	assert_int_equal(expect(true, CHECK_LIMIT_UNKNOWN, "", NULL), 0);
	disk = (struct check_disk){ .known = true, .synced = true,
		.sync = 60000000, .taken = 70000000 };
	assert_int_equal(expect(true, CHECK_LIMIT_DISK, "writes", NULL),
	    60000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_is_that_after_the_start),
		cmocka_unit_test(test_rate_with_bursts_is_their_mean),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_loss_by_chance),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_numbers_of_a_liar),
		cmocka_unit_test(test_cpu_and_windows),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_nothing_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
