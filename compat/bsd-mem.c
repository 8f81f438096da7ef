/* SPDX-License-Identifier: ISC */
#include "compat/bsd-mem.h"

#include <errno.h>
#include <stdint.h>

#ifndef HAVE_EXPLICIT_BZERO
void
explicit_bzero(void *p, size_t len)
{
	memset(p, 0, len);
	/* For all that the compiler knows, this reads what p points to. */
	__asm__ __volatile__("" : : "r"(p) : "memory");
}
#endif

#ifndef HAVE_FREEZERO
void
freezero(void *p, size_t len)
{
	if (p == NULL)
		return;
	explicit_bzero(p, len);
	free(p);
}
#endif

#ifndef HAVE_MEMRCHR
void *
memrchr(const void *p, int c, size_t len)
{
	const unsigned char *bytes = p;

	while (len-- > 0)
		if (bytes[len] == (unsigned char)c)
			return (void *)(uintptr_t)&bytes[len];
	return NULL;
}
#endif

#ifndef HAVE_REALLOCARRAY
void *
reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}
#endif

#ifndef HAVE_RECALLOCARRAY
void *
recallocarray(void *p, size_t old_count, size_t count, size_t size)
{
	size_t old, bytes;
	void *fresh;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (p == NULL)
		return calloc(count, size);
	if (__builtin_mul_overflow(old_count, size, &old)) {
		errno = EINVAL;
		return NULL;
	}
	if ((fresh = calloc(count, size)) == NULL)
		return NULL;
	memcpy(fresh, p, old < bytes ? old : bytes);
	freezero(p, old);
	return fresh;
}
#endif
