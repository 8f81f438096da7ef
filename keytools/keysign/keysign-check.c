/* SPDX-License-Identifier: ISC */
#include "keytools/keysign/keysign-check.h"

#include <stdlib.h>
#include <string.h>

#include "base/local-name.h"
#include "keys/cert.h"

enum {
	USERAUTH_REQUEST = 50, /* SSH_MSG_USERAUTH_REQUEST */
	ALG_MAX = 256,
	NAME_MAX_BYTES = 1026, /* bytes of a host name with a dot at its end */
};

int
keysign_read(struct span request, struct span *data, const char **why)
{
	struct rd in = rd_from_span(request);
	uint8_t version = rd_u8(&in);
	uint32_t fd = rd_u32(&in);
	int r;

	*data = rd_string(&in);
	*why = "malformed request";
	if ((r = rd_end(&in)) != 0)
		return r;
	if (version != KEYSIGN_VERSION) {
		*why = "a request of another version";
		return ERR_UNSUPPORTED;
	}
	if (fd != KEYSIGN_CONNECTION_FD) {
		*why = "the connection is not where it has to be";
		return ERR_DENIED;
	}
	return 0;
}

/* ---- the data ---------------------------------------------------------- */

struct fields {
	struct span session_id, login, service, method, blob;
	uint8_t type;
	char *alg, *host, *user; /* owned */
};

static int
read_fields(struct span data, struct fields *f)
{
	struct rd in = rd_from_span(data);

	f->session_id = rd_string(&in);
	f->type = rd_u8(&in);
	f->login = rd_string(&in);
	f->service = rd_string(&in);
	f->method = rd_string(&in);
	f->alg = rd_cstring(&in, ALG_MAX);
	f->blob = rd_string(&in);
	f->host = rd_cstring(&in, NAME_MAX_BYTES);
	f->user = rd_cstring(&in, NAME_MAX_BYTES);
	return rd_end(&in);
}

static void
clear_fields(struct fields *f)
{
	free(f->alg);
	free(f->host);
	free(f->user);
}

/* True for the length of an exchange hash: of SHA-1, SHA-256, SHA-384 or
 * SHA-512. */
static bool
is_hash_length(size_t len)
{
	return len == 20 || len == 32 || len == 48 || len == 64;
}

static const char *
refusal(const struct fields *f, const struct keysign_facts *facts)
{
	if (!is_hash_length(f->session_id.len))
		return "no session identifier";
	if (f->type != USERAUTH_REQUEST || f->login.len == 0 ||
	    !span_equals(f->method, "hostbased"))
		return "no request for host-based authentication";
	if (!span_equals(f->service, "ssh-connection"))
		return "a request for another service";
	if (facts->host == NULL || !local_name_is(facts->host, f->host))
		return "the name is not this host's";
	if (strcmp(f->user, facts->user) != 0)
		return "the name is not the caller's";
	return NULL;
}

/* ---- the key ----------------------------------------------------------- */

/* The algorithm's name in signatures, for the name of a key or certificate
 * algorithm; NULL: there is no such algorithm. SHA-1 is allowed: it is in no
 * default list, so both user and server have asked for it by name. */
static const char *
signature_alg(const char *alg)
{
	const struct key_alg *row = key_alg_by_name(alg);

	if (row == NULL)
		row = key_alg_by_cert_name(alg);
	return row != NULL ? row->name : NULL;
}

static const struct key *
find_key(const struct keysign_facts *facts, const struct key *shown)
{
	for (size_t i = 0; i < facts->n; i++)
		if (facts->keys[i] != NULL &&
		    key_same_identity(facts->keys[i], shown))
			return facts->keys[i];
	return NULL;
}

static const char *
choose_key(const struct fields *f, const struct keysign_facts *facts,
    struct keysign_order *order)
{
	struct key *shown = NULL;
	const char *why = NULL;

	if (f->blob.len > CERT_BLOB_MAX ||
	    key_from_blob(f->blob, &shown) != 0)
		return "no key that is known here";
	order->alg = signature_alg(f->alg);
	order->key = find_key(facts, shown);
	if (order->alg == NULL || !key_serves(shown, f->alg))
		why = "no algorithm for this key";
	else if (order->key == NULL)
		why = "the key is not this host's";
	key_free(shown);
	return why;
}

int
keysign_check(struct span data, const struct keysign_facts *facts,
    struct keysign_order *order, const char **why)
{
	struct fields f = { 0 };

	*order = (struct keysign_order){ .data = data };
	*why = read_fields(data, &f) == 0 ? refusal(&f, facts) :
					    "malformed data";
	if (*why == NULL)
		*why = choose_key(&f, facts, order);
	clear_fields(&f);
	return *why == NULL ? 0 : ERR_DENIED;
}

int
keysign_answer(const struct keysign_order *order, struct buf *out)
{
	struct buf signature = { 0 };
	int r = key_sign(order->key, order->alg, order->data, &signature);
	size_t mark = buf_open_string(out);

	buf_put_u8(out, KEYSIGN_VERSION);
	buf_put_string_buf(out, &signature);
	buf_close_string(out, mark);
	buf_clear(&signature);
	return r != 0 ? r : buf_err(out);
}
