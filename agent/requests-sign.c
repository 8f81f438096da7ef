/* SPDX-License-Identifier: ISC */
/*
 * Signing. After the user has confirmed a signature, the request runs again
 * from its beginning and everything is checked again: meanwhile keys may have
 * been removed or changed, or the agent locked.
 */
#include <string.h>
#include <time.h>

#include "agent/agent-internal.h"
#include "base/log.h"
#include "base/str.h"

/* The applications of FIDO keys for SSH. Keys for web sites have other
 * names. */
#define SSH_APPLICATIONS "ssh:*"

/* The algorithm that the key k should sign by, as the flags of the request say;
 * NULL: k has none. */
static const char *
choose_alg(const struct key *k, uint32_t flags)
{
	const char *rsa = "ssh-rsa", *name;
	const struct key_alg *row;

	if ((flags & AGENT_SIGN_RSA_SHA2_256) != 0)
		rsa = "rsa-sha2-256";
	else if ((flags & AGENT_SIGN_RSA_SHA2_512) != 0)
		rsa = "rsa-sha2-512";
	for (size_t i = 0; (row = key_alg_at(i)) != NULL; i++) {
		name = key_is_cert(k) ? row->cert_name : row->name;
		if (name != NULL && key_serves(k, name) &&
		    (strcmp(row->key_type, "ssh-rsa") != 0 ||
			strcmp(row->name, rsa) == 0))
			return name;
	}
	return NULL;
}

/* May the key sign this data? A FIDO key for a web site may sign only what is a
 * login or a file for SSH. Otherwise a client of the agent could log in to the
 * web site by it. */
static bool
is_websafe(const struct agentd *a, const struct identity *id,
    const struct sign_data *data)
{
	return id->application == NULL || a->p.websafe == NULL ||
	    str_match(id->application, SSH_APPLICATIONS) ||
	    str_match_list(id->application, a->p.websafe, false) == 1 ||
	    data->kind != SIGN_DATA_OTHER;
}

static const char *
refusal(const struct request *q, const struct identity *id,
    const struct sign_data *data)
{
	if (!is_websafe(q->a, id, data))
		return "it is neither a login nor a file";
	return destinations_refuse_signing(&id->destinations, &q->c->binds,
	    data, (uint64_t)time(NULL));
}

/* ---- here ---------------------------------------------------------------- */

static int
sign_here(struct request *q, const struct identity *id, const char *alg,
    struct span data)
{
	struct key *k = NULL;
	size_t mark;
	int r = sealed_key_open(q->a->shield, &id->secret, &k);

	buf_put_u8(q->answer, AGENT_SIGN_RESPONSE);
	mark = buf_open_string(q->answer);
	if (r == 0)
		r = key_sign(k, alg, data, q->answer);
	buf_close_string(q->answer, mark);
	key_free(k);
	return r != 0 ? r : buf_err(q->answer);
}

/* ---- by a signer --------------------------------------------------------- */

static void
on_signed(void *arg, int r, struct span signature)
{
	struct client *c = arg;
	struct buf answer = { 0 };

	c->waiting.job = NULL;
	if (r != 0) {
		log_info("a token did not sign: %s", err_text(r));
		client_fail(c);
		return;
	}
	buf_put_u8(&answer, AGENT_SIGN_RESPONSE);
	buf_put_string(&answer, signature.p, signature.len);
	client_answer(c, &answer);
	buf_clear(&answer);
}

static int
sign_by_signer(struct request *q, struct identity *id, const char *alg,
    struct span data)
{
	struct client *c = q->c;

	c->waiting.cancel = id->ops->cancel;
	return id->ops->sign(id->signer, alg, data, on_signed, c,
	    &c->waiting.job);
}

/* ---- the request --------------------------------------------------------- */

static enum outcome
sign_by(struct request *q, struct identity *id, const char *alg,
    struct span data)
{
	struct sign_data what;
	const char *why;
	bool asked = q->c->confirmed == id->serial, asks = false;
	int r;

	sign_data_read(data, id->key,
	    buf_span(&id->blob), &what);
	why = refusal(q, id, &what);
	if (why != NULL)
		log_info("%s does not sign: %s", id->comment, why);
	else if (id->confirm && !asked)
		asks = confirm_ask(q->c, id, &what);
	sign_data_clear(&what);
	if (asks)
		return WAITS;
	if (why != NULL || (id->confirm && !asked))
		return request_fail(q);
	if (id->ops != NULL) {
		r = sign_by_signer(q, id, alg, data);
		if (r == 0)
			return WAITS;
	} else {
		r = sign_here(q, id, alg, data);
	}
	if (r == 0)
		return ANSWERED;
	log_error("%s does not sign: %s", id->comment, err_text(r));
	buf_reset(q->answer);
	return request_fail(q);
}

enum outcome
request_sign(struct request *q)
{
	struct span blob = rd_string(&q->body), data = rd_string(&q->body);
	uint32_t flags = rd_u32(&q->body);
	struct identity *id = NULL;
	const char *alg = NULL;

	if (rd_end(&q->body) != 0 ||
	    (flags & ~(uint32_t)(AGENT_SIGN_RSA_SHA2_256 |
		AGENT_SIGN_RSA_SHA2_512)) != 0)
		return request_fail(q);
	id = identities_find(q->a->keys, blob);
	if (id != NULL)
		alg = choose_alg(id->key, flags);
	return alg != NULL ? sign_by(q, id, alg, data) : request_fail(q);
}
