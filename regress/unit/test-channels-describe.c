/* SPDX-License-Identifier: ISC */
/* The lines of ~#, as programs read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "regress/unit/channels-host.h"

static struct world w;

static void
expect(const char *want)
{
	struct buf b = { 0 };
	char *text;

	channels_describe(w.a.chs, &b);
	text = buf_dup_string(&b);
	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
	buf_clear(&b);
}

static void
test_lines(void **state)
{
	(void)state;
	world_open(&w);
	expect("");
	world_open_session(&w);
	expect("  #0 session (t3 [session] nr0 nm0 i0/0 o0/0 e[write]/0 fd "
	       "-1/-1/-1 sock -1 cc -1 nc0 io 0x01/0x00)\n");
	assert_int_equal(world_run(&w, 10), 0);
	channel_set_name(w.a.ch, "another name");
	channel_set_name(w.a.ch, "client-session");
	/* The other end has no source, so its EOF is there. */
	assert_int_equal(channel_send_data(w.a.ch, 0, "abc", 3), 0);
	expect("  #0 client-session (t4 [session] r0 nm0 i0/3 o3/0 e[write]/0 "
	       "fd -1/-1/-1 sock -1 cc -1 nc0 io 0x01/0x00)\n");
	channel_end_source(w.a.ch);
	assert_int_equal(world_run(&w, 10), 0);
	expect("  #0 client-session (t4 [session] r0 nm0 i3/0 o3/0 e[write]/0 "
	       "fd -1/-1/-1 sock -1 cc -1 nc0 io 0x00/0x00)\n");
	channel_close(w.b.ch, false);
	channel_close(w.a.ch, false);
	assert_int_equal(world_run(&w, 10), 0);
	expect("");
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
