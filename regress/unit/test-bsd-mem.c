/* SPDX-License-Identifier: ISC */
/* What stands in for the BSDs' functions of memory: our own ones, whether or
 * not this C library has them too. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "functions.h"

#undef HAVE_EXPLICIT_BZERO
#undef HAVE_FREEZERO
#undef HAVE_MEMRCHR
#undef HAVE_REALLOCARRAY
#undef HAVE_RECALLOCARRAY
#define explicit_bzero own_explicit_bzero
#define freezero own_freezero
#define memrchr own_memrchr
#define reallocarray own_reallocarray
#define recallocarray own_recallocarray
#define free looked_at_and_freed

static void looked_at_and_freed(void *p);

#include "compat/bsd-mem.c"

#undef free

/* Of what was given back: how many pieces, and bytes that are no zeros. */
static size_t looked_at, pieces, not_zero;

static void
looked_at_and_freed(void *p)
{
	pieces++;
	for (size_t i = 0; i < looked_at; i++)
		not_zero += ((const unsigned char *)p)[i] != 0;
	free(p);
}

static void
expect(size_t len)
{
	looked_at = len;
	pieces = not_zero = 0;
}

static void
zeros(void **state)
{
	char text[] = "secret";

	(void)state;
	explicit_bzero(text + 1, 4);
	assert_memory_equal(text, "s\0\0\0\0t", sizeof text);
	explicit_bzero(text, 0);
	assert_int_equal(text[0], 's');
}

static void
frees_zeros(void **state)
{
	char *p = strdup("secret");

	(void)state;
	expect(6);
	freezero(NULL, 6);
	assert_int_equal(pieces, 0);
	freezero(p, 6);
	assert_int_equal(pieces, 1);
	assert_int_equal(not_zero, 0);
}

static void
finds_the_last(void **state)
{
	static const char text[] = "abcabc\xff";

	(void)state;
	assert_ptr_equal(memrchr(text, 'b', 7), text + 4);
	assert_ptr_equal(memrchr(text, 'b', 4), text + 1);
	assert_ptr_equal(memrchr(text, 'a', 7), text + 3);
	assert_ptr_equal(memrchr(text, -1, 7), text + 6);
	assert_ptr_equal(memrchr(text, '\0', 8), text + 7);
	assert_null(memrchr(text, '\0', 7));
	assert_null(memrchr(text, 'a', 0));
}

/* Volatile, so that the compiler does not know the size, and does not warn of
 * the allocations that have to fail. */
static volatile size_t too_many = SIZE_MAX / 2;

static void
grows(void **state)
{
	char *p = reallocarray(NULL, 2, 3), *q;

	(void)state;
	assert_non_null(p);
	memcpy(p, "abcdef", 6);
	errno = 0;
	assert_null(reallocarray(p, too_many, 3));
	assert_int_equal(errno, ENOMEM);
	q = reallocarray(p, 4, 3);
	assert_non_null(q);
	assert_memory_equal(q, "abcdef", 6);
	free(q);
}

static void
grows_with_zeros(void **state)
{
	static const char nothing[60];
	char *p = recallocarray(NULL, 99, 2, 3), *q;

	(void)state;
	assert_non_null(p);
	assert_memory_equal(p, nothing, 6);
	memcpy(p, "abcdef", 6);
	expect(6);
	q = recallocarray(p, 2, 20, 3);
	assert_non_null(q);
	assert_memory_equal(q, "abcdef", 6);
	assert_memory_equal(q + 6, nothing, 54);
	assert_int_equal(pieces, 1);
	assert_int_equal(not_zero, 0);
	/* fewer: all of the old ones are overwritten too */
	memset(q, 'x', 60);
	expect(60);
	p = recallocarray(q, 20, 1, 3);
	assert_non_null(p);
	assert_memory_equal(p, "xxx", 3);
	assert_int_equal(pieces, 1);
	assert_int_equal(not_zero, 0);
	free(p);
}

/* What was there is as it was. */
static void
refuses(void **state)
{
	char *p = calloc(2, 3);

	(void)state;
	assert_non_null(p);
	memcpy(p, "abcdef", 6);
	expect(6);
	errno = 0;
	assert_null(recallocarray(p, 2, too_many, 3));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	assert_null(recallocarray(p, too_many, 2, 3));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(recallocarray(NULL, 0, too_many, 3));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(pieces, 0);
	assert_memory_equal(p, "abcdef", 6);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros),
		cmocka_unit_test(frees_zeros),
		cmocka_unit_test(finds_the_last),
		cmocka_unit_test(grows),
		cmocka_unit_test(grows_with_zeros),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
