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
	skip();
#endif
	assert_memory_equal(left, (char[16]){ 0 }, sizeof left);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
