/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-wire.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 1024 }; /* of the name of a host or a user */

void
direct_job_put(struct buf *b, const struct direct_job *j)
{
	buf_put_u8(b, DIRECT_VERSION);
	buf_put_string(b, j->grant, sizeof j->grant);
	buf_put_cstring(b, j->host);
	buf_put_cstring(b, j->user);
	buf_put_u16(b, j->port);
	buf_put_string_buf(b, &j->hostkey);
	buf_put_u32(b, j->flags);
	buf_put_u64(b, j->rate_bytes);
	buf_put_u32(b, (uint32_t)j->sources.n);
	for (size_t i = 0; i < j->sources.n; i++)
		buf_put_cstring(b, j->sources.v[i]);
	for (size_t i = 1; (j->flags & DIRECT_LIST) && i < j->sources.n; i++)
		buf_put_u64(b, j->sizes[i - 1]);
}

static int
get_sources(struct rd *r, struct strlist *sources)
{
	uint32_t n = rd_u32(r);
	int err = 0;

	if (n == 0 || n > DIRECT_SOURCES_MAX)
		rd_fail(r, ERR_LIMIT);
	for (uint32_t i = 0; err == 0 && rd_err(r) == 0 && i < n; i++) {
		char *path = rd_cstring(r, PATH_MAX);

		if (path != NULL && path[0] == '\0')
			rd_fail(r, ERR_FORMAT);
		else if (path != NULL)
			err = strlist_add(sources, path);
		free(path);
	}
	return err;
}

static int
get_sizes(struct rd *r, struct direct_job *j)
{
	size_t n = j->sources.n;

	if ((j->flags & DIRECT_LIST) == 0 || rd_err(r) != 0)
		return 0;
	if (n < 2) {
		rd_fail(r, ERR_FORMAT);
		return 0;
	}
	if ((j->sizes = calloc(n - 1, sizeof *j->sizes)) == NULL)
		return ERR_NOMEM;
	for (size_t i = 1; i < n; i++)
		j->sizes[i - 1] = rd_u64(r);
	return 0;
}

int
direct_job_get(struct rd *r, struct direct_job *j)
{
	struct span name, key;
	int err;

	if (rd_u8(r) != DIRECT_VERSION && rd_err(r) == 0)
		return ERR_UNSUPPORTED;
	name = rd_string(r);
	j->host = rd_cstring(r, NAME_BYTES);
	j->user = rd_cstring(r, NAME_BYTES);
	j->port = rd_u16(r);
	key = rd_string(r);
	j->flags = rd_u32(r);
	j->rate_bytes = rd_u64(r);
	if (rd_err(r) == 0 &&
	    (name.len != sizeof j->grant || j->host[0] == '\0' ||
		j->user[0] == '\0' || (j->flags & ~(uint32_t)DIRECT_FLAGS)))
		rd_fail(r, ERR_FORMAT);
	if (rd_err(r) != 0)
		return rd_err(r);
	memcpy(j->grant, name.p, sizeof j->grant);
	buf_put(&j->hostkey, key.p, key.len);
	if ((err = get_sources(r, &j->sources)) != 0 ||
	    (err = get_sizes(r, j)) != 0 ||
	    (err = rd_end(r)) != 0)
		return err;
	return buf_err(&j->hostkey);
}

void
direct_job_clear(struct direct_job *j)
{
	free(j->host);
	free(j->user);
	buf_clear(&j->hostkey);
	strlist_clear(&j->sources);
	free(j->sizes);
	*j = (struct direct_job){ .host = NULL };
}
