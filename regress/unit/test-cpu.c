/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <string.h>

#include "compat/cpu.h"

/* What a vector register holds after it was cleared. */
static void
test_clear_vectors(void **state)
{
	static const char secret[16] = "a secret number";
	char left[16] = "nothing is left";

	(void)state;
#if defined(__x86_64__)
	__asm__ volatile("movdqu %0, %%xmm7" ::"m"(secret) : "xmm7");
	cpu_clear_vectors();
	__asm__ volatile("movdqu %%xmm7, %0" : "=m"(left));
#elif defined(__aarch64__)
	__asm__ volatile("ldr q17, %0" ::"Q"(secret) : "v17");
	cpu_clear_vectors();
	__asm__ volatile("str q17, %0" : "=Q"(left));
#else
	(void)secret;
	print_message(
	    "this processor's registers are not known to the test\n");
	skip();
#endif
	assert_memory_equal(left, (char[16]){ 0 }, sizeof left);
}

static volatile uintptr_t frame_at;

/* Leaves a text far below the caller's frame: on the stack itself, where newer
 * sanitizers would put it into memory of their own. */
__attribute__((noinline, no_sanitize("address"))) static void
leave_behind(void)
{
	volatile char frame[16 * 1024];

	for (size_t i = 0; i < sizeof frame; i++)
		frame[i] = 'x';
	frame_at = (uintptr_t)frame;
}

/* By volatile reads, of what no object is at. */
__attribute__((noinline, no_sanitize("address"))) static size_t
count_left(uintptr_t at)
{
	const volatile char *p = (const volatile char *)at;
	size_t n = 0;

	for (size_t i = 0; i < 8 * 1024; i++)
		n += p[i] == 'x';
	return n;
}

static void
test_clear_stack(void **state)
{
	(void)state;
	leave_behind();
	assert_true(count_left(frame_at) > 0); /* else nothing is proved */
	leave_behind();
	cpu_clear_stack();
	assert_int_equal(count_left(frame_at), 0);
}

/* Whoever is asked: the C library, or the processor. */
static void
test_processor(void **state)
{
	(void)state;
#if defined(__x86_64__)
	assert_int_equal(cpu_has_avx2(), __builtin_cpu_supports("avx2") != 0);
	assert_int_equal(cpu_has_aes_gcm(),
	    __builtin_cpu_supports("aes") != 0 &&
		__builtin_cpu_supports("pclmul") != 0);
#else
	assert_false(cpu_has_avx2());
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear_vectors),
		cmocka_unit_test(test_clear_stack),
		cmocka_unit_test(test_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
