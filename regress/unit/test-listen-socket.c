/* SPDX-License-Identifier: ISC */
/* Where the agent's socket is made, and that only its own is taken away. */
#include "regress/unit/help.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/listen-socket.h"
#include "base/listen.h"

static mode_t
mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static void
test_named(void **state)
{
	struct listen_socket s, other;
	struct listen_set set = { 0 };

	(void)state;
	/* By its name from here, and taken away from elsewhere. */
	assert_int_equal(listen_socket_named(&s, "sock"), 0);
	assert_string_equal(s.path, "sock");
	assert_int_equal(mode_of("sock"), S_IFSOCK | 0600);
	/* What is there already is left alone. */
	assert_int_equal(listen_socket_named(&other, "sock"), ERR_SYSTEM);
	assert_int_equal(errno, EADDRINUSE);
	listen_socket_remove(&other);
	assert_int_equal(mode_of("sock"), S_IFSOCK | 0600);
	assert_int_equal(chdir("/"), 0);
	listen_socket_remove(&s);
	assert_int_equal(chdir(temp_dir), 0);
	assert_int_equal(mode_of("sock"), 0);
	/* Another one has taken the place meanwhile. */
	assert_int_equal(listen_socket_named(&s, "sock"), 0);
	assert_int_equal(rename("sock", "kept"), 0);
	assert_int_equal(listen_open_path(&set, "sock", 0, false), 0);
	listen_socket_remove(&s);
	assert_int_not_equal(mode_of("sock"), 0);
	listen_close(&set);
	assert_int_equal(unlink("sock") | unlink("kept"), 0);
}

static void
test_long(void **state)
{
	struct listen_socket s;
	char path[200] = "";

	(void)state;
	memset(path, 'p', sizeof path - 1);
	assert_int_equal(listen_socket_named(&s, path), ERR_LIMIT);
	listen_socket_remove(&s);
}

static void
test_temporary(void **state)
{
	struct listen_socket s;
	char *directory, name[32];

	(void)state;
	assert_int_equal(setenv("TMPDIR", temp_dir, 1), 0);
	assert_int_equal(listen_socket_temporary(&s), 0);
	assert_non_null(directory = strdup(s.directory));
	assert_int_equal(mode_of(directory), S_IFDIR | 0700);
	assert_memory_equal(directory, temp_dir, strlen(temp_dir));
	assert_memory_equal(directory + strlen(temp_dir), "/ssh-", 5);
	assert_int_equal(strlen(directory), strlen(temp_dir) + 5 + 12);
	snprintf(name, sizeof name, "/agent.%ld", (long)getpid());
	assert_string_equal(s.path + strlen(directory), name);
	assert_int_equal(mode_of(s.path), S_IFSOCK | 0600);
	listen_socket_remove(&s);
	assert_int_equal(mode_of(directory), 0);
	free(directory);
	assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
	assert_int_equal(listen_socket_temporary(&s), ERR_SYSTEM);
	listen_socket_remove(&s);
}

static void
test_usual(void **state)
{
	struct listen_socket s;

	(void)state;
	assert_int_equal(setenv("HOME", temp_dir, 1), 0);
	assert_int_equal(listen_socket_usual(&s, true), 0);
	assert_non_null(strstr(s.path, "/.ssh/agent/s."));
	assert_non_null(strstr(s.path, ".agent."));
	assert_int_equal(mode_of(s.path), S_IFSOCK | 0600);
	listen_socket_remove(&s);
	/* It must be empty now. */
	assert_int_equal(rmdir(".ssh/agent") | rmdir(".ssh"), 0);
}

static int
take_handed(const char *pid, const char *count, bool *handed)
{
	struct listen_socket s;
	int r;

	assert_int_equal(setenv("LISTEN_PID", pid, 1), 0);
	assert_int_equal(setenv("LISTEN_FDS", count, 1), 0);
	r = listen_socket_handed(&s, handed);
	if (r == 0 && *handed) {
		assert_null(getenv("LISTEN_PID"));
		assert_null(getenv("LISTEN_FDS"));
		assert_int_equal(s.fd, 3);
		assert_null(s.whole);
		assert_true((fcntl(3, F_GETFD) & FD_CLOEXEC) != 0);
		assert_true((fcntl(3, F_GETFL) & O_NONBLOCK) != 0);
		listen_socket_remove(&s);
	}
	return r;
}

static void
test_handed(void **state)
{
	struct listen_set set = { 0 };
	char pid[32], other[32];
	int saved = dup(3), pair[2];
	bool handed;

	(void)state;
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	snprintf(other, sizeof other, "%ld", (long)getppid());
	assert_int_equal(take_handed(other, "1", &handed), 0);
	assert_false(handed);
	assert_int_equal(take_handed("x", "1", &handed), 0);
	assert_false(handed);
	assert_int_equal(take_handed(pid, "2", &handed), ERR_ARGUMENT);
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(dup2(pair[0], 3), 3);
	assert_int_equal(take_handed(pid, "1", &handed), ERR_ARGUMENT);
	assert_int_equal(listen_open_path(&set, "sock", 0, false), 0);
	assert_int_equal(dup2(set.fd[0], 3), 3);
	assert_int_equal(take_handed(pid, "1", &handed), 0);
	assert_true(handed);
	/* It is not the agent's to take away. */
	assert_int_equal(unlink("sock"), 0);
	if (set.fd[0] != 3)
		listen_close(&set);
	for (int i = 0; i < 2; i++)
		if (pair[i] != 3)
			close(pair[i]);
	if (saved != -1)
		dup2(saved, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_temporary),
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_handed),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
