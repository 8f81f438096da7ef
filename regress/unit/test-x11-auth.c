/* SPDX-License-Identifier: ISC */
/*
 * The first packet of X11 clients: only who knows our cookie gets through, in
 * both byte orders and however the packet is cut, and what goes on to the
 * display has the display's cookie, and nothing else of it is changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "forward/x11-auth.h"

#define MIT "MIT-MAGIC-COOKIE-1"

static struct x11_cookie real = { MIT,
	{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, 16 };
static struct x11_cookie fake;
static struct x11_setup first;
static uint8_t packet[256];
static size_t packet_len;

static int
setup(void **state)
{
	(void)state;
	x11_cookie_imitate(&fake, &real);
	x11_setup_init(&first, &fake, &real);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	x11_setup_clear(&first);
	return 0;
}

static void
put_number(size_t at, uint8_t order, size_t n)
{
	packet[at + (order == 'B' ? 0 : 1)] = (uint8_t)(n >> 8);
	packet[at + (order == 'B' ? 1 : 0)] = (uint8_t)n;
}

/* As an X11 client writes it. */
static void
compose(uint8_t order, const char *name, const struct x11_cookie *c)
{
	size_t name_len = strlen(name);

	memset(packet, 0x5a, sizeof packet); /* in what is unused, too */
	packet[0] = order;
	put_number(2, order, 11);
	put_number(4, order, 0);
	put_number(6, order, name_len);
	put_number(8, order, c->len);
	memcpy(packet + 12, name, name_len);
	packet_len = 12 + (name_len + 3) / 4 * 4;
	memcpy(packet + packet_len, c->data, c->len);
	packet_len += (c->len + 3) / 4 * 4;
}

static void
check_opened(void)
{
	size_t at = 12 + (strlen(MIT) + 3) / 4 * 4;

	assert_int_equal(first.state, X11_SETUP_ACCEPTED);
	assert_int_equal(buf_len(&first.packet), packet_len);
	memcpy(packet + at, real.data, real.len);
	assert_memory_equal(buf_data(&first.packet), packet, packet_len);
}

static void
refused(size_t len)
{
	(void)x11_setup_take(&first, packet, len);
	assert_int_equal(first.state, X11_SETUP_REFUSED);
	assert_int_equal(x11_setup_take(&first, packet, 1), 0);
}

static void
test_both_orders(void **state)
{
	(void)state;
	compose('B', MIT, &fake);
	/* What follows the packet is not taken. */
	assert_int_equal(x11_setup_take(&first, packet, packet_len + 7),
	    packet_len);
	check_opened();
	assert_int_equal(x11_setup_take(&first, packet, 1), 0);
	(void)teardown(NULL);
	x11_setup_init(&first, &fake, &real);
	compose('l', MIT, &fake);
	assert_int_equal(x11_setup_take(&first, packet, packet_len),
	    packet_len);
	check_opened();
}

static void
test_byte_by_byte(void **state)
{
	(void)state;
	compose('l', MIT, &fake);
	for (size_t i = 0; i < packet_len; i++) {
		assert_int_equal(first.state, X11_SETUP_INCOMPLETE);
		assert_int_equal(x11_setup_take(&first, packet + i, 1), 1);
	}
	check_opened();
}

/* Data whose length is no multiple of 4. */
static void
test_odd_length(void **state)
{
	(void)state;
	real.len = fake.len = 13;
	compose('B', MIT, &fake);
	assert_int_equal(x11_setup_take(&first, packet, packet_len),
	    packet_len);
	check_opened();
	real.len = 16;
}

static void
test_wrong_cookie(void **state)
{
	(void)state;
	for (size_t i = 0; i < fake.len; i++) {
		compose('B', MIT, &fake);
		packet[packet_len - 1 - i] ^= 1;
		refused(packet_len);
		x11_setup_clear(&first);
		x11_setup_init(&first, &fake, &real);
	}
}

/* Who guesses the display's own cookie does not get in with it. */
static void
test_real_cookie(void **state)
{
	(void)state;
	compose('B', MIT, &real);
	refused(packet_len);
}

static void
test_wrong_name(void **state)
{
	(void)state;
	compose('l', "MIT-MAGIC-COOKIE-2", &fake);
	refused(packet_len);
}

static void
test_no_cookie(void **state)
{
	struct x11_cookie none = { .len = 0 };

	(void)state;
	compose('l', "", &none);
	assert_int_equal(packet_len, 12);
	refused(packet_len);
}

static void
test_bad_order(void **state)
{
	(void)state;
	compose('B', MIT, &fake);
	packet[0] = 'b';
	refused(12);
}

/* Lengths in the other order than announced, and lengths that would make the
 * packet long, are refused with the head: nothing is waited for. */
static void
test_lengths(void **state)
{
	(void)state;
	compose('B', MIT, &fake);
	packet[0] = 'l';
	refused(12);
	(void)teardown(NULL);
	x11_setup_init(&first, &fake, &real);
	compose('B', MIT, &fake);
	put_number(8, 'B', 0xffff);
	assert_int_equal(x11_setup_take(&first, packet, 11), 11);
	assert_int_equal(first.state, X11_SETUP_INCOMPLETE);
	refused(12);
}

static void
test_imitation(void **state)
{
	struct x11_cookie other;

	(void)state;
	x11_cookie_imitate(&other, &real);
	assert_string_equal(other.protocol, MIT);
	assert_int_equal(other.len, real.len);
	assert_memory_not_equal(other.data, real.data, real.len);
	assert_memory_not_equal(other.data, fake.data, real.len);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_orders),
		TEST(test_byte_by_byte),
		TEST(test_odd_length),
		TEST(test_wrong_cookie),
		TEST(test_real_cookie),
		TEST(test_wrong_name),
		TEST(test_no_cookie),
		TEST(test_bad_order),
		TEST(test_lengths),
		TEST(test_imitation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
