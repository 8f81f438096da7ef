/* SPDX-License-Identifier: ISC */
/* Every row of the table of authentication methods is whole, and is found by
 * what clients and configurations call it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf/auth-method-table.h"

enum { METHOD_MESSAGE_MIN = 60, METHOD_MESSAGE_MAX = 79 }; /* RFC 4250 */

static void
rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < AUTH_METHOD_COUNT; i++) {
		const struct auth_method *m = &auth_method_table[i];

		assert_non_null(m->name);
		assert_null(strpbrk(m->name, ",: "));
		assert_int_equal(m->prompt == 0, m->answer == 0);
		if (m->prompt != 0) {
			assert_in_range(m->prompt, METHOD_MESSAGE_MIN,
			    METHOD_MESSAGE_MAX);
			assert_in_range(m->answer, METHOD_MESSAGE_MIN,
			    METHOD_MESSAGE_MAX);
		}
		/* Several kinds of messages, or one of each. */
		assert_true(m->dialogue_max == 0 || m->prompt == 0);
		assert_int_equal(m->dialogue_min == 0, m->dialogue_max == 0);
		if (m->dialogue_max != 0) {
			assert_in_range(m->dialogue_min, METHOD_MESSAGE_MIN,
			    m->dialogue_max);
			assert_in_range(m->dialogue_max, m->dialogue_min,
			    METHOD_MESSAGE_MAX);
		}
		/* What lets nobody in needs no option, what does has one. */
		assert_int_equal(m->option == 0, m->asks_only);
		assert_true(m->option + sizeof(int) <=
		    sizeof(struct server_conf));
	}
}

static void
names_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < AUTH_METHOD_COUNT; i++) {
		const struct auth_method *m = &auth_method_table[i];
		bool has_device;

		assert_ptr_equal(auth_method_requested(m->name), m);
		assert_ptr_equal(auth_method_by_name(m->name,
				     strlen(m->name)), m);
		assert_ptr_equal(auth_method_listed(m->name, strlen(m->name),
				     &has_device), m);
		assert_true(has_device);
		if (m->alias == NULL)
			continue;
		assert_ptr_equal(auth_method_requested(m->alias), m);
		assert_null(auth_method_by_name(m->alias, strlen(m->alias)));
	}
	assert_null(auth_method_requested(""));
	assert_null(auth_method_requested("host-based"));
	assert_null(auth_method_by_name("passwords", 9));
}

static void
devices_of_lists(void **state)
{
	static const struct {
		const char *entry;
		bool known, has_device;
	} rows[] = {
		{ "keyboard-interactive", true, true },
		{ "keyboard-interactive:pam", true, true },
		{ "keyboard-interactive:", true, false },
		{ "keyboard-interactive:skey", true, false },
		{ "password:pam", true, false },
		{ "none:pam", true, false },
		{ "publickey-hostbound-v00@openssh.com", false, false },
		{ ":pam", false, false },
		{ "", false, false },
	};
	bool has_device;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(auth_method_listed(rows[i].entry,
				     strlen(rows[i].entry), &has_device) !=
			NULL, rows[i].known);
		assert_int_equal(has_device, rows[i].has_device);
	}
}

static void
options_turn_methods_off(void **state)
{
	static const char *const keywords[] = { "PubkeyAuthentication",
		"PasswordAuthentication", "KbdInteractiveAuthentication" };
	static const enum auth_method_id ids[] = { AUTH_METHOD_PUBLICKEY,
		AUTH_METHOD_PASSWORD, AUTH_METHOD_KBDINT };
	struct server_conf c;

	(void)state;
	for (size_t off = 0; off < ARRAY_LEN(ids); off++) {
		server_conf_init(&c);
		assert_int_equal(server_conf_set(&c, keywords[off], "no"), 0);
		assert_int_equal(server_conf_finish(&c), 0);
		for (size_t i = 0; i < ARRAY_LEN(ids); i++)
			assert_int_equal(auth_method_offered(
				&auth_method_table[ids[i]], &c), i != off);
		assert_true(auth_method_enabled(
		    &auth_method_table[AUTH_METHOD_NONE], &c));
		assert_false(auth_method_offered(
		    &auth_method_table[AUTH_METHOD_NONE], &c));
		server_conf_clear(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(devices_of_lists),
		cmocka_unit_test(options_turn_methods_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
