/* SPDX-License-Identifier: ISC */
/* Lists of strings for programs that end when there is no memory. */
#include "base/log.h"
#include "base/str.h"

static void
end_without_memory(int err)
{
	if (err != 0)
		fatal("out of memory");
}

void
xstrlist_add(struct strlist *l, const char *s)
{
	end_without_memory(strlist_add(l, s));
}

void
xstrlist_add_len(struct strlist *l, const char *s, size_t len)
{
	end_without_memory(strlist_add_len(l, s, len));
}

void
xstrlist_split(struct strlist *l, const char *s, const char *seps)
{
	end_without_memory(strlist_split(l, s, seps));
}
