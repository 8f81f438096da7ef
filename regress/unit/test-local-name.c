/* SPDX-License-Identifier: ISC */
/* The name of this host: what counts as it in a request, and that there is one
 * where no address leads to it. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/local-name.h"
#include "base/mem.h"

static void
test_sent_names(void **state)
{
	static const struct {
		const char *sent;
		bool is;
	} rows[] = { { "here.example.", true }, { "HERE.Example.", true },
		{ "here.example", false }, { "here.example..", false },
		{ "here.exampl.", false }, { "xhere.example.", false },
		{ ".", false }, { "", false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (local_name_is("here.example", rows[i].sent) != rows[i].is)
			fail_msg("%s", rows[i].sent);
}

/* What is no connection has the system's name. */
static void
test_no_connection(void **state)
{
	char system[256] = "";
	int ends[2];
	char *name;

	(void)state;
	assert_int_equal(gethostname(system, sizeof system - 1), 0);
	assert_int_equal(pipe(ends), 0);
	assert_text(name = local_name(ends[0]), system);
	free(name);
	assert_text(name = local_name(-1), system);
	free(name);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent_names),
		cmocka_unit_test(test_no_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
