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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/listen.h"
#include "keys/agent-socket.h"

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

static int
make_path(char **path)
{
	return agent_socket_path(home, AGENT_SOCKET_FORWARDED, path);
}

static void
test_names(void **state)
{
	char one[AGENT_SOCKET_NAME_MAX], two[sizeof one], other[sizeof one];

	(void)state;
	assert_int_equal(agent_socket_name("host", AGENT_SOCKET_FORWARDED,
	    one, sizeof one), 0);
	assert_int_equal(agent_socket_name("host", AGENT_SOCKET_FORWARDED,
	    two, sizeof two), 0);
	assert_int_equal(agent_socket_name("other", AGENT_SOCKET_FORWARDED,
	    other, sizeof other), 0);
	assert_int_equal(strlen(one), strlen("s.") + 10 + strlen(".sshd.") +
	    10);
	for (size_t i = 0; one[i] != '\0'; i++)
		assert_true(isalnum((unsigned char)one[i]) || one[i] == '.');
	/* The host's part is always the same, the other never. */
	assert_memory_equal(one, two, 18);
	assert_string_not_equal(one + 18, two + 18);
	assert_memory_not_equal(one + 2, other + 2, 10);
	assert_memory_equal(one + 12, ".sshd.", 6);
	assert_int_equal(agent_socket_name("host", AGENT_SOCKET_OWN, one,
	    sizeof one), 0);
	assert_int_equal(strlen(one), strlen("s.") + 10 + strlen(".agent.") +
	    10);
	assert_memory_equal(one, two, 12);
	assert_memory_equal(one + 12, ".agent.", 7);
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
		assert_int_equal(make_path(&path), 0);
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
	assert_int_equal(agent_socket_path("/nonexistent/home",
			     AGENT_SOCKET_FORWARDED, &path),
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
	assert_int_equal(make_path(&path), ERR_PERMISSION);
	assert_int_equal(chmod(place, 0702), 0);
	assert_int_equal(make_path(&path), ERR_PERMISSION);
	assert_int_equal(chmod(place, 0755), 0);
	assert_int_equal(make_path(&path), 0);
	free(path);
	assert_int_equal(chmod(ssh, 0777), 0);
	assert_int_equal(make_path(&path), ERR_PERMISSION);
}

static void
test_link(void **state)
{
	char *path;

	(void)state;
	assert_int_equal(mkdir(ssh, 0700), 0);
	assert_int_equal(symlink("/tmp", place), 0);
	assert_int_equal(make_path(&path), ERR_PERMISSION);
	assert_int_equal(unlink(place), 0);
	assert_int_equal(symlink(home, place), 0);
	assert_int_equal(make_path(&path), ERR_PERMISSION);
}

static void
test_foreign(void **state)
{
	char *path;

	(void)state;
	if (geteuid() != 0) {
		print_message("needs root: a socket of another user's\n");
		skip();
	}
	assert_int_equal(mkdir(ssh, 0700), 0);
	assert_int_equal(mkdir(place, 0700), 0);
	assert_int_equal(chown(place, 65534, 65534), 0);
	assert_int_equal(make_path(&path), ERR_PERMISSION);
}

/* ---- what was left behind ----------------------------------------------- */

/* A socket at which somebody listens (*fd), or did. */
static void
make_socket(const char *path, int *fd, bool old)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
		{ .tv_sec = time(NULL) - 2 * 60 * 60 } };
	struct listen_set set = { 0 };

	assert_int_equal(listen_open_path(&set, path, 0177, false), 0);
	if (fd != NULL)
		*fd = set.fd[0];
	else
		listen_close(&set);
	if (old)
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool
is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void
test_clean(void **state)
{
	char *mine, *fresh, *used, *other, *file;
	int fd;

	(void)state;
	/* Without the directory there is nothing to do, and none is made. */
	assert_int_equal(agent_socket_clean(home, false), 0);
	assert_false(is_there(ssh));

	assert_int_equal(make_path(&mine), 0);
	assert_int_equal(make_path(&fresh), 0);
	assert_int_equal(make_path(&file), 0);
	assert_int_equal(agent_socket_path(home, AGENT_SOCKET_OWN, &used), 0);
	assert_int_not_equal(asprintf(&other, "%s/s.other.agent.x", place),
	    -1);
	make_socket(mine, NULL, true);
	make_socket(fresh, NULL, false);
	make_socket(used, &fd, true);
	make_socket(other, NULL, true);
	assert_int_equal(symlink(used, file), 0);

	assert_int_equal(agent_socket_clean(home, false), 0);
	assert_false(is_there(mine));
	assert_true(is_there(fresh));
	assert_true(is_there(used));
	assert_true(is_there(other));
	assert_true(is_there(file));
	assert_int_equal(agent_socket_clean(home, true), 0);
	assert_true(is_there(fresh));
	assert_true(is_there(used));
	assert_false(is_there(other));

	assert_int_equal(unlink(fresh) | unlink(used) | unlink(file), 0);
	close(fd);
	free(mine);
	free(fresh);
	free(used);
	free(other);
	free(file);
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
		TEST(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
