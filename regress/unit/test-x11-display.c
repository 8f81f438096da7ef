/* SPDX-License-Identifier: ISC */
/*
 * Where a DISPLAY leads to, and which are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "forward/x11-display.h"

static void
leads_to(const char *text, const char *path, const char *host, uint16_t port,
    uint32_t screen)
{
	struct x11_display d;

	assert_int_equal(x11_display_parse(&d, text), 0);
	assert_string_equal(d.path, path);
	assert_string_equal(d.host, host);
	assert_int_equal(d.port, port);
	assert_int_equal(d.screen, screen);
}

static void
test_displays(void **state)
{
	(void)state;
	leads_to(":0", "/tmp/.X11-unix/X0", "", 0, 0);
	leads_to(":12.3", "/tmp/.X11-unix/X12", "", 0, 3);
	leads_to("unix:7", "/tmp/.X11-unix/X7", "", 0, 0);
	leads_to("localhost:10.0", "", "localhost", 6010, 0);
	leads_to("192.0.2.1:0.1", "", "192.0.2.1", 6000, 1);
	leads_to("::1:5", "", "::1", 6005, 0);
	leads_to("a-b.example.net:59535", "", "a-b.example.net", 65535, 0);
	leads_to("/private/tmp/x.abc/org.x:0", "/private/tmp/x.abc/org.x:0",
	    "", 0, 0);
	leads_to("/tmp/x:0.1", "/tmp/x:0", "", 0, 1);
}

static void
test_refused(void **state)
{
	static const char *const bad[] = { "", "0", "host", ":", ":x", ":-1",
		":+1", ":1.", ":1.x", ":1.401", ":59536", ":4294967296",
		"host:1 2", "host:$(id)", "`id`:0", "host;id:0", "ho\nst:0",
		"-display:0", "/:x", "host:0x1" };
	char path[128] = "/";
	struct x11_display d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(x11_display_parse(&d, bad[i]), ERR_FORMAT);
	memset(path + 1, 'a', 110);
	memcpy(path + 111, ":0", 3);
	assert_int_equal(x11_display_parse(&d, path), ERR_FORMAT);
}

static void
test_long_host(void **state)
{
	char text[300];
	struct x11_display d;

	(void)state;
	memset(text, 'h', 256);
	memcpy(text + 256, ":0", 3);
	assert_int_equal(x11_display_parse(&d, text), ERR_FORMAT);
	assert_int_equal(x11_display_parse(&d, text + 1), 0);
	assert_int_equal(strlen(d.host), 255);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_displays),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
