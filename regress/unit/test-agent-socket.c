/* SPDX-License-Identifier: ISC */
/*
 * Where sockets of forwarded agents are made: the names, the directories that
 * are made for them, and what in their place is not trusted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/session/agent-socket.h"

static char home[64];
static char ssh[80], place[96];

static int
setup(void **state)
{
	(void)state;
	strcpy(home, "/tmp/hpn-agent-XXXXXX");
	assert_non_null(mkdtemp(home));
	snprintf(ssh, sizeof ssh, "%s/.ssh", home);
	snprintf(place, sizeof place, "%s/agent", ssh);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	if (unlink(place) == -1)
		(void)rmdir(place);
	if (unlink(ssh) == -1)
		(void)rmdir(ssh);
	return rmdir(home);
}

static void
test_names(void **state)
{
	char one[AGENT_SOCKET_NAME_MAX], two[sizeof one], other[sizeof one];

	(void)state;
	assert_int_equal(agent_socket_name("host", one, sizeof one), 0);
	assert_int_equal(agent_socket_name("host", two, sizeof two), 0);
	assert_int_equal(agent_socket_name("other", other, sizeof other), 0);
	assert_int_equal(strlen(one), strlen("s.") + 10 + strlen(".sshd.") +
	    10);
	for (size_t i = 0; one[i] != '\0'; i++)
		assert_true(isalnum((unsigned char)one[i]) || one[i] == '.');
	/* The host's part is always the same, the other never. */
	assert_memory_equal(one, two, 18);
	assert_string_not_equal(one + 18, two + 18);
	assert_memory_not_equal(one + 2, other + 2, 10);
	assert_memory_equal(one + 12, ".sshd.", 6);
}

static void
check_mode(const char *path, mode_t mode)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, mode);
}

static void
test_makes_directories(void **state)
{
	char *path;

	(void)state;
	umask(0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(agent_socket_path(home, &path), 0);
		assert_memory_equal(path, place, strlen(place));
		assert_int_equal(path[strlen(place)], '/');
		assert_int_equal(access(path, F_OK), -1);
		free(path);
	}
	check_mode(ssh, 0700);
	check_mode(place, 0700);
}

static void
test_no_home(void **state)
{
	char *path;

	(void)state;
	assert_int_equal(agent_socket_path("/nonexistent/home", &path),
	    ERR_SYSTEM);
}

/* Somebody who may write there could put another socket in its place. */
static void
test_writable(void **state)
{
	char *path;

	(void)state;
	assert_int_equal(mkdir(ssh, 0700), 0);
	assert_int_equal(mkdir(place, 0700), 0);
	assert_int_equal(chmod(place, 0770), 0);
	assert_int_equal(agent_socket_path(home, &path), ERR_PERMISSION);
	assert_int_equal(chmod(place, 0702), 0);
	assert_int_equal(agent_socket_path(home, &path), ERR_PERMISSION);
	assert_int_equal(chmod(place, 0755), 0);
	assert_int_equal(agent_socket_path(home, &path), 0);
	free(path);
	assert_int_equal(chmod(ssh, 0777), 0);
	assert_int_equal(agent_socket_path(home, &path), ERR_PERMISSION);
}

static void
test_link(void **state)
{
	char *path;

	(void)state;
	assert_int_equal(mkdir(ssh, 0700), 0);
	assert_int_equal(symlink("/tmp", place), 0);
	assert_int_equal(agent_socket_path(home, &path), ERR_PERMISSION);
	assert_int_equal(unlink(place), 0);
	assert_int_equal(symlink(home, place), 0);
	assert_int_equal(agent_socket_path(home, &path), ERR_PERMISSION);
}

static void
test_foreign(void **state)
{
	char *path;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can make one */
	assert_int_equal(mkdir(ssh, 0700), 0);
	assert_int_equal(mkdir(place, 0700), 0);
	assert_int_equal(chown(place, 65534, 65534), 0);
	assert_int_equal(agent_socket_path(home, &path), ERR_PERMISSION);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_makes_directories),
		TEST(test_no_home),
		TEST(test_writable),
		TEST(test_link),
		TEST(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
