/* SPDX-License-Identifier: ISC */
/*
 * Forwards in messages: what users write is what arrives, and nothing that
 * arrives becomes a forward that nobody could have written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/mux/mux-forward.h"

static const struct {
	enum forward_kind kind;
	const char *text;
	struct mux_forward is;
} written[] = {
	{ FORWARD_LOCAL, "8080:host:80", { 1, "", 8080, "host", 80 } },
	{ FORWARD_LOCAL, "*:8080:host:80", { 1, "*", 8080, "host", 80 } },
	{ FORWARD_LOCAL, ":8080:host:80", { 1, "*", 8080, "host", 80 } },
	{ FORWARD_LOCAL, "[::1]:8080:[fe80::1]:80",
	    { 1, "::1", 8080, "fe80::1", 80 } },
	{ FORWARD_LOCAL, "8080:/run/s",
	    { 1, "", 8080, "/run/s", MUX_PORT_PATH } },
	{ FORWARD_LOCAL, "/run/l:/run/s",
	    { 1, "/run/l", MUX_PORT_PATH, "/run/s", MUX_PORT_PATH } },
	{ FORWARD_REMOTE, "0:host:80", { 2, "", 0, "host", 80 } },
	{ FORWARD_REMOTE, "1080", { 2, "", 1080, "socks", 0 } },
	{ FORWARD_REMOTE, "/run/l:host:80",
	    { 2, "/run/l", MUX_PORT_PATH, "host", 80 } },
	{ FORWARD_DYNAMIC, "1080", { 3, "", 1080, "socks", 0 } },
	{ FORWARD_DYNAMIC, "::1:1080", { 0 } }, /* not a forward */
	{ FORWARD_DYNAMIC, "localhost:1080",
	    { 3, "localhost", 1080, "socks", 0 } },
};

static void
test_as_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(written); i++) {
		const struct mux_forward *is = &written[i].is;
		struct forward_spec spec, back;
		struct mux_forward f;

		if (is->type == 0) {
			assert_int_not_equal(forward_spec_parse(&spec,
				written[i].kind, written[i].text), 0);
			continue;
		}
		assert_int_equal(forward_spec_parse(&spec, written[i].kind,
				     written[i].text), 0);
		assert_int_equal(mux_forward_from_spec(&f, &spec), 0);
		assert_int_equal(f.type, is->type);
		assert_string_equal(f.listen_host, is->listen_host);
		assert_int_equal(f.listen_port, is->listen_port);
		assert_string_equal(f.target_host, is->target_host);
		assert_int_equal(f.target_port, is->target_port);
		assert_int_equal(mux_forward_to_spec(&back, &f), 0);
		assert_true(forward_spec_equals(&spec, &back));
		forward_spec_clear(&spec);
		forward_spec_clear(&back);
		mux_forward_clear(&f);
	}
}

static void
test_impossible(void **state)
{
	char longest[FORWARD_PATH_MAX + 2];
	struct mux_forward bad[] = {
		{ 0, "", 1, "host", 1 },
		{ 4, "", 1, "host", 1 },
		{ 0xffffffff, "", 1, "host", 1 },
		{ 1, "", 0, "host", 1 },
		{ 3, "", 0, "socks", 0 },
		{ 1, "", 1, "host", 0 },
		{ 1, "", 1, "", 1 },
		{ 1, "", 65536, "host", 1 },
		{ 1, "", 1, "host", 65536 },
		{ 1, "", 1, "host", (uint32_t)-1 },
		{ 1, "", MUX_PORT_PATH, "host", 1 },
		{ 2, "", 1, "host", 0 },
		{ 1, longest, MUX_PORT_PATH, "host", 1 },
		{ 1, "", 1, longest, MUX_PORT_PATH },
	};
	struct forward_spec spec;

	(void)state;
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(mux_forward_to_spec(&spec, &bad[i]),
		    ERR_ARGUMENT);
		forward_spec_clear(&spec);
	}
	/* One byte less is possible. */
	longest[FORWARD_PATH_MAX] = '\0';
	assert_int_equal(mux_forward_to_spec(&spec,
			     &bad[ARRAY_LEN(bad) - 1]), 0);
	forward_spec_clear(&spec);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_written),
		cmocka_unit_test(test_impossible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
