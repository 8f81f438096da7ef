/* SPDX-License-Identifier: ISC */
/* What is to be scanned: words, lines, and the addresses of networks. */
#include "regress/unit/hex.h"

#include <sys/socket.h>

#include "base/mem.h"
#include "keytools/keyscan/scan-target.h"

static void
test_targets(void **state)
{
	static const struct {
		const char *text, *first;
		size_t n;
		const char *names;
	} cases[] = {
		{ "host", "host", 1, "host" },
		{ "Host.Example", "Host.Example", 1, "host.example" },
		{ "a,b,c", "a", 3, "a,b,c" },
		{ "  a,b \t One,two  rest\n", "a", 2, "one,two" },
		{ "a # b", "a", 1, "a" },
		{ "a#b c", "a", 1, "a" },
		{ ",,a,", "a", 1, ",,a," },
	};
	struct scan_target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(scan_target_parse(cases[i].text, &t), 0);
		assert_int_equal(t.hosts.n, cases[i].n);
		assert_string_equal(t.hosts.v[0], cases[i].first);
		assert_string_equal(t.names, cases[i].names);
		scan_target_clear(&t);
	}
}

static void
test_no_target(void **state)
{
	static const char *const nothing[] = { "", " \t", "# x", "  #", ",",
		",, x" };
	char many[200];
	struct scan_target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		assert_int_equal(scan_target_parse(nothing[i], &t),
		    ERR_NOT_FOUND);
		scan_target_clear(&t);
	}
	for (size_t i = 0; i < 65; i++)
		memcpy(many + 2 * i, "a,", 3);
	assert_int_equal(scan_target_parse(many, &t), ERR_LIMIT);
	scan_target_clear(&t);
}

static void
check_network(const char *text, const char *const *want)
{
	struct scan_network n;
	char address[64];

	assert_true(scan_network_parse(text, &n));
	for (; *want != NULL; want++) {
		assert_true(scan_network_next(&n, address, sizeof address));
		assert_string_equal(address, *want);
	}
	assert_false(scan_network_next(&n, address, sizeof address));
	assert_false(scan_network_next(&n, address, sizeof address));
}

static void
test_networks(void **state)
{
	static const char *const bad[] = { "", "10.0.0.0", "10.0.0.1/30",
		"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/-1",
		"::1/64", "::/129", "host/24", "10.0.0/24", "10.0.0.0/24/8" };
	struct scan_network n;
	char address[64];

	(void)state;
	check_network("10.0.0.0/30", (const char *const[]){ "10.0.0.0",
	    "10.0.0.1", "10.0.0.2", "10.0.0.3", NULL });
	check_network("192.168.1.7/32",
	    (const char *const[]){ "192.168.1.7", NULL });
	check_network("255.255.255.254/31", (const char *const[]){
	    "255.255.255.254", "255.255.255.255", NULL });
	check_network("fe80::fe/127",
	    (const char *const[]){ "fe80::fe", "fe80::ff", NULL });
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (scan_network_parse(bad[i], &n))
			fail_msg("%s is taken for a network", bad[i]);
	/* One without an end that anybody could wait for. */
	assert_true(scan_network_parse("::/0", &n));
	for (int i = 0; i < 0x1ff; i++)
		assert_true(scan_network_next(&n, address, sizeof address));
	assert_string_equal(address, "::1fe");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_no_target),
		cmocka_unit_test(test_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
