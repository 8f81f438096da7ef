/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "compat/sock.h"

static void
test_peer(void **state)
{
	int ends[2], tcp[2];
	uid_t uid = 12345;
	gid_t gid = 12345;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(sock_peer_ids(ends[0], &uid, &gid), 0);
	assert_int_equal(uid, geteuid());
	assert_int_equal(gid, getegid());
	/* Nobody is known at the other end of these. */
	tcp_pair(tcp);
	assert_int_equal(sock_peer_ids(tcp[0], &uid, &gid), -1);
	assert_int_equal(sock_peer_ids(-1, &uid, &gid), -1);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(tcp[i]);
	}
}

static void
expect(int fd, bool waits)
{
	assert_int_not_equal(fd, -1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0, waits);
}

static void
test_flags(void **state)
{
	int one = sock_open(AF_INET, SOCK_STREAM, 0, SOCK_WAITS), ends[2];

	(void)state;
	expect(one, true);
	assert_int_equal(sock_domain(one), AF_INET);
	close(one);
	one = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE);
	expect(one, false);
	assert_int_equal(sock_domain(one), AF_UNIX);
	close(one);
	assert_int_equal(sock_open(-1, SOCK_STREAM, 0, SOCK_WAITS), -1);
	assert_int_equal(sock_domain(-1), -1);
	assert_int_equal(sock_pair(SOCK_STREAM, ends), 0);
	for (int i = 0; i < 2; i++) {
		expect(ends[i], true);
		close(ends[i]);
	}
	for (int mode = SOCK_WAITS; mode <= SOCK_AT_ONCE; mode++) {
		assert_int_equal(sock_pipe(ends, (enum sock_mode)mode), 0);
		sock_pipe_room(ends[1], 65536);
		expect(ends[0], mode == SOCK_WAITS);
		expect(ends[1], mode == SOCK_WAITS);
		assert_int_equal(sock_domain(ends[0]), -1);
		assert_int_equal(sock_copy_to(ends[0], ends[0]), -1);
		assert_int_equal(sock_copy_to(ends[0], 100), 100);
		assert_int_equal(fcntl(100, F_GETFD), FD_CLOEXEC);
		close(100);
		close(ends[0]);
		close(ends[1]);
	}
}

/* The mode is what was asked for, not that of the one that listens. */
static void
test_accept(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int listener = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE), from,
	    got;

	(void)state;
	strcpy(sun.sun_path, "socket");
	assert_int_equal(bind(listener, (struct sockaddr *)&sun, sizeof sun),
	    0);
	assert_int_equal(listen(listener, 2), 0);
	assert_int_equal(sock_accept(listener, NULL, NULL, SOCK_WAITS), -1);
	for (int mode = SOCK_WAITS; mode <= SOCK_AT_ONCE; mode++) {
		from = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_WAITS);
		assert_int_equal(connect(from, (struct sockaddr *)&sun,
				     sizeof sun),
		    0);
		got = sock_accept(listener, NULL, NULL, (enum sock_mode)mode);
		expect(got, mode == SOCK_WAITS);
		close(got);
		close(from);
	}
	close(listener);
	unlink("socket");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_flags),
		cmocka_unit_test_setup_teardown(test_accept, temp_enter,
		    temp_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
