/* SPDX-License-Identifier: ISC */
/* Which lines are logged, and how those look that were asked for by place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/proc.h"

static char got[4096];
static enum log_level got_level;
static bool got_forced;
static int count;

static void
keep(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	strlcpy(got, text, sizeof got);
	got_level = level;
	got_forced = log_is_forced();
	count++;
}

static int
setup(void **state)
{
	static const struct strlist nothing;

	(void)state;
	log_to_sink(keep, NULL);
	log_set_level(LOG_LVL_INFO);
	got[0] = '\0';
	count = 0;
	return log_set_locations(&nothing);
}

static void
ask_for(const char *list)
{
	struct strlist lists = { 0 };

	assert_int_equal(strlist_add(&lists, "elsewhere.c:*"), 0);
	assert_int_equal(strlist_add(&lists, list), 0);
	assert_int_equal(log_set_locations(&lists), 0);
	strlist_clear(&lists);
}

static void
by_level(void **state)
{
	(void)state;
	log_info("seen");
	assert_string_equal(got, "seen");
	assert_false(got_forced);
	log_verbose("not seen");
	assert_int_equal(count, 1);
}

static void
with_its_place(void **state)
{
	char want[128];
	int line;

	(void)state;
	ask_for("test-log.c:with_its_*():*");
	line = __LINE__ + 1;
	log_debug3("a \x1b%d", 1);
	snprintf(want, sizeof want,
	    "test-log.c:with_its_place():%d (bin=%s, pid=%ld): a \\0331",
	    line, proc_name(), (long)getpid());
	assert_string_equal(got, want);
	assert_int_equal(got_level, LOG_LVL_DEBUG3);
	assert_true(got_forced);
	log_info("also where the level would do");
	assert_non_null(strstr(got, "(): also") == NULL ? got : NULL);
	assert_memory_equal(got, "test-log.c:", 11);
}

static void
other_places_are_as_ever(void **state)
{
	static const char *const lists[] = { "log.c:*", "test-log.c:keep*",
		"*,!test-log.c:*", "test-log.c:*:1", "TEST-LOG.C:*" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		ask_for(lists[i]);
		log_debug("not seen");
		assert_int_equal(count, (int)i);
		log_info("plain");
		assert_string_equal(got, "plain");
		assert_false(got_forced);
	}
}

static void
what_is_demoted_keeps_its_place(void **state)
{
	(void)state;
	ask_for("*");
	assert_false(log_demote(true));
	log_info("aside");
	assert_true(log_demote(false));
	assert_int_equal(got_level, LOG_LVL_DEBUG1);
	assert_int_equal(count, 1);
}

/* A text that looks like a place asks for nothing, and a relayed line is not
 * one of the relay's own place. */
static void
relayed(void **state)
{
	static char longest[4096];

	(void)state;
	ask_for("*");
	log_relay(LOG_LVL_DEBUG1, false, "log.c:put():1 (bin=x, pid=1): x",
	    "");
	assert_int_equal(count, 0);
	log_relay(LOG_LVL_DEBUG1, true, "from\nthere", "");
	assert_string_equal(got, "from\\012there");
	assert_true(got_forced);
	log_relay(LOG_LVL_INFO, false, "line", " [mark]");
	assert_string_equal(got, "line [mark]");
	memset(longest, '\033', sizeof longest - 1);
	log_relay(LOG_LVL_INFO, false, longest, " [mark]");
	assert_string_equal(got + strlen(got) - strlen("033 [mark]"),
	    "033 [mark]");
	assert_false(got_forced);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(by_level, setup),
		cmocka_unit_test_setup(with_its_place, setup),
		cmocka_unit_test_setup(other_places_are_as_ever, setup),
		cmocka_unit_test_setup(what_is_demoted_keeps_its_place, setup),
		cmocka_unit_test_setup(relayed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
