/* SPDX-License-Identifier: ISC */
/* Lists of addresses. What is expected is what sshd -T -C answers, but for
 * what is refused here and never matches there, and for networks without a
 * scope, which there never match an address that has one. */
#include "regress/unit/help.h"

#include "base/mem.h"
#include "conf/addr-match.h"

static void
test_lists(void **state)
{
	static const struct {
		const char *addr, *list;
		int r;
	} cases[] = {
		{ "192.0.2.1", "192.0.2.1", 1 },
		{ "192.0.2.1", "192.0.2.?", 1 },
		{ "192.0.2.1", "!192.0.2.1,*", -1 },
		{ "192.0.2.1", "10.0.0.0/8", 0 },
		{ "192.0.2.1", "0.0.0.0/0", 1 },
		{ "192.0.2.1", "192.0.2.1/32", 1 },
		{ "192.0.2.1", "192.0.2.1/33", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1/24", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.0/", ERR_SYNTAX },
		{ "192.0.2.1", "nonsense/8", ERR_SYNTAX },
		{ "2001:db8::1", "2001:db8::/33", 1 },
		{ "2001:db8:8000::1", "2001:db8::/33", 0 },
		{ "fe80::1%eth0", "fe80::/10", 1 },
		{ "192.0.2.1", "", ERR_SYNTAX },
		/* one address in several texts */
		{ "2001:db8::1", "2001:db8:0:0:0:0:0:1", 1 },
		{ "2001:db8::1", "2001:DB8:0::1", 1 },
		{ "2001:db8::1", "!2001:db8:0:0:0:0:0:1,*", -1 },
		{ "2001:db8::2", "!2001:db8:0:0:0:0:0:1,*", 1 },
		{ "2001:db8::1", "2001:db8::*", 1 },
		{ "192.0.2.1", "192.0.513", 1 },
		{ "192.0.2.1", "0xc0000201", 1 },
		{ "192.0.2.1", "0300.0.2.1", 1 },
		{ "192.0.2.1", "!3221225985,*", -1 },
		{ "192.0.2.0", "192.0.2.0 ", 0 },
		{ "192.0.2.1", "[192.0.2.1]", 0 },
		/* scopes */
		{ "fe80::1%eth0", "fe80::1%eth0", 1 },
		{ "fe80::1%eth0", "fe80:0::1%eth0", 1 },
		{ "fe80::1%eth1", "fe80::1%eth0", 0 },
		{ "fe80::1", "fe80::1%eth0/128", 0 },
		{ "fe80::1%eth0", "fe80::1%eth0/128", 1 },
		{ "fe80::1%eth0", "fe80::1", 0 },
		/* IPv4 as IPv6 */
		{ "::ffff:192.0.2.1", "192.0.2.1", 1 },
		{ "192.0.2.1", "::ffff:192.0.2.1", 0 },
		{ "192.0.2.1", "::ffff:192.0.2.0/120", ERR_SYNTAX },
		{ "10.0.0.1", "::ffff:10.0.0.0/8", ERR_SYNTAX },
		{ "192.0.2.1", "::/0", 0 },
		/* malformed */
		{ "192.0.2.1", "192.0.0.0/+16", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.0.0/ 16", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.0.0/016", 1 },
		{ "192.0.2.1", "192.0.0.0/4294967312", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1,", ERR_SYNTAX },
		{ "192.0.2.1", ",192.0.2.1", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1,,10.0.0.1", ERR_SYNTAX },
		{ "192.0.2.1", "!", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1,!", ERR_SYNTAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int r = addr_match_list(cases[i].addr, cases[i].list);

		if (r != cases[i].r)
			fail_msg("%s in %s: %d", cases[i].addr, cases[i].list,
			    r);
		r = addr_match_list(NULL, cases[i].list);
		if ((r < -1) != (cases[i].r < -1))
			fail_msg("check of %s: %d", cases[i].list, r);
	}
}

/* The lists that certificates may have. */
static void
test_networks(void **state)
{
	static const struct {
		const char *addr, *list;
		int r;
	} networks[] = {
		{ "192.0.2.1", "192.0.2.1", 1 },
		{ "192.0.2.1", "10.0.0.0/8,192.0.2.0/24", 1 },
		{ "192.0.2.1", "10.0.0.0/8,192.0.2.2", 0 },
		{ "::ffff:192.0.2.1", "192.0.2.1", 1 },
		{ "2001:db8::1", "2001:DB8::/32", 1 },
		{ "2001:db8::1", "0.0.0.0/0", 0 },
		{ "UNKNOWN", "0.0.0.0/0,::/0", 0 },
		{ NULL, "0.0.0.0/0,::1", 0 },
		{ NULL, "", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1,", ERR_SYNTAX },
		{ "192.0.2.1", ",192.0.2.1", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1,,10.0.0.1", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1,x", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.?", ERR_SYNTAX },
		{ "192.0.2.1", "*", ERR_SYNTAX },
		{ "192.0.2.1", "!10.0.0.1,192.0.2.1", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1/33", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.1/24", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2.0/", ERR_SYNTAX },
		{ "192.0.2.1", "192.0.2", ERR_SYNTAX },
		{ "192.0.2.1", " 192.0.2.1", ERR_SYNTAX },
		{ "fe80::1", "fe80::1%eth0", ERR_SYNTAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(networks); i++) {
		int r = addr_match_networks(networks[i].addr, networks[i].list);

		if (r != networks[i].r)
			fail_msg("%s: %d", networks[i].list, r);
	}
}

/* A peer has a name as well, which an item may match that has no slash. */
static void
test_hosts(void **state)
{
	static const struct {
		const char *host, *addr, *list;
		int r;
	} cases[] = {
		{ "a.example", "192.0.2.1", "*.example", 1 },
		{ "A.Example", "192.0.2.1", "a.EXAMPLE", 1 },
		{ "a.example", "192.0.2.1", "*.example,!192.0.2.0/24", -1 },
		{ "a.example", "192.0.2.1", "192.0.2.1,!a.*", -1 },
		{ "a.example", NULL, "192.0.2.1", 0 },
		{ "192.0.2.1", "192.0.2.1", "192.0.2.1", 1 },
		{ "192.0.2.1", "198.51.100.1", "192.0.2.0/24", 0 },
		{ NULL, "192.0.2.1", "*.example", 0 },
		{ "a.example", "192.0.2.1", "*.example,", ERR_SYNTAX },
		{ "a.example", "192.0.2.1", "*.example,192.0.2.1/8",
		    ERR_SYNTAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int r = addr_match_host(cases[i].host, cases[i].addr,
		    cases[i].list);

		if (r != cases[i].r)
			fail_msg("%s: %d", cases[i].list, r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
