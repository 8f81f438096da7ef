/* SPDX-License-Identifier: ISC */
#include "base/hide.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "compat/bsd-mem.h"
#include "compat/proc.h"

void
hide_process(void)
{
	const struct rlimit none = { 0, 0 };

	(void)!setrlimit(RLIMIT_CORE, &none);
	(void)proc_hide();
}

void *
hide_alloc(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* mlock() may fail, as a user may lock few pages or none. */
	(void)!mlock(p, len);
#ifdef MADV_DONTDUMP
	(void)!madvise(p, len, MADV_DONTDUMP);
#endif
	return p;
}

void
hide_free(void *p, size_t len)
{
	if (p == NULL)
		return;
	explicit_bzero(p, len);
	(void)!munmap(p, len);
}
