/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "crypto/rand.h"

static bool exhausted, lacks_call;

/* Takes the place of the library's, which has no way to fail on demand. */
int
RAND_priv_bytes(unsigned char *p, int len)
{
	return exhausted ? 0 : RAND_bytes(p, len);
}

/* Also the library's way, before others. */
int
getentropy(void *p, size_t len)
{
	int fd;
	ssize_t n;

	if (lacks_call) {
		errno = ENOSYS;
		return -1;
	}
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	n = read(fd, p, len);
	close(fd);
	return n == (ssize_t)len ? 0 : -1;
}

typedef void (*fill_fn)(void *p, size_t len);

/* All bytes take part, and none beyond. */
static void
check_fill(fill_fn fill, size_t len)
{
	uint8_t p[300], seen[300] = { 0 };

	for (int turn = 0; turn < 64; turn++) {
		memset(p, 0, sizeof p);
		fill(p, len);
		for (size_t i = 0; i < sizeof p; i++)
			seen[i] |= p[i];
	}
	for (size_t i = 0; i < sizeof p; i++)
		assert_true((seen[i] != 0) == (i < len));
}

static void
test_fill(void **state)
{
	(void)state;
	for (size_t len = 0; len < 300; len += 23) {
		check_fill(rand_bytes, len);
		check_fill(rand_pad, len);
	}
}

static void
test_more_than_the_pool(void **state)
{
	static uint8_t big[3][20000];

	(void)state;
	for (int i = 0; i < 3; i++)
		rand_pad(big[i], sizeof big[i]);
	for (size_t i = 0; i + 32 <= sizeof big[0]; i += 32) {
		assert_true(memcmp(big[0] + i, big[1] + i, 32) != 0);
		assert_true(memcmp(big[0] + i, big[2] + i, 32) != 0);
	}
}

static void
test_system_without_the_call(void **state)
{
	(void)state;
	lacks_call = true;
	test_more_than_the_pool(state);
	lacks_call = false;
}

/* A child must not pad with what its parent pads with. */
static void
test_fork(void **state)
{
	uint8_t mine[32], theirs[32];
	int pipe_fd[2], status;
	pid_t pid;

	(void)state;
	rand_pad(mine, sizeof mine);
	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		rand_pad(theirs, sizeof theirs);
		_exit(write(pipe_fd[1], theirs, sizeof theirs) != 32);
	}
	rand_pad(mine, sizeof mine);
	assert_int_equal(read(pipe_fd[0], theirs, sizeof theirs), 32);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(memcmp(mine, theirs, sizeof mine) != 0);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* The process ends, and leaves no core file with its keys. */
static void
test_exhausted(void **state)
{
	uint8_t p[8];
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		exhausted = true;
		rand_bytes(p, sizeof p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 255);
}

static void
test_uniform(void **state)
{
	int count[6] = { 0 };

	(void)state;
	assert_int_equal(rand_uniform(0), 0);
	assert_int_equal(rand_uniform(1), 0);
	for (int i = 0; i < 60000; i++)
		count[rand_uniform(6)]++;
	/* 10000 each; the standard deviation is 91. */
	for (int i = 0; i < 6; i++)
		assert_in_range(count[i], 9000, 11000);
	for (int i = 0; i < 100; i++)
		assert_true(rand_uniform(0x80000001) <= 0x80000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_more_than_the_pool),
		cmocka_unit_test(test_system_without_the_call),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_exhausted),
		cmocka_unit_test(test_uniform),
	};

	return cmocka_run_group_tests_name("rand", tests, NULL, NULL);
}
