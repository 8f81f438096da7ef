/* SPDX-License-Identifier: ISC */
/* A thread is woken, once or often, by what the system has for that, and by a
 * pipe. */
#include "regress/unit/help.h"
#include "regress/unit/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/wake.h"

static bool
is_awake(const struct wake *w)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Once or more often than a pipe holds: it is seen once. */
static void
test_wakes(void **state)
{
	static const int times[] = { 1, 2, 200, 100000 };
	struct wake w = WAKE_CLOSED;

	(void)state;
	wake_close(&w);
	assert_int_equal(wake_open(&w), 0);
	assert_int_equal(fcntl(w.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(w.to, F_GETFD), FD_CLOEXEC);
	assert_false(is_awake(&w));
	wake_seen(&w); /* there is nothing: it does not wait */
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		for (int n = 0; n < times[i]; n++)
			wake_up(&w);
		assert_true(is_awake(&w));
		wake_seen(&w);
		assert_false(is_awake(&w));
	}
	wake_close(&w);
	assert_int_equal(w.fd, -1);
	assert_int_equal(w.to, -1);
}

static int
without_counters(void)
{
#ifdef SYS_eventfd2
	struct wake w = WAKE_CLOSED;

	if (!refuse_call(SYS_eventfd2, ENOSYS))
		return 77;
	if (wake_open(&w) != 0 || w.fd == w.to)
		return 1;
	wake_close(&w);
	test_wakes(NULL);
	return 0;
#else
	return 77;
#endif
}

static void
test_pipe(void **state)
{
	(void)state;
	in_child(without_counters);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wakes),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
