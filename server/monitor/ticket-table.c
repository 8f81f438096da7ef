/* SPDX-License-Identifier: ISC */
#include "server/monitor/ticket-table.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "crypto/digest.h"
#include "crypto/rand.h"
#include "server/monitor/ticket-rules.h"

#define LABEL "ticket@hpnssh.org"

static void
take_out(struct ticket_table *t, size_t i)
{
	t->v[i] = t->v[--t->n];
	explicit_bzero(&t->v[t->n], sizeof t->v[t->n]);
}

/* Derives the key of a ticket from its secret. */
static int
derive(const struct ticket_binding *b, char kind, const uint8_t *secret,
    uint8_t *key)
{
	struct buf text = { 0 };
	int r;

	buf_put(&text, LABEL, sizeof LABEL - 1);
	buf_put_u8(&text, (uint8_t)kind);
	buf_put_string(&text, b->session_id.p, b->session_id.len);
	buf_put_cstring(&text, b->user);
	buf_put_string(&text, b->hostkey.p, b->hostkey.len);
	if ((r = buf_err(&text)) == 0)
		r = digest_hmac(DIGEST_SHA256, secret, TICKET_SECRET_LEN,
		    buf_data(&text), buf_len(&text), key);
	buf_clear(&text);
	return r;
}

void
ticket_table_spend(struct ticket_table *t)
{
	t->instead = (struct ticket){ .kind = 0 };
}

static int
make(struct ticket *ticket, const struct ticket_binding *b, char kind,
    uint8_t serial[TICKET_SERIAL_LEN], uint8_t secret[TICKET_SECRET_LEN])
{
	rand_bytes(serial, TICKET_SERIAL_LEN);
	rand_bytes(secret, TICKET_SECRET_LEN);
	memcpy(ticket->serial, serial, sizeof ticket->serial);
	return derive(b, kind, secret, ticket->key);
}

int
ticket_table_mint(struct ticket_table *t, const struct ticket_binding *b,
    char kind, uint64_t end_ms, uint8_t serial[TICKET_SERIAL_LEN],
    uint8_t secret[TICKET_SECRET_LEN])
{
	bool beside = kind == TICKET_BESIDE;
	struct ticket *ticket = beside ? &t->v[t->n] : &t->instead;
	int r;

	if (beside && t->n == ARRAY_LEN(t->v))
		return ERR_LIMIT;
	if (!beside)
		ticket_table_spend(t);
	if ((r = make(ticket, b, kind, serial, secret)) != 0) {
		explicit_bzero(ticket, sizeof *ticket);
		return r;
	}
	ticket->end_ms = end_ms;
	ticket->kind = kind;
	t->n += beside;
	return 0;
}

/* Takes the ticket with that serial out of the table, also the one in
 * `instead`. */
static bool
find(struct ticket_table *t, struct span serial, struct ticket *found)
{
	if (serial.len != TICKET_SERIAL_LEN)
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (mem_equal_ct(t->v[i].serial, serial.p, serial.len)) {
			*found = t->v[i];
			take_out(t, i);
			return true;
		}
	if (t->instead.kind == 0 ||
	    !mem_equal_ct(t->instead.serial, serial.p, serial.len))
		return false;
	*found = t->instead;
	ticket_table_spend(t);
	return true;
}

enum ticket_verdict
ticket_table_redeem(struct ticket_table *t, struct span serial, char kind,
    struct span data, struct span proof, uint64_t now_ms)
{
	struct ticket found;
	uint8_t sum[TICKET_PROOF_LEN];
	enum ticket_verdict v;

	if (!find(t, serial, &found))
		return TICKET_UNKNOWN;
	if (now_ms >= found.end_ms)
		v = TICKET_EXPIRED;
	else if (found.kind != kind || proof.len != sizeof sum ||
	    digest_hmac(DIGEST_SHA256, found.key, sizeof found.key, data.p,
		data.len, sum) != 0 || !mem_equal_ct(sum, proof.p, sizeof sum))
		v = TICKET_WRONG;
	else
		v = TICKET_GOOD;
	if (v == TICKET_GOOD && kind == TICKET_INSTEAD)
		t->instead = found;
	explicit_bzero(&found, sizeof found);
	explicit_bzero(sum, sizeof sum);
	return v;
}

bool
ticket_table_has_instead(const struct ticket_table *t, uint64_t now_ms)
{
	return now_ms < t->instead.end_ms;
}

void
ticket_table_expire(struct ticket_table *t, uint64_t now_ms)
{
	for (size_t i = 0; i < t->n;)
		if (now_ms >= t->v[i].end_ms)
			take_out(t, i);
		else
			i++;
}

void
ticket_table_lose(struct ticket_table *t)
{
	explicit_bzero(t->v, sizeof t->v);
	t->n = 0;
}

void
ticket_table_clear(struct ticket_table *t)
{
	explicit_bzero(t, sizeof *t);
}
