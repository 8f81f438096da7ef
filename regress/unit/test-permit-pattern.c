/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include "base/mem.h"
#include "conf/permit-pattern.h"

static void
parse(void **state)
{
	static const struct {
		const char *text;
		bool port_alone;
		int r;
		const char *host;
		uint16_t port;
	} t[] = {
		{ "h:80", false, 0, "h", 80 },
		{ "h:ssh", false, 0, "h", 22 },
		{ "h:*", false, 0, "h", 0 },
		{ "*:*", false, 0, "*", 0 },
		{ "[::1]:80", false, 0, "::1", 80 },
		{ "80", true, 0, "*", 80 },
		{ "*", true, 0, "*", 0 },
		{ "80", false, ERR_LIMIT, NULL, 0 },
		{ "h", true, ERR_LIMIT, NULL, 0 },
		{ "", true, ERR_LIMIT, NULL, 0 },
		{ "h:0", false, ERR_LIMIT, NULL, 0 },
		{ "h:65536", false, ERR_LIMIT, NULL, 0 },
		{ "h:+8", false, ERR_LIMIT, NULL, 0 },
		{ "h: 8", false, ERR_LIMIT, NULL, 0 },
		{ "h:8:9", false, ERR_LIMIT, NULL, 0 },
		{ "h:nobody", false, ERR_LIMIT, NULL, 0 },
		{ ":80", false, ERR_SYNTAX, NULL, 0 },
		{ "[]:80", false, ERR_SYNTAX, NULL, 0 },
		{ "[::1:80", false, ERR_SYNTAX, NULL, 0 },
		{ "[::1]80", false, ERR_SYNTAX, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct permit_pattern p;
		int r = permit_pattern_parse(&p, t[i].text, t[i].port_alone);

		if (r != t[i].r)
			fail_msg("%s: %d", t[i].text, r);
		if (r != 0)
			continue;
		assert_int_equal(p.host_len, strlen(t[i].host));
		assert_memory_equal(p.host, t[i].host, p.host_len);
		assert_int_equal(p.port, t[i].port);
	}
}

static void
long_hosts(void **state)
{
	char text[PERMIT_HOST_MAX + 8];
	struct permit_pattern p;

	(void)state;
	memset(text, 'h', sizeof text);
	memcpy(text + PERMIT_HOST_MAX, ":80", 4);
	assert_int_equal(permit_pattern_parse(&p, text, false), 0);
	memcpy(text + PERMIT_HOST_MAX, "h:80", 5);
	assert_int_equal(permit_pattern_parse(&p, text, false), ERR_SYNTAX);
}

static void
lists(void **state)
{
	static const struct {
		const char *list, *host;
		uint16_t port;
		bool opens;
	} t[] = {
		{ "any", "h", 80, true },
		{ "ANY", "h", 80, true },
		{ "none", "h", 80, false },
		{ "NONE", "none", 80, false },
		{ "", "h", 80, false },
		{ "a:1 h:80", "h", 80, true },
		{ "a:1 h:80", "h", 81, false },
		{ "h:*", "h", 81, true },
		{ "*:80", "x", 80, true },
		{ "*:*", "x", 1, true },
		{ "h:80", "H", 80, false },
		{ "h:80", "host", 80, false },
		{ "host:80", "h", 80, false },
		{ "h*:80", "host", 80, false },
		{ "[::1]:80", "::1", 80, true },
		{ "localhost:80", "127.0.0.1", 80, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct strlist list = { 0 };

		assert_int_equal(strlist_split(&list, t[i].list, " "), 0);
		if (permit_list_opens(&list, t[i].host, t[i].port) !=
		    t[i].opens)
			fail_msg("%s: %s %d", t[i].list, t[i].host, t[i].port);
		strlist_clear(&list);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parse),
	    cmocka_unit_test(long_hosts),
	    cmocka_unit_test(lists),
	};

	know_names_of_ports();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
