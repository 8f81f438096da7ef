/* SPDX-License-Identifier: ISC */
#include "server/grant.h"

#include <stdlib.h>
#include <string.h>

bool
grant_rights_allowed(uint32_t rights, unsigned kinds)
{
	const uint32_t reading = GRANT_MAY_LIST | GRANT_MAY_READ;

	if (rights == 0 || (rights & GRANT_MAY_OWNER) != 0 ||
	    (rights & ~(uint32_t)GRANT_MAY_ALL) != 0)
		return false;
	if ((rights & GRANT_MAY_READ) != 0 && (kinds & GRANT_GET) == 0)
		return false;
	return kinds != 0 &&
	    ((rights & ~reading) == 0 || (kinds & GRANT_PUT) != 0);
}

void
grant_scope_put(struct buf *b, const struct grant_scope *s)
{
	buf_put_cstring(b, s->path);
	buf_put_u32(b, s->rights);
	buf_put_u64(b, s->bytes);
	buf_put_u64(b, s->files);
	buf_put_u64(b, s->deletes);
}

int
grant_scope_get(struct rd *r, struct grant_scope *s)
{
	s->path = rd_cstring(r, GRANT_PATH_MAX);
	s->rights = rd_u32(r);
	s->bytes = rd_u64(r);
	s->files = rd_u64(r);
	s->deletes = rd_u64(r);
	if (rd_err(r) == 0 &&
	    (s->path[0] != '/' ||
		(s->rights & ~(uint32_t)GRANT_MAY_ALL) != 0))
		rd_fail(r, ERR_FORMAT);
	return rd_err(r);
}

int
grant_scope_copy(struct grant_scope *to, const struct grant_scope *from)
{
	*to = *from;
	to->path = from->path == NULL ? NULL : strdup(from->path);
	return from->path != NULL && to->path == NULL ? ERR_NOMEM : 0;
}

void
grant_scope_clear(struct grant_scope *s)
{
	free(s->path);
	*s = (struct grant_scope){ .path = NULL };
}
