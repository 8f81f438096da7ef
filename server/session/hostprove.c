/* SPDX-License-Identifier: ISC */
#include "server/session/hostprove.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "peer-version.h"
#include "server/session/session-calls.h"

/* Requests for proofs that are answered on one connection. Few, because
 * signatures take time. */
enum { ROUNDS_MAX = 16 };

struct hostprove {
	const struct serve_params *params;
	const struct kex *kex;
	int rounds;
};

static int
announce(const struct hostprove *h, struct channels *chs)
{
	const struct hostkeys *keys = h->params->keys;
	struct buf b = { 0 };
	int r;

	for (size_t i = 0; i < keys->n; i++)
		buf_put_string_buf(&b, &keys->v[i].public);
	if ((r = buf_err(&b)) == 0)
		r = channels_global_request(chs, "hostkeys-00@openssh.com", &b,
		    NULL, NULL);
	buf_clear(&b);
	return r;
}

/* The algorithm to sign with for RSA keys. If the key exchange agreed on one
 * for RSA, the client expects that one. Otherwise the client accepts any. */
static const char *
rsa_alg(const struct kex *k)
{
	const char *agreed = kex_result(k)->hostkey_alg;
	const struct key_alg *row = key_alg_by_cert_name(agreed);

	if (row == NULL)
		row = key_alg_by_name(agreed);
	return row != NULL && strcmp(row->key_type, "ssh-rsa") == 0 ?
	    row->name :
	    "rsa-sha2-512";
}

int
hostprove_answer(const struct service_owners *o, struct rd *data,
    struct buf *reply)
{
	struct hostprove *h = o->hostprove;
	struct buf signature = { 0 };
	size_t asked = 0;
	int r = 0;

	if (h->rounds == ROUNDS_MAX || serve_is_sftp_only(h->params))
		return CHANNEL_FAILURE;
	h->rounds++;
	while (data->len > 0 && r == 0) {
		struct span blob = rd_string(data);

		if ((r = rd_err(data)) != 0)
			break;
		if (asked++ == h->params->keys->n) /* a blob stands there
						    * twice */
			r = ERR_NOT_FOUND;
		buf_reset(&signature);
		if (r == 0)
			r = monitor_prove(h->params->monitor_fd,
			    rsa_alg(h->kex), blob, &signature);
		buf_put_string_buf(reply, &signature);
	}
	buf_clear(&signature);
	if (r == ERR_NOT_FOUND) {
		log_info("client wants proof of a host key that is not ours");
		return CHANNEL_FAILURE;
	}
	if (r == 0)
		r = buf_err(reply);
	if (r != 0)
		return r;
	return asked > 0 ? CHANNEL_SUCCESS : CHANNEL_FAILURE;
}

int
hostprove_new(struct hostprove **out, struct channels *chs,
    const struct kex *k, const struct serve_params *params)
{
	struct hostprove *h = xcalloc(1, sizeof *h);
	int r = 0;

	h->params = params;
	h->kex = k;
	/* Not told to logins that can run only SFTP, because the monitor gives
	 * them no proofs. */
	if (!(kex_peer_traits(k) & PEER_FAILS_ON_HOSTKEYS) &&
	    !serve_is_sftp_only(params))
		r = announce(h, chs);
	if (r != 0) {
		free(h);
		return r;
	}
	*out = h;
	return 0;
}

void
hostprove_free(struct hostprove *h)
{
	free(h);
}
