/* SPDX-License-Identifier: ISC */
/* A change of addresses is told of, in a network of this test's own; and
 * whether an address is there. */
#include "regress/unit/help.h"
#include "regress/unit/refuse-call.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/netwatch.h"

#ifdef __linux__
enum { LIMIT_MS = 20 * 1000 };

static void
on_changed(void *arg)
{
	(*(unsigned *)arg)++;
}

/* Gives the network its loopback, whose address comes with that, or takes it
 * away. */
static void
set_loopback(bool up)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq r = { .ifr_flags = (short)(up ? IFF_UP : 0) };

	assert_int_not_equal(fd, -1);
	memcpy(r.ifr_name, "lo", 3);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
	close(fd);
}

static void
wait_for(struct loop *l, const unsigned *count, unsigned wanted)
{
	uint64_t end_ms = clock_ms() + LIMIT_MS;

	while (*count < wanted && clock_ms() < end_ms)
		assert_int_equal(loop_turn(l, 100), 0);
	assert_true(*count >= wanted);
}

static void
test_changes(void **state)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct netwatch *w;
	struct loop *l;
	unsigned count = 0;
	int fd;

	(void)state;
	if (unshare(CLONE_NEWNET) == -1)
		skip();
	assert_non_null(l = loop_new());
	assert_non_null(w = netwatch_new(l, on_changed, &count));
	assert_int_equal(loop_turn(l, 0), 0);
	assert_int_equal(count, 0);
	set_loopback(true);
	wait_for(l, &count, 1);

	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof here), 0);
	assert_true(netwatch_has_address(fd));
	count = 0;
	set_loopback(false);
	wait_for(l, &count, 1);
	close(fd);
	netwatch_free(w);
	loop_free(l);
}

/* A system that tells nobody: who asks goes on without. */
static int
unwatched(void)
{
	unsigned count = 0;
	struct loop *l;

	if (!refuse_call(SYS_socket, EAFNOSUPPORT))
		return 77;
	if ((l = loop_new()) == NULL ||
	    netwatch_new(l, on_changed, &count) != NULL)
		return 1;
	loop_free(l);
	return 0;
}

static void
test_no_watch(void **state)
{
	(void)state;
	in_child(unwatched);
}
#else
static void
test_changes(void **state)
{
	(void)state;
	skip();
}

static void
test_no_watch(void **state)
{
	(void)state;
	skip();
}
#endif

static void
test_no_address(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_true(netwatch_has_address(pair[0]));
	assert_true(netwatch_has_address(-1));
	close(pair[0]);
	close(pair[1]);
	netwatch_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_address),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_no_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
