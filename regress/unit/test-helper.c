/* SPDX-License-Identifier: ISC */
/* Helper processes: scripts that answer, answer too much, end, or hang. */
#include "regress/unit/hex.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/helper.h"

static char dir[] = "/tmp/hpn-helper-XXXXXX";
static char path[64];

enum { ANSWER_MAX = 10 };

static void
start(struct helper *h, const char *commands)
{
	char script[256];

	snprintf(script, sizeof script, "#!/bin/sh\n%s\n", commands);
	assert_int_equal(file_replace(path, script, strlen(script), 0700), 0);
	assert_int_equal(setenv("HELPER", path, 1), 0);
	assert_int_equal(helper_start(h, "HELPER", "/not/there", ANSWER_MAX,
			     ERR_P11), 0);
}

static int
exchange(struct helper *h, unsigned ms, struct span *answer)
{
	uint64_t end = clock_ms() + ms;
	struct buf request = { 0 };
	int r;

	buf_put(&request, "ask", 3);
	r = helper_ask(h, &request);
	buf_clear(&request);
	while (r == 0 && (r = helper_step(h, answer)) == ERR_AGAIN)
		r = helper_wait(h, end);
	return r;
}

/* The request has its length in front, and so has the answer; the next request
 * has another one. */
static void
test_answers(void **state)
{
	struct span answer;
	struct helper h;

	(void)state;
	start(&h, "for i in 1 2; do head -c 4 >/dev/null;"
		  " printf '\\0\\0\\0\\4'; head -c 3; printf $i; done;"
		  " exec sleep 60");
	assert_int_equal(exchange(&h, 20000, &answer), 0);
	assert_true(span_equals(answer, "ask1"));
	assert_int_equal(exchange(&h, 20000, &answer), 0);
	assert_true(span_equals(answer, "ask2"));
	helper_give_up(&h);
	assert_int_equal(exchange(&h, 0, &answer), ERR_P11);
}

static void
test_useless(void **state)
{
	static const char *const ways[] = { "exit 0", "kill -SEGV $$",
		"printf '\\0\\0\\0\\11\\1'",
		"printf '\\0\\0\\0\\13\\1'; exec sleep 60" };
	struct span answer;
	struct helper h;

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		start(&h, ways[i]);
		assert_int_equal(exchange(&h, 20000, &answer), ERR_P11);
		assert_int_equal(h.fd, -1);
		assert_int_equal(h.pid, 0);
	}
	assert_int_equal(unsetenv("HELPER"), 0);
	assert_int_equal(helper_start(&h, "HELPER", "/not/there", ANSWER_MAX,
			     ERR_SK_HELPER), ERR_SK_HELPER);
	assert_int_equal(h.fd, -1);
}

/* It is not waited for longer than was said, and it is ended. */
static void
test_hangs(void **state)
{
	uint64_t begin = clock_ms();
	struct span answer;
	struct helper h;
	pid_t pid;

	(void)state;
	start(&h, "exec sleep 60");
	pid = h.pid;
	assert_int_equal(exchange(&h, 50, &answer), ERR_TIMEOUT);
	helper_give_up(&h);
	while (kill(pid, 0) == 0 && clock_ms() - begin < 20000)
		child_reap_abandoned();
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/helper", dir);
	return 0;
}

static int
clean_up(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_useless),
		cmocka_unit_test(test_hangs),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
