/* SPDX-License-Identifier: ISC */
/* Signing with the host's keys, which only the monitor does. */
#include "server/hostkeys-internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/agent-client.h"
#include "keys/key.h"
#include "keys/sk-client.h"

static int
sign_by_agent(const struct hostkeys *h, const struct key *k, const char *alg,
    struct span data, unsigned wait_ms, struct buf *signature)
{
	struct agent *a = NULL;
	int r = agent_open_within(&a, h->agent, MAX(wait_ms, 1));

	if (r == 0)
		r = agent_sign(a, k, alg, data, signature);
	agent_close(a);
	if (r == 0)
		return 0;
	log_error("the agent of the host keys does not sign: %s", err_text(r));
	return ERR_AGENT;
}

/* A security key signs in another process, hpnssh-sk-helper, so that a library
 * that hangs or crashes does not harm this process. */
static int
sign_by_token(const struct hostkeys *h, const struct key *k, const char *alg,
    struct span data, unsigned wait_ms, struct buf *signature)
{
	const struct sk_params p = { .provider = h->provider,
		.limit_ms = MAX(wait_ms, 1) };
	int r = p.provider == NULL ?
	    ERR_SK_DEVICE : sk_client_sign(&p, k, alg, data, signature);

	if (r == 0)
		return 0;
	log_error("the security key of the host does not sign: %s",
	    err_text(r));
	return ERR_AGENT;
}

/* Signs with hk. alg is a name for plain keys, also where hk has a certificate:
 * signatures name only the plain algorithm. */
static int
sign_with(const struct hostkeys *h, struct hostkey *hk, const char *alg,
    struct span data, unsigned wait_ms, struct buf *signature)
{
	bool here = buf_len(&hk->private) > 0;
	int r;

	if (!here && h->agent == NULL)
		return ERR_NOT_FOUND;
	if (hk->key == NULL) {
		struct rd rd = rd_from_buf(here ? &hk->private : &hk->public);

		r = here ? key_private_from_wire(&rd, &hk->key) :
			   key_from_blob((struct span){ rd.p, rd.len },
			       &hk->key);
		if (r != 0)
			return r;
	}
	if (!here)
		return sign_by_agent(h, hk->key, alg, data, wait_ms,
		    signature);
	return key_sk(hk->key) != NULL ?
	    sign_by_token(h, hk->key, alg, data, wait_ms, signature) :
	    key_sign(hk->key, alg, data, signature);
}

int
hostkeys_sign(struct hostkeys *h, const char *alg, struct span data,
    unsigned wait_ms, struct buf *signature)
{
	struct hostkey *hk = (struct hostkey *)(uintptr_t)hostkeys_find(h, alg);
	const struct key_alg *row = key_alg_by_cert_name(alg);

	return hk != NULL ?
	    sign_with(h, hk, row != NULL ? row->name : alg, data, wait_ms,
		signature) :
	    ERR_NOT_FOUND;
}

int
hostkeys_prove(struct hostkeys *h, struct span blob, const char *rsa_alg,
    struct span session_id, unsigned wait_ms, struct buf *signature)
{
	struct hostkey *hk = hostkeys_find_blob(h, blob);
	struct rd r = rd_from_span(blob);
	struct span type = rd_string(&r);
	struct buf data = { 0 };
	char *alg;
	int err;

	if (hk == NULL)
		return ERR_NOT_FOUND;
	/* Only RSA keys have several algorithms. All others have one, with the
	 * same name as the type in the blob. */
	alg = hostkeys_serve_plain(hk, rsa_alg) ? xstrdup(rsa_alg) :
						  span_dup(type);
	buf_put_cstring(&data, "hostkeys-prove-00@openssh.com");
	buf_put_string(&data, session_id.p, session_id.len);
	buf_put_string(&data, blob.p, blob.len);
	err = alg != NULL ? buf_err(&data) : ERR_NOMEM;
	if (err == 0)
		err = sign_with(h, hk, alg,
		    buf_span(&data),
		    wait_ms, signature);
	buf_clear(&data);
	free(alg);
	return err;
}
