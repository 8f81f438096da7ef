/* SPDX-License-Identifier: ISC */
/* The wire form of permits, for other processes of this server. */
#include "server/permits.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/wire.h"

enum {
	LISTS_MAX = 4096,	/* lists of endpoints, one per key or keyword */
	ENV_MAX = 65536,	/* variables of a login */
	TEXT_MAX = 1024 * 1024, /* bytes of a variable, a command, a host */
};

static void
put_limit(struct buf *out, const struct permits_limit *limit)
{
	buf_put_u32(out, (uint32_t)limit->n);
	for (size_t i = 0; i < limit->n; i++) {
		const struct permits_endpoints *list = &limit->v[i];

		buf_put_u32(out, (uint32_t)list->n);
		for (size_t j = 0; j < list->n; j++) {
			buf_put_cstring(out, list->v[j].host);
			buf_put_u16(out, list->v[j].port);
		}
	}
}

void
permits_export(const struct permits *p, struct buf *out)
{
	buf_put_bool(out, p->pty);
	buf_put_bool(out, p->user_rc);
	buf_put_bool(out, p->agent_forwarding);
	buf_put_bool(out, p->x11_forwarding);
	buf_put_u32(out, p->forward);
	buf_put_u32(out, p->tunnel_modes);
	buf_put_bool(out, p->no_touch);
	buf_put_bool(out, p->verify_required);
	buf_put_u64(out, (uint64_t)p->tunnel_unit);
	buf_put_u64(out, (uint64_t)p->expires);
	buf_put_bool(out, p->command != NULL);
	buf_put_cstring(out, p->command);
	buf_put_u32(out, (uint32_t)p->env.n);
	for (size_t i = 0; i < p->env.n; i++)
		buf_put_cstring(out, p->env.v[i]);
	put_limit(out, &p->open);
	put_limit(out, &p->listen);
}

static void
get_endpoints(struct rd *in, struct permits_endpoints *list)
{
	uint32_t n = rd_u32(in);

	/* Merging keeps the list of each key apart, so no list is longer than
	 * that of one key may be. */
	if (n > PERMITS_ENDPOINTS_MAX)
		rd_fail(in, ERR_LIMIT);
	if (n == 0 || rd_err(in) != 0)
		return;
	list->v = xcalloc(n, sizeof *list->v);
	while (list->n < n && rd_err(in) == 0) {
		struct permits_endpoint *e = &list->v[list->n++];

		e->host = rd_cstring(in, TEXT_MAX);
		e->port = rd_u16(in);
	}
}

static void
get_limit(struct rd *in, struct permits_limit *limit)
{
	uint32_t n = rd_u32(in);

	if (n > LISTS_MAX)
		rd_fail(in, ERR_LIMIT);
	if (n == 0 || rd_err(in) != 0)
		return;
	limit->v = xcalloc(n, sizeof *limit->v);
	while (limit->n < n && rd_err(in) == 0)
		get_endpoints(in, &limit->v[limit->n++]);
}

static void
get_command(struct rd *in, struct permits *p)
{
	bool there = rd_bool(in);

	p->command = rd_cstring(in, TEXT_MAX);
	if (there)
		return;
	free(p->command);
	p->command = NULL;
}

static int
get_env(struct rd *in, struct permits *p)
{
	uint32_t n = rd_u32(in);
	int r = 0;

	if (n > ENV_MAX)
		rd_fail(in, ERR_LIMIT);
	for (uint32_t i = 0; i < n && r == 0 && rd_err(in) == 0; i++) {
		char *text = rd_cstring(in, TEXT_MAX);

		if (text != NULL)
			r = permits_add_env(p, text);
		/* permits_add_env() adds nothing if the name is there already,
		 * but an export has each name once. */
		if (r == 0 && p->env.n != i + 1)
			r = ERR_FORMAT;
		free(text);
	}
	return r;
}

static int
check(const struct permits *p)
{
	if ((p->forward & ~(unsigned)PERMITS_FORWARD_ALL) != 0 ||
	    (p->tunnel_modes & ~(unsigned)PERMITS_TUNNEL_ALL) != 0 ||
	    p->tunnel_unit < PERMITS_TUNNEL_ANY ||
	    p->tunnel_unit > PERMITS_TUNNEL_MAX || p->expires < 0)
		return ERR_FORMAT;
	return 0;
}

int
permits_import(struct permits *p, struct rd *in)
{
	int r;

	memset(p, 0, sizeof *p);
	p->pty = rd_bool(in);
	p->user_rc = rd_bool(in);
	p->agent_forwarding = rd_bool(in);
	p->x11_forwarding = rd_bool(in);
	p->forward = rd_u32(in);
	p->tunnel_modes = rd_u32(in);
	p->no_touch = rd_bool(in);
	p->verify_required = rd_bool(in);
	p->tunnel_unit = (int64_t)rd_u64(in);
	p->expires = (int64_t)rd_u64(in);
	get_command(in, p);
	if ((r = get_env(in, p)) != 0)
		return r;
	get_limit(in, &p->open);
	get_limit(in, &p->listen);
	if ((r = rd_err(in)) == 0)
		r = check(p);
	return r;
}
