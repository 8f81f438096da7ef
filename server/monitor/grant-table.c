/* SPDX-License-Identifier: ISC */
#include "server/monitor/grant-table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "crypto/rand.h"
#include "keys/key.h"

#define KEY_ALG "ssh-ed25519"

enum { ADDRESS_MAX = 64 };

/* ---- a request ---------------------------------------------------------- */

int
grant_request_get(struct rd *r, struct grant_request *q)
{
	int err;

	q->key = rd_string(r);
	if ((err = grant_scope_get(r, &q->scope)) != 0)
		return err;
	q->connections = rd_u32(r);
	q->begin_s = rd_u32(r);
	q->life_s = rd_u32(r);
	q->address = rd_cstring(r, ADDRESS_MAX);
	return rd_end(r);
}

void
grant_request_clear(struct grant_request *q)
{
	grant_scope_clear(&q->scope);
	free(q->address);
	q->address = NULL;
}

bool
grant_request_fits(const struct grant_request *q)
{
	struct key *k = NULL;
	bool fits = q->connections >= 1 &&
	    q->connections <= GRANT_CONNECTIONS_MAX && q->begin_s >= 1 &&
	    q->begin_s <= GRANT_BEGIN_MAX_S && q->life_s >= 1 &&
	    q->life_s <= GRANT_LIFE_MAX_S &&
	    key_from_blob(q->key, &k) == 0 && key_serves(k, KEY_ALG) &&
	    !key_is_cert(k);

	key_free(k);
	return fits;
}

/* ---- the table ---------------------------------------------------------- */

static void
take_out(struct grant_table *t, size_t i)
{
	struct grant *g = &t->v[i];

	buf_clear(&g->key);
	grant_scope_clear(&g->scope);
	free(g->address);
	*g = t->v[--t->n];
	memset(&t->v[t->n], 0, sizeof t->v[t->n]);
}

/* True if the grant is used up or has expired, or if its first connection did
 * not come in time. */
static bool
is_over(const struct grant *g, uint64_t now_ms)
{
	return now_ms >= g->end_ms || g->connections == 0 ||
	    (g->begin_ms != 0 && now_ms >= g->begin_ms);
}

/* Removes the grants that are over. */
static void
expire(struct grant_table *t, uint64_t now_ms)
{
	for (size_t i = t->n; i-- > 0;)
		if (is_over(&t->v[i], now_ms))
			take_out(t, i);
}

int
grant_table_mint(struct grant_table *t, const struct grant_request *q,
    uint64_t now_ms, uint8_t serial[TICKET_SERIAL_LEN])
{
	struct grant *g;
	int r;

	expire(t, now_ms);
	if (t->n == ARRAY_LEN(t->v))
		return ERR_LIMIT;
	g = &t->v[t->n];
	if ((r = grant_scope_copy(&g->scope, &q->scope)) != 0)
		return r;
	rand_bytes(g->serial, sizeof g->serial);
	memcpy(serial, g->serial, sizeof g->serial);
	buf_put(&g->key, q->key.p, q->key.len);
	g->address = xstrdup(q->address);
	g->connections = q->connections;
	g->begin_ms = now_ms + (uint64_t)q->begin_s * 1000;
	g->end_ms = now_ms + (uint64_t)q->life_s * 1000;
	t->n++;
	if ((r = buf_err(&g->key)) != 0)
		take_out(t, t->n - 1);
	return r;
}

static bool
is_signed(const struct grant *g, struct span data, struct span proof)
{
	struct key *k = NULL;
	bool good = key_from_blob(buf_span(&g->key), &k) == 0 &&
	    key_verify(k, KEY_ALG, data, proof) == 0;

	key_free(k);
	return good;
}

/* Takes an equal part for each of n connections out of a limit that holds for
 * all of them together; what cannot be divided goes to the first ones. */
static uint64_t
part_of(uint64_t *left, uint64_t n)
{
	uint64_t part = *left == UINT64_MAX ? *left :
	    *left / n + (*left % n != 0);

	if (part != UINT64_MAX)
		*left -= part;
	return part;
}

static void
take_part(struct grant *g, struct grant_limits *part)
{
	part->bytes = part_of(&g->scope.bytes, g->connections);
	part->files = part_of(&g->scope.files, g->connections);
	part->deletes = part_of(&g->scope.deletes, g->connections);
	g->connections--;
}

/* The place of a grant in the table; t->n: it is not there. */
static size_t
find(const struct grant_table *t, struct span serial)
{
	size_t i = 0;

	while (i < t->n && (serial.len != sizeof t->v[i].serial ||
			       memcmp(t->v[i].serial, serial.p,
				   serial.len) != 0))
		i++;
	return i;
}

enum rendezvous_verdict
grant_table_redeem(struct grant_table *t, struct span serial,
    struct span data, struct span proof, struct span address, uint64_t now_ms,
    const struct grant **out)
{
	size_t i = find(t, serial);
	struct grant *g = &t->v[i];

	if (i == t->n)
		return RENDEZVOUS_UNKNOWN;
	if (!is_signed(g, data, proof)) {
		take_out(t, i);
		return RENDEZVOUS_WRONG;
	}
	if (is_over(g, now_ms))
		return RENDEZVOUS_EXPIRED;
	if (g->address[0] != '\0' && !span_equals(address, g->address))
		return RENDEZVOUS_ADDRESS;
	take_part(g, &g->part);
	g->begin_ms = 0;
	*out = g;
	return RENDEZVOUS_GOOD;
}

void
grant_table_end(struct grant_table *t, struct span serial)
{
	size_t i = find(t, serial);

	if (i < t->n)
		take_out(t, i);
}

void
grant_table_clear(struct grant_table *t)
{
	while (t->n > 0)
		take_out(t, t->n - 1);
}
