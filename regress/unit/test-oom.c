/* SPDX-License-Identifier: ISC */
/* Whom the kernel spares: with a file in place of the kernel's. */
#include "regress/unit/help.h"

#include <sys/resource.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "server/oom.h"

static void
has(const char *content)
{
	assert_int_equal(file_replace("score", content, strlen(content), 0600),
	    0);
}

static void
expect(const char *content)
{
	struct buf b = { 0 };
	char *text;

	assert_int_equal(file_read("score", &b, 100), 0);
	text = buf_dup_string(&b);
	assert_string_equal(text, content);
	free(text);
	buf_clear(&b);
}

static void
test_given_back(void **state)
{
	static const struct {
		const char *text;
		int score;
	} rows[] = { { "0\n", 0 }, { "-900\n", -900 }, { "1000\n", 1000 },
		{ "-1000\n", -1000 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		has(rows[i].text);
		oom_protect("score");
		assert_int_equal(oom_before(), rows[i].score);
		expect("-1000\n");
		has(""); /* the kernel's is not written at an offset */
		oom_give_back("score", oom_before());
		expect(rows[i].text);
		assert_int_equal(unlink("score"), 0);
	}
}

/* No file, none that can be read, or written: then nothing is changed later. */
static void
test_not_let(void **state)
{
	static const char *const texts[] = { "", "x\n", "-1001\n", "1001\n",
		"99999999999\n" };
	const struct rlimit nothing = { 0, RLIM_INFINITY };
	struct rlimit any;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		has(texts[i]);
		oom_protect("score");
		assert_int_equal(oom_before(), OOM_UNCHANGED);
		expect(texts[i]);
		oom_give_back("score", oom_before());
		expect(texts[i]);
	}
	assert_int_equal(unlink("score"), 0);
	oom_protect("score");
	assert_int_equal(oom_before(), OOM_UNCHANGED);
	oom_give_back("score", oom_before());
	assert_int_equal(access("score", F_OK), -1);
	has("7\n");
	oom_protect("score");
	assert_int_equal(oom_before(), 7);
	/* What was before does not count. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &any), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &nothing), 0);
	signal(SIGXFSZ, SIG_IGN);
	oom_protect("score");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0); /* for the log */
	assert_int_equal(oom_before(), OOM_UNCHANGED);
	assert_int_equal(unlink("score"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_not_let),
	};

	return cmocka_run_group_tests(tests, temp_enter, temp_leave);
}
