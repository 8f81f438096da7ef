/* SPDX-License-Identifier: ISC */
/* The requests that list, add and remove keys. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/fido-keys.h"
#include "agent/providers.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum { COMMENT_MAX = 64 * 1024 };

static const char *
refusal(const struct request *q, const struct identity *id)
{
	return destinations_refuse(&id->destinations, &q->c->binds,
	    (uint64_t)time(NULL));
}

/* ---- the list ------------------------------------------------------------ */

enum outcome
request_list(struct request *q)
{
	struct identity *id = NULL;
	struct buf entries = { 0 };
	uint32_t n = 0;

	if (!shield_is_locked(q->a->shield))
		id = identities_first(q->a->keys);
	for (; id != NULL; id = id->next) {
		if (refusal(q, id) != NULL)
			continue;
		buf_put_string_buf(&entries, &id->blob);
		buf_put_cstring(&entries, id->comment);
		n++;
	}
	buf_put_u8(q->answer, AGENT_IDENTITIES_ANSWER);
	buf_put_u32(q->answer, n);
	buf_put_buf(q->answer, &entries);
	buf_clear(&entries);
	return ANSWERED;
}

/* ---- adding -------------------------------------------------------------- */

int
request_constrain(const struct agentd *a, const struct constraints *c,
    struct identity *id)
{
	uint64_t lifetime_s = c->has_lifetime ? c->lifetime_s :
						a->p.lifetime_s;

	if (c->has_lifetime || lifetime_s > 0)
		id->expires_ms = clock_boot_ms() + lifetime_s * 1000;
	id->confirm = c->confirm;
	return destinations_copy(&c->destinations, &id->destinations);
}

/* Lets id sign by the FIDO key k. Without a provider in the request, the
 * built-in one is used. */
static int
hold_fido(struct request *q, const struct key *k, const char *provider,
    struct identity *id)
{
	char *path = NULL;
	int r;

	if (provider == NULL || strcmp(provider, "internal") == 0)
		return fido_hold(q->a, k, "internal", id);
	r = provider_admit(q, provider, &path);
	if (r == 0)
		r = fido_hold(q->a, k, path, id);
	free(path);
	return r;
}

static int
hold(struct request *q, const struct key *k, const char *provider,
    struct identity *id)
{
	if (key_sk(k) != NULL)
		return hold_fido(q, k, provider, id);
	return provider != NULL ?
	    ERR_KEY_TYPE :
	    sealed_key_make(q->a->shield, k, &id->secret);
}

/* Reads the rest of the request: key, comment and constraints. */
static int
read_identity(struct request *q, struct identity **out)
{
	size_t cost = q->body.len;
	struct constraints c = { 0 };
	struct identity *id = NULL;
	struct key *k = NULL;
	int r;

	r = key_private_from_wire(&q->body, &k);
	if (r == 0)
		r = identity_new(k, &id);
	if (r == 0) {
		id->cost = cost;
		id->comment = rd_cstring(&q->body, COMMENT_MAX);
		r = rd_err(&q->body);
	}
	if (r == 0)
		r = constraints_parse(&q->body, CONSTRAINTS_OF_KEY, &c);
	if (r == 0)
		r = hold(q, k, c.sk_provider, id);
	if (r == 0)
		r = request_constrain(q->a, &c, id);
	constraints_clear(&c);
	key_free(k);
	if (r == 0)
		*out = id;
	else
		identity_free(id);
	return r;
}

enum outcome
request_add(struct request *q)
{
	struct identity *id = NULL, *old;
	const char *why;
	int r = read_identity(q, &id);

	if (r != 0) {
		log_info("a key was not added: %s", err_text(r));
		return request_fail(q);
	}
	old = identities_find(q->a->keys,
	    buf_span(&id->blob));
	/* A client that may not use a key may not replace it, because that
	 * would change the key's constraints. */
	if (old != NULL && (why = refusal(q, old)) != NULL) {
		log_info("a key was not added once more: %s", why);
		identity_free(id);
		return request_fail(q);
	}
	r = identities_add(q->a->keys, id);
	if (r != 0) {
		log_info("a key was not added: there are too many");
		return request_fail(q);
	}
	log_debug("added %s: %s%s%s", key_type(id->key), id->comment,
	    id->confirm ? ", each use confirmed" : "",
	    id->destinations.n > 0 ? ", for some destinations" : "");
	return request_succeed(q);
}

/* ---- removing ------------------------------------------------------------ */

enum outcome
request_remove(struct request *q)
{
	struct span blob = rd_string(&q->body);
	struct identity *id = NULL;
	const char *why;

	if (rd_end(&q->body) == 0)
		id = identities_find(q->a->keys, blob);
	if (id == NULL)
		return request_fail(q);
	if ((why = refusal(q, id)) != NULL) {
		log_info("a key was not removed: %s", why);
		return request_fail(q);
	}
	log_debug("removed %s: %s", key_type(id->key), id->comment);
	identities_remove(q->a->keys, id);
	return request_succeed(q);
}

/* Any client may remove all keys, also those that it may not use: that reveals
 * nothing and cannot be abused to sign. */
enum outcome
request_remove_all(struct request *q)
{
	agentd_remove_keys(q->a);
	log_debug("removed all keys");
	return request_succeed(q);
}
