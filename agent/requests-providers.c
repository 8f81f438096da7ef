/* SPDX-License-Identifier: ISC */
/* The requests that add and remove the keys of a library for tokens
 * (PKCS#11). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/providers.h"
#include "base/log.h"
#include "base/mem.h"

/* A request to add a provider, while its library is being opened. */
struct adding {
	struct client *c;
	struct provider *provider;
	char *path;
	struct constraints constraints; /* for each of the provider's keys */
	size_t cost;	/* bytes of the constraints */
};

static void
adding_free(struct adding *w)
{
	constraints_clear(&w->constraints);
	free(w->path);
	free(w);
}

static void
adding_cancel(void *job)
{
	struct adding *w = job;

	provider_close(w->provider);
	adding_free(w);
}

/* ---- keys ---------------------------------------------------------------- */

/* Adds the key from, shown to clients as the key shown (which may be a
 * certificate). Returns whether it was added: a key that the agent has already
 * stays as it is. */
static bool
add_entry(const struct adding *w, const struct p11_key *from,
    const struct key *shown)
{
	struct agentd *a = w->c->a;
	struct identity *id = NULL;
	int r = identity_new(shown, &id);

	if (r == 0 && identities_find(a->keys, buf_span(&id->blob)) != NULL) {
		identity_free(id);
		return false;
	}
	if (r == 0) {
		id->cost = w->cost + buf_len(&id->blob);
		id->comment = strdup(*from->label != '\0' ? from->label :
							    w->path);
		r = id->comment == NULL ? ERR_NOMEM : 0;
	}
	if (r == 0)
		r = provider_hold(w->provider, from->key, id);
	if (r == 0)
		r = request_constrain(a, &w->constraints, id);
	if (r == 0)
		r = identities_add(a->keys, id);
	else
		identity_free(id);
	if (r != 0)
		log_info("a key of %s was not added: %s", w->path,
		    err_text(r));
	return r == 0;
}

static size_t
add_key(const struct adding *w, const struct p11_key *k)
{
	const struct constraints *c = &w->constraints;
	size_t n = 0;

	for (size_t i = 0; i < c->n_certs; i++)
		if (key_equal_public(key_identity(c->certs[i]), k->key))
			n += add_entry(w, k, c->certs[i]);
	if (!c->certs_only)
		n += add_entry(w, k, k->key);
	return n;
}

/* ---- adding -------------------------------------------------------------- */

static void
on_opened(void *arg, int r, struct provider *p, const struct p11_list *list)
{
	struct adding *w = arg;
	struct client *c = w->c;
	struct buf answer = { 0 };
	size_t n = 0;

	(void)p;
	c->waiting.job = NULL;
	if (r == 0 && shield_is_locked(c->a->shield))
		r = ERR_DENIED;
	for (size_t i = 0; r == 0 && i < list->n_keys; i++)
		n += add_key(w, &list->keys[i]);
	if (r != 0)
		log_info("provider %s: %s", w->path, err_text(r));
	else
		log_debug("provider %s: %zu added", w->path, n);
	adding_free(w);
	buf_put_u8(&answer, n > 0 ? AGENT_SUCCESS : AGENT_FAILURE);
	client_answer(c, &answer);
	buf_clear(&answer);
}

static int
begin(struct request *q, const char *name, const char *pin)
{
	struct adding *w = calloc(1, sizeof *w);
	int r;

	if (w == NULL)
		return ERR_NOMEM;
	w->c = q->c;
	w->cost = q->body.len;
	/* Bad constraints are found before the PIN is sent to a token. */
	r = constraints_parse(&q->body, CONSTRAINTS_OF_PROVIDER,
	    &w->constraints);
	if (r == 0)
		r = provider_admit(q, name, &w->path);
	if (r == 0)
		r = provider_open(q->a, w->path, pin, on_opened, w,
		    &w->provider);
	if (r != 0) {
		adding_free(w);
		return r;
	}
	q->c->waiting.job = w;
	q->c->waiting.cancel = adding_cancel;
	return 0;
}

enum outcome
request_add_provider(struct request *q)
{
	char *name = rd_cstring(&q->body, PATH_MAX);
	char *pin = rd_cstring(&q->body, P11_PIN_MAX);
	int r = rd_err(&q->body);

	if (r == 0 && q->type == AGENT_ADD_PROVIDER)
		r = rd_end(&q->body);
	if (r == 0)
		r = begin(q, name, pin);
	free(name);
	if (pin != NULL)
		mem_free_secret(pin, strlen(pin));
	if (r == 0)
		return WAITS;
	log_info("a provider was not added: %s", err_text(r));
	return request_fail(q);
}

/* ---- removing ------------------------------------------------------------ */

/* Removes the keys of a provider. The PIN is not checked: removing keys reveals
 * nothing. */
enum outcome
request_remove_provider(struct request *q)
{
	char *name = rd_cstring(&q->body, PATH_MAX), *path = NULL;
	size_t n = 0;

	(void)rd_string(&q->body);
	if (rd_end(&q->body) == 0)
		path = provider_path(name);
	if (path != NULL)
		n = identities_remove_provider(q->a->keys, path);
	log_debug("removed %zu keys of a provider", n);
	free(path);
	free(name);
	return n > 0 ? request_succeed(q) : request_fail(q);
}
