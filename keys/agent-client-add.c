/* SPDX-License-Identifier: ISC */
/*
 * Requests that change an agent: adding and removing keys (with their
 * constraints) and libraries of tokens, and locking it. Also agent_query(),
 * which asks an agent for the names of the extensions that it knows.
 */
#include "keys/agent-client-internal.h"

#include <stdlib.h>

enum { NAMES_MAX = 256, NAME_MAX_BYTES = 256 }; /* of agent_query()'s answer */

/* Sends the request and expects AGENT_SUCCESS. Returns ERR_AGENT if the agent
 * answers with failure. The answer has no content. The caller clears the
 * request, which may hold secrets. */
static int
demand(struct agent *a, const struct buf *request)
{
	struct buf answer = { 0 };
	struct rd rd;
	int r = buf_err(request);

	if (r == 0)
		r = agent_exchange(a, request, AGENT_SUCCESS, &answer, &rd);
	buf_clear(&answer);
	return r;
}

static int
put_blob(struct buf *b, const struct key *k)
{
	size_t mark = buf_open_string(b);
	int r = key_to_blob(k, b);

	buf_close_string(b, mark);
	return r;
}

/* ---- constraints -------------------------------------------------------- */

static bool
is_constrained(const struct agent_constraints *c)
{
	return c != NULL &&
	    (c->lifetime > 0 || c->confirm || c->sk_provider != NULL ||
		c->n_destinations > 0 || c->n_certs > 0);
}

static int
put_hop(struct buf *b, const struct agent_hop *hop)
{
	size_t mark = buf_open_string(b);
	int r = 0;

	buf_put_cstring(b, hop->user);
	buf_put_cstring(b, hop->host);
	buf_put_cstring(b, NULL); /* reserved */
	for (size_t i = 0; r == 0 && i < hop->n; i++) {
		r = put_blob(b, hop->keys[i].key);
		buf_put_bool(b, hop->keys[i].is_ca);
	}
	buf_close_string(b, mark);
	return r;
}

