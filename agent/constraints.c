/* SPDX-License-Identifier: ISC */
#include "agent/constraints.h"

#include <limits.h>
#include <stdlib.h>

#include "base/mem.h"
#include "keys/agent-wire.h"
#include "keys/cert.h"

static int
read_lifetime(struct rd *rd, struct constraints *c)
{
	c->has_lifetime = true;
	c->lifetime_s = rd_u32(rd);
	return rd_err(rd);
}

static int
read_confirm(struct rd *rd, struct constraints *c)
{
	c->confirm = true;
	return rd_err(rd);
}

static int
read_destinations(struct rd *rd, struct constraints *c)
{
	struct rd list = rd_sub(rd);
	int r = rd_err(rd);

	return r != 0 ? r : destinations_parse(list, &c->destinations);
}

static int
read_sk_provider(struct rd *rd, struct constraints *c)
{
	c->sk_provider = rd_cstring(rd, PATH_MAX);
	if (rd_err(rd) != 0)
		return rd_err(rd);
	return *c->sk_provider == '\0' ? ERR_FORMAT : 0;
}

static int
read_certs(struct rd *rd, struct constraints *c)
{
	struct rd list;
	struct span blob;
	struct key *k;
	int r;

	c->certs_only = rd_bool(rd);
	list = rd_sub(rd);
	if ((r = rd_err(rd)) != 0)
		return r;
	c->certs = calloc(AGENT_CERTS_MAX, sizeof *c->certs);
	if (c->certs == NULL)
		return ERR_NOMEM;
	while (list.len > 0) {
		blob = rd_string(&list);
		if ((r = rd_err(&list)) != 0)
			return r;
		if (c->n_certs == AGENT_CERTS_MAX)
			return ERR_LIMIT;
		if ((r = key_from_blob(blob, &k)) != 0)
			return r;
		c->certs[c->n_certs++] = k;
		if (!key_is_cert(k))
			return ERR_KEY_TYPE;
	}
	return rd_err(&list);
}

/* All constraints that are known here. An extension is recognized by its name,
 * which follows the number AGENT_CONSTRAIN_EXTENSION. */
static const struct constraint {
	uint8_t number;
	const char *name; /* NULL: the constraint is no extension */
	bool of_keys, of_providers;
	int (*read)(struct rd *rd, struct constraints *c);
} table[] = {
	{ AGENT_CONSTRAIN_LIFETIME, NULL, true, true, read_lifetime },
	{ AGENT_CONSTRAIN_CONFIRM, NULL, true, true, read_confirm },
	{ AGENT_CONSTRAIN_EXTENSION, AGENT_CONSTRAIN_DESTINATIONS, true, true,
	    read_destinations },
	{ AGENT_CONSTRAIN_EXTENSION, AGENT_CONSTRAIN_SK_PROVIDER, true, false,
	    read_sk_provider },
	{ AGENT_CONSTRAIN_EXTENSION, AGENT_CONSTRAIN_CERTS, false, true,
	    read_certs },
};

/* Reads the number and the name of the next constraint. Returns its row; NULL
 * if it is unknown or malformed. */
static const struct constraint *
find(struct rd *rd)
{
	uint8_t number = rd_u8(rd);
	struct span name = { 0 };

	if (number == AGENT_CONSTRAIN_EXTENSION)
		name = rd_string(rd);
	for (size_t i = 0; rd_err(rd) == 0 && i < ARRAY_LEN(table); i++)
		if (table[i].number == number &&
		    (table[i].name == NULL || span_equals(name, table[i].name)))
			return &table[i];
	return NULL;
}

int
constraints_parse(struct rd *rd, enum constraints_for what,
    struct constraints *out)
{
	const struct constraint *c;
	unsigned seen = 0, bit;
	int r;

	*out = (struct constraints){ 0 };
	while (rd->len > 0) {
		if ((c = find(rd)) == NULL)
			return rd_err(rd) != 0 ? rd_err(rd) : ERR_UNSUPPORTED;
		bit = 1U << (c - table);
		if ((seen & bit) != 0 ||
		    !(what == CONSTRAINTS_OF_KEY ? c->of_keys :
						   c->of_providers))
			return ERR_FORMAT;
		seen |= bit;
		if ((r = c->read(rd, out)) != 0)
			return r;
	}
	return rd_err(rd);
}

void
constraints_clear(struct constraints *c)
{
	destinations_clear(&c->destinations);
	free(c->sk_provider);
	for (size_t i = 0; i < c->n_certs; i++)
		key_free(c->certs[i]);
	free(c->certs);
	*c = (struct constraints){ 0 };
}
