/* SPDX-License-Identifier: ISC */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/log.h"
#include "compat/bsd-mem.h"

void
mem_ensure_failed(const char *what, const char *file, int line)
{
	log_error("internal error: %s does not hold at %s:%d", what, file,
	    line);
	abort();
}

bool
mem_equal_ct(const void *a, const void *b, size_t len)
{
	const volatile uint8_t *p = a, *q = b;
	uint8_t diff = 0;

	for (size_t i = 0; i < len; i++)
		diff |= p[i] ^ q[i];
	return diff == 0;
}

void
mem_free_secret(void *p, size_t len)
{
	if (p == NULL)
		return;
	explicit_bzero(p, len);
	free(p);
}

static void *
or_die(void *p)
{
	if (p == NULL)
		fatal("out of memory");
	return p;
}

void
mem_give_back(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

void *
xmalloc(size_t size)
{
	return or_die(malloc(size > 0 ? size : 1));
}

void *
xcalloc(size_t count, size_t size)
{
	return or_die(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *
xrecallocarray(void *p, size_t old_count, size_t count, size_t size)
{
	return or_die(recallocarray(p, old_count, count, size));
}

char *
xstrdup(const char *s)
{
	return or_die(strdup(s));
}

char *
xstrndup(const char *s, size_t len)
{
	return or_die(strndup(s, len));
}

int
xasprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(out, fmt, ap);
	va_end(ap);
	if (n < 0)
		fatal("out of memory");
	return n;
}
