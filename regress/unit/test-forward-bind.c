/* SPDX-License-Identifier: ISC */
/* Where a server listens for what a client has asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/session/forward-bind.h"

#define NO SERVER_GATEWAY_NO
#define YES SERVER_GATEWAY_YES
#define CLIENT SERVER_GATEWAY_CLIENT

static void
by_gateway_ports(void **state)
{
	static const struct {
		int gateway, family;
		const char *asked, *where; /* "*": all; "name": a look-up */
		bool overridden;
	} rows[] = {
		{ NO, AF_UNSPEC, "", "127.0.0.1 ::1", false },
		{ NO, AF_UNSPEC, "*", "127.0.0.1 ::1", false },
		{ NO, AF_UNSPEC, "localhost", "127.0.0.1 ::1", false },
		{ NO, AF_UNSPEC, "127.0.0.1", "127.0.0.1", false },
		{ NO, AF_UNSPEC, "::1", "::1", false },
		{ NO, AF_UNSPEC, "192.0.2.1", "127.0.0.1 ::1", false },
		{ NO, AF_UNSPEC, "host.example", "127.0.0.1 ::1", false },
		{ NO, AF_UNSPEC, "0.0.0.0", "127.0.0.1 ::1", false },
		{ YES, AF_UNSPEC, "", "*", false },
		{ YES, AF_UNSPEC, "*", "*", false },
		{ YES, AF_UNSPEC, "0.0.0.0", "*", false },
		{ YES, AF_UNSPEC, "localhost", "*", true },
		{ YES, AF_UNSPEC, "127.0.0.1", "*", true },
		{ YES, AF_UNSPEC, "host.example", "*", true },
		{ CLIENT, AF_UNSPEC, "", "*", false },
		{ CLIENT, AF_UNSPEC, "*", "*", false },
		{ CLIENT, AF_UNSPEC, "localhost", "127.0.0.1 ::1", false },
		{ CLIENT, AF_UNSPEC, "127.0.0.1", "127.0.0.1", false },
		{ CLIENT, AF_UNSPEC, "0.0.0.0", "0.0.0.0", false },
		{ CLIENT, AF_UNSPEC, "192.0.2.1", "192.0.2.1", false },
		{ CLIENT, AF_UNSPEC, "2001:db8::1", "2001:db8::1", false },
		{ CLIENT, AF_UNSPEC, "host.example", "name", false },
		/* an address of another family is left to the look-up, which
		 * says that there is none */
		{ CLIENT, AF_INET6, "192.0.2.1", "name", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct forward_bind b = forward_bind(rows[i].gateway,
		    rows[i].family, rows[i].asked);
		char got[64] = "name";

		if (b.n == 0)
			assert_ptr_equal(b.name, rows[i].asked);
		for (size_t j = 0; j < b.n; j++)
			snprintf(got + (j > 0 ? strlen(got) : 0),
			    sizeof got - (j > 0 ? strlen(got) : 0), "%s%s",
			    j > 0 ? " " : "",
			    b.hosts[j] != NULL ? b.hosts[j] : "*");
		if (strcmp(got, rows[i].where) != 0 ||
		    b.overridden != rows[i].overridden)
			fail_msg("row %zu: %s", i, got);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_gateway_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
