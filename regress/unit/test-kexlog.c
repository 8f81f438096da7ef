/* SPDX-License-Identifier: ISC */
/* HPN's log lines: a peer's text stays one field. */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/kexlog.h"

static void
fields_of_a_peer(void **state)
{
	static const char *const texts[][2] = {
		{ "", "" }, { "root", "root" }, { "DOMAIN\\a", "DOMAIN\\a" },
		{ ";", "\\073" }, { ";;x;", "\\073\\073x\\073" },
		{ "x;Name: root", "x\\073Name: root" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char *field = kexlog_field(texts[i][0], strlen(texts[i][0]));

		assert_string_equal(field, texts[i][1]);
		free(field);
	}
}

static size_t
count(const char *text, char c)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == c;
	return n;
}

/* As many fields as a harmless peer's lines have, whatever it says. */
static void
no_field_is_forged(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_VERBOSE);
	messages_keep();
	kexlog_name("a", "192.0.2.1-1");
	assert_int_equal(count(messages, ';'), 3);
	messages_forget();
	kexlog_name("a;Remote: 10.0.0.1-1;Name: root", "192.0.2.1-1");
	assert_int_equal(count(messages, ';'), 3);
	messages_forget();
	assert_true(kexlog_version("SSH-2.0-a", "b", "192.0.2.1-1"));
	assert_int_equal(count(messages, ';'), 4);
	messages_forget();
	assert_false(kexlog_version("SSH-2;Client: x-a;Protocol: 2.0", "b",
	    "192.0.2.1-1"));
	assert_int_equal(count(messages, ';'), 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_a_peer),
		cmocka_unit_test(no_field_is_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
