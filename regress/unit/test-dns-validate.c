/* SPDX-License-Identifier: ISC */
/* Without the keys of the root nobody is asked. With them: see
 * test_verify_host_key_dns.py, which has a zone to ask about. */
#include "regress/unit/help.h"

#include <unistd.h>

#include "base/dns-validate.h"
#include "config.h"

static void
without_keys(void **state)
{
	struct buf message = { 0 };
	bool secure = true;

	(void)state;
#ifdef HAVE_LIBUNBOUND
	if (access(DNS_ROOT_KEY, R_OK) == 0) {
		print_message("the keys of the DNS's root are installed\n");
		skip();
	}
#endif
	assert_int_equal(dns_validate("h.test", 44, &message, &secure),
	    ERR_UNSUPPORTED);
	assert_false(secure);
	assert_int_equal(buf_len(&message), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
