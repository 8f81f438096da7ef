/* SPDX-License-Identifier: ISC */
/* The client's keyword AddKeysToAgent. */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/client-conf.h"

static void
test_add_keys(void **state)
{
	static const struct {
		const char *text;
		int how, lifetime;
		const char *dumped;
	} cases[] = {
		{ "yes", CLIENT_ADD_YES, 0, "true" },
		{ "True", CLIENT_ADD_YES, 0, "true" },
		{ "no", CLIENT_ADD_NO, 0, "false" },
		{ "ask", CLIENT_ADD_ASK, 0, "ask" },
		{ "confirm", CLIENT_ADD_CONFIRM, 0, "confirm" },
		{ "confirm 5m", CLIENT_ADD_CONFIRM, 300, "confirm 300" },
		{ "confirm 0", CLIENT_ADD_CONFIRM, 0, "confirm" },
		{ "10m", CLIENT_ADD_YES, 600, "600" },
		{ "0", CLIENT_ADD_YES, 0, "true" },
	};
	static const char *const bad[] = { "ask 5m", "yes 5m", "no 5", "5m 5m",
		"x", "confirm x", "confirm 5m 6m", "-5", "2147483648",
		"confirm 2147483648" };
	struct client_conf c;
	char line[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = { 0 };
		char *text;

		client_conf_init(&c);
		snprintf(line, sizeof line, "AddKeysToAgent %s",
		    cases[i].text);
		assert_int_equal(client_conf_set_option(&c, line), 0);
		assert_int_equal(client_conf_finish(&c), 0);
		assert_int_equal(c.auth.add_keys, cases[i].how);
		assert_int_equal(c.auth.add_keys_lifetime, cases[i].lifetime);
		assert_int_equal(client_conf_dump(&c, &out), 0);
		text = buf_dup_string(&out);
		snprintf(line, sizeof line, "\naddkeystoagent %s\n",
		    cases[i].dumped);
		assert_non_null(strstr(text, line));
		free(text);
		buf_clear(&out);
		client_conf_clear(&c);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		client_conf_init(&c);
		snprintf(line, sizeof line, "AddKeysToAgent %s", bad[i]);
		assert_int_not_equal(client_conf_set_option(&c, line), 0);
		client_conf_clear(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_keys),
	};

	messages_keep();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
