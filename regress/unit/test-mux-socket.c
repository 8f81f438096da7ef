/* SPDX-License-Identifier: ISC */
/* The master's socket: whose file it is, who may connect, what is removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "client/mux/mux-socket.h"
#include "compat/bsd.h"

static char dir[32];
static char path[64];

static int
setup(void **state)
{
	(void)state;
	strlcpy(dir, "/tmp/test-mux-XXXXXX", sizeof dir);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/socket", dir);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static unsigned
files(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static void
make_file(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd != -1);
	close(fd);
}

static void
test_connect_and_stop(void **state)
{
	struct mux_socket s;
	struct stat st;
	int client, server;

	(void)state;
	umask(022);
	assert_int_equal(mux_socket_listen(&s, path), 0);
	assert_int_equal(umask(022), 022);
	assert_int_equal(files(), 1);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(mux_socket_accept(&s, &server), ERR_AGAIN);
	assert_int_equal(mux_socket_connect(&client, path, 1000), 0);
	assert_int_equal(mux_socket_accept(&s, &server), 0);
	close(client);
	close(server);
	mux_socket_stop(&s);
	assert_int_equal(files(), 0);
	assert_int_equal(mux_socket_connect(&client, path, 1000), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
}

/* What is there stays, whatever it is. */
static void
test_never_in_place_of_another(void **state)
{
	struct mux_socket first, second;
	struct stat before, after;
	int fd;

	(void)state;
	make_file();
	assert_int_equal(mux_socket_listen(&first, path), ERR_DENIED);
	assert_false(mux_socket_remove_stale(path));
	assert_int_equal(files(), 1);
	unlink(path);
	assert_int_equal(symlink("/nonexistent/x", path), 0);
	assert_int_equal(mux_socket_listen(&first, path), ERR_DENIED);
	assert_false(mux_socket_remove_stale(path));
	unlink(path);

	assert_int_equal(mux_socket_listen(&first, path), 0);
	assert_int_equal(lstat(path, &before), 0);
	assert_int_equal(mux_socket_listen(&second, path), ERR_DENIED);
	assert_int_equal(files(), 1);
	/* Somebody listens: it is not stale. */
	assert_false(mux_socket_remove_stale(path));
	assert_int_equal(lstat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(mux_socket_connect(&fd, path, 1000), 0);
	close(fd);
	mux_socket_stop(&first);
}

static void
test_stale(void **state)
{
	struct mux_socket s;
	int fd;

	(void)state;
	assert_int_equal(mux_socket_listen(&s, path), 0);
	mux_socket_forget(&s);
	assert_int_equal(files(), 1);
	assert_int_equal(mux_socket_connect(&fd, path, 1000), ERR_SYSTEM);
	assert_int_equal(errno, ECONNREFUSED);
	assert_true(mux_socket_remove_stale(path));
	assert_int_equal(files(), 0);
	assert_true(mux_socket_remove_stale(path));
}

/* The end of a master takes only its own file away. */
static void
test_taken_over(void **state)
{
	struct mux_socket s;

	(void)state;
	assert_int_equal(mux_socket_listen(&s, path), 0);
	unlink(path);
	make_file();
	mux_socket_stop(&s);
	assert_int_equal(files(), 1);
}

enum { OTHER = 54719 /* a user id */ };

/* Is the master at `path' reached by that name, where all may write? */
static int
reached_by(const char *name)
{
	int fd = -1, r = mux_socket_connect(&fd, name, 1000);

	if (r == 0)
		close(fd);
	return r;
}

/* Another master of ours behind the name of this one: a client would run its
 * command on another host. */
static void
test_planted_names(void **state)
{
	struct mux_socket s;
	char name[64];

	(void)state;
	if (geteuid() != 0) {
		print_message("needs root: files of another user's\n");
		skip();
	}
	assert_int_equal(mux_socket_listen(&s, path), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	snprintf(name, sizeof name, "%s/name", dir);
	assert_int_equal(symlink(path, name), 0);
	assert_int_equal(reached_by(name), 0); /* a link of our own */
	assert_int_equal(lchown(name, OTHER, OTHER), 0);
	assert_int_equal(reached_by(name), ERR_DENIED);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(link(path, name), 0);
	assert_int_equal(reached_by(name), ERR_DENIED);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(reached_by(name), 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(reached_by(path), 0);
	mux_socket_stop(&s);
}

static void
test_length(void **state)
{
	char name[MUX_PATH_MAX + 1];
	struct mux_socket s;
	int fd;

	(void)state;
	memset(name, 'x', sizeof name);
	snprintf(name, sizeof name, "%s/", dir);
	name[strlen(name)] = 'x';
	name[MUX_PATH_MAX] = '\0';
	assert_int_equal(mux_socket_listen(&s, name), ERR_LIMIT);
	assert_int_equal(mux_socket_connect(&fd, name, 0), ERR_LIMIT);
	name[MUX_PATH_MAX - 1] = '\0';
	assert_int_equal(mux_socket_listen(&s, name), 0);
	assert_int_equal(mux_socket_connect(&fd, name, 0), 0);
	close(fd);
	mux_socket_stop(&s);
	assert_int_equal(files(), 0);
}

/* A full queue is waited for as long as that is wanted. */
static void
test_full_queue(void **state)
{
	struct mux_socket s;
	int fds[200], n = 0, r = 0;

	(void)state;
	assert_int_equal(mux_socket_listen(&s, path), 0);
	/* The system's longest would be thousands. */
	assert_int_equal(listen(s.fd, 10), 0);
	while (n < 200 && (r = mux_socket_connect(&fds[n], path, 0)) == 0)
		n++;
	assert_int_equal(r, ERR_TIMEOUT);
	while (n > 0)
		close(fds[--n]);
	mux_socket_stop(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_connect_and_stop),
		TEST(test_never_in_place_of_another),
		TEST(test_stale),
		TEST(test_taken_over),
		TEST(test_planted_names),
		TEST(test_length),
		TEST(test_full_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