static int
put_destinations(struct buf *b, const struct agent_destination *v, size_t n)
{
	size_t list, one;
	int r = 0;

	if (n > AGENT_DESTINATIONS_MAX)
		return ERR_LIMIT;
	buf_put_u8(b, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(b, AGENT_CONSTRAIN_DESTINATIONS);
	list = buf_open_string(b);
	for (size_t i = 0; r == 0 && i < n; i++) {
		one = buf_open_string(b);
		r = put_hop(b, &v[i].from);
		if (r == 0)
			r = put_hop(b, &v[i].to);
		buf_put_cstring(b, NULL); /* reserved */
		buf_close_string(b, one);
	}
	buf_close_string(b, list);
	return r;
}

static int
put_certs(struct buf *b, const struct agent_constraints *c)
{
	size_t list;
	int r = 0;

	if (c->n_certs > AGENT_CERTS_MAX)
		return ERR_LIMIT;
	buf_put_u8(b, AGENT_CONSTRAIN_EXTENSION);
	buf_put_cstring(b, AGENT_CONSTRAIN_CERTS);
	buf_put_bool(b, c->certs_only);
	list = buf_open_string(b);
	for (size_t i = 0; r == 0 && i < c->n_certs; i++)
		r = put_blob(b, c->certs[i]);
	buf_close_string(b, list);
	return r;
}

/* The constraints have no order in the protocol. They are written in the order
 * that OpenSSH uses, too. */
static int
put_constraints(struct buf *b, const struct agent_constraints *c)
{
	int r = 0;

	if (c == NULL)
		return 0;
	if (c->lifetime > 0) {
		buf_put_u8(b, AGENT_CONSTRAIN_LIFETIME);
		buf_put_u32(b, c->lifetime);
	}
	if (c->confirm)
		buf_put_u8(b, AGENT_CONSTRAIN_CONFIRM);
	if (c->sk_provider != NULL) {
		buf_put_u8(b, AGENT_CONSTRAIN_EXTENSION);
		buf_put_cstring(b, AGENT_CONSTRAIN_SK_PROVIDER);
		buf_put_cstring(b, c->sk_provider);
	}
	if (c->n_destinations > 0)
		r = put_destinations(b, c->destinations, c->n_destinations);
	if (r == 0 && c->n_certs > 0)
		r = put_certs(b, c);
	return r;
}

/* ---- keys --------------------------------------------------------------- */

int
agent_add(struct agent *a, const struct key *k, const char *comment,
    const struct agent_constraints *constraints)
{
	struct buf request;
	int r;

	buf_init_secret(&request);
	buf_put_u8(&request, is_constrained(constraints) ?
		AGENT_ADD_CONSTRAINED : AGENT_ADD_IDENTITY);
	r = key_private_to_wire(k, &request);
	buf_put_cstring(&request, comment);
	if (r == 0)
		r = put_constraints(&request, constraints);
	if (r == 0)
		r = demand(a, &request);
	buf_clear(&request);
	return r;
}

int
agent_remove(struct agent *a, const struct key *k)
{
	struct buf request = { 0 };
	int r;

	buf_put_u8(&request, AGENT_REMOVE_IDENTITY);
	r = put_blob(&request, k);
	if (r == 0)
		r = demand(a, &request);
	buf_clear(&request);
	return r;
}

int
agent_remove_all(struct agent *a)
{
	struct buf request = { 0 };
	int r;

	buf_put_u8(&request, AGENT_REMOVE_ALL);
	r = demand(a, &request);
	buf_clear(&request);
	return r;
}

/* ---- libraries ---------------------------------------------------------- */

static int
demand_provider(struct agent *a, enum agent_message type, const char *library,
    const char *pin, const struct agent_constraints *constraints)
{
	struct buf request;
	int r;

	buf_init_secret(&request);
	buf_put_u8(&request, (uint8_t)type);
	buf_put_cstring(&request, library);
	buf_put_cstring(&request, pin);
	r = put_constraints(&request, constraints);
	if (r == 0)
		r = demand(a, &request);
	buf_clear(&request);
	return r;
}

int
agent_add_provider(struct agent *a, const char *library, const char *pin,
    const struct agent_constraints *constraints)
{
	return demand_provider(a,
	    is_constrained(constraints) ? AGENT_ADD_PROVIDER_CONSTRAINED :
					  AGENT_ADD_PROVIDER,
	    library, pin, constraints);
}

int
agent_remove_provider(struct agent *a, const char *library, const char *pin)
{
	return demand_provider(a, AGENT_REMOVE_PROVIDER, library, pin, NULL);
}

/* ---- the agent itself --------------------------------------------------- */

static int
demand_lock(struct agent *a, enum agent_message type, const char *passphrase)
{
	struct buf request;
	int r;

	buf_init_secret(&request);
	buf_put_u8(&request, (uint8_t)type);
	buf_put_cstring(&request, passphrase);
	r = demand(a, &request);
	buf_clear(&request);
	return r;
}

int
agent_lock(struct agent *a, const char *passphrase)
{
	return demand_lock(a, AGENT_LOCK, passphrase);
}

int
agent_unlock(struct agent *a, const char *passphrase)
{
	return demand_lock(a, AGENT_UNLOCK, passphrase);
}

static int
read_names(struct rd *rd, struct strlist *names)
{
	struct span about = rd_string(rd);
	char *name;
	int r = rd_err(rd);

	if (r == 0 && !span_equals(about, AGENT_EXT_QUERY))
		return ERR_PROTOCOL;
	for (size_t n = 0; r == 0 && rd->len > 0; n++) {
		if (n == NAMES_MAX)
			return ERR_LIMIT;
		name = rd_cstring(rd, NAME_MAX_BYTES);
		r = rd_err(rd);
		if (r == 0)
			r = strlist_add(names, name);
		free(name);
	}
	return r;
}

int
agent_query(struct agent *a, struct strlist *names)
{
	struct buf request = { 0 }, answer = { 0 };
	struct rd rd;
	int r;

	buf_put_u8(&request, AGENT_EXTENSION);
	buf_put_cstring(&request, AGENT_EXT_QUERY);
	r = buf_err(&request);
	if (r == 0)
		r = agent_exchange(a, &request, AGENT_EXTENSION_RESPONSE,
		    &answer, &rd);
	if (r == 0)
		r = read_names(&rd, names);
	buf_clear(&answer);
	buf_clear(&request);
	return r;
}
