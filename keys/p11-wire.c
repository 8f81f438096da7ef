/* SPDX-License-Identifier: ISC */
#include "keys/p11-wire.h"

#include <stdlib.h>
#include <string.h>

#include "compat/bsd-mem.h"

enum { ALG_MAX = 64 };

/* ---- lists --------------------------------------------------------------- */

void
p11_list_clear(struct p11_list *l)
{
	for (size_t i = 0; i < l->n_keys; i++) {
		key_free(l->keys[i].key);
		free(l->keys[i].label);
	}
	for (size_t i = 0; i < l->n_tokens; i++)
		free(l->tokens[i].label);
	free(l->keys);
	free(l->tokens);
	*l = (struct p11_list){ 0 };
}

static bool
has_key(const struct p11_list *l, const struct key *k)
{
	for (size_t i = 0; i < l->n_keys; i++)
		if (key_equal_public(l->keys[i].key, k))
			return true;
	return false;
}

int
p11_list_add_key(struct p11_list *l, struct key *key, const char *label,
    uint32_t token)
{
	struct p11_key *v = NULL;
	char *copy = NULL;
	int r = ERR_NOMEM;

	if (has_key(l, key)) {
		key_free(key);
		return 0;
	}
	if (l->n_keys == P11_KEYS_MAX) {
		r = ERR_LIMIT;
		goto fail;
	}
	copy = strndup(label, P11_LABEL_MAX);
	v = reallocarray(l->keys, l->n_keys + 1, sizeof *v);
	if (v != NULL)
		l->keys = v;
	if (v == NULL || copy == NULL)
		goto fail;
	v[l->n_keys++] = (struct p11_key){ key, copy, token };
	return 0;
fail:
	free(copy);
	key_free(key);
	return r;
}

int
p11_list_add_token(struct p11_list *l, const char *label, bool wants_login,
    bool on_reader)
{
	struct p11_token *v;
	char *copy;

	if (l->n_tokens == P11_TOKENS_MAX)
		return ERR_LIMIT;
	v = reallocarray(l->tokens, l->n_tokens + 1, sizeof *v);
	if (v == NULL)
		return ERR_NOMEM;
	l->tokens = v;
	copy = strndup(label, P11_LABEL_MAX);
	if (copy == NULL)
		return ERR_NOMEM;
	v[l->n_tokens++] = (struct p11_token){ copy, wants_login, on_reader };
	return 0;
}

/* ---- requests ------------------------------------------------------------ */

int
p11_put_request(const struct p11_request *q, struct buf *out)
{
	buf_put_u8(out, q->op);
	buf_put_u8(out, q->pin_kind);
	buf_put_string(out, q->pin.p, q->pin.len);
	if (q->op == P11_LIST) {
		buf_put_cstring(out, q->provider);
		buf_put_u32(out, q->token);
	} else {
		buf_put_string(out, q->blob.p, q->blob.len);
		buf_put_cstring(out, q->alg);
		buf_put_string(out, q->data.p, q->data.len);
	}
	return buf_err(out);
}

int
p11_read_request(struct span body, struct p11_request *out)
{
	struct rd rd = rd_from_span(body);
	uint8_t op = rd_u8(&rd), kind = rd_u8(&rd);

	*out = (struct p11_request){ .op = (enum p11_op)op,
		.pin_kind = (enum p11_pin_kind)kind };
	out->pin = rd_string(&rd);
	if (kind > P11_PIN_ON_READER || out->pin.len > P11_PIN_MAX ||
	    (kind != P11_PIN_GIVEN && out->pin.len > 0))
		return ERR_FORMAT;
	switch (op) {
	case P11_LIST:
		out->provider = rd_cstring(&rd, P11_PATH_MAX);
		out->token = rd_u32(&rd);
		break;
	case P11_SIGN:
		out->blob = rd_string(&rd);
		out->alg = rd_cstring(&rd, ALG_MAX);
		out->data = rd_string(&rd);
		break;
	default:
		return ERR_UNSUPPORTED;
	}
	return rd_end(&rd);
}

void
p11_request_clear(struct p11_request *q)
{
	free(q->provider);
	free(q->alg);
	*q = (struct p11_request){ 0 };
}

/* ---- answers ------------------------------------------------------------- */

void
p11_put_head(struct buf *out, enum p11_op op, enum p11_status status)
{
	buf_put_u8(out, op);
	buf_put_u8(out, status);
}

int
p11_put_list(const struct p11_list *l, struct buf *out)
{
	size_t mark;
	int r = 0;

	buf_put_u32(out, (uint32_t)l->n_keys);
	for (size_t i = 0; r == 0 && i < l->n_keys; i++) {
		mark = buf_open_string(out);
		r = key_to_blob(l->keys[i].key, out);
		buf_close_string(out, mark);
		buf_put_cstring(out, l->keys[i].label);
		buf_put_u32(out, l->keys[i].token);
	}
	buf_put_u32(out, (uint32_t)l->n_tokens);
	for (size_t i = 0; i < l->n_tokens; i++) {
		buf_put_cstring(out, l->tokens[i].label);
		buf_put_bool(out, l->tokens[i].wants_login);
		buf_put_bool(out, l->tokens[i].on_reader);
	}
	return r != 0 ? r : buf_err(out);
}

int
p11_read_head(struct span body, enum p11_op op, struct rd *rd,
    enum p11_status *status)
{
	uint8_t told, code;

	*rd = rd_from_span(body);
	told = rd_u8(rd);
	code = rd_u8(rd);
	if (rd_err(rd) != 0)
		return rd_err(rd);
	if (told != op || code >= P11_STATUS_COUNT)
		return ERR_FORMAT;
	*status = (enum p11_status)code;
	return 0;
}

static int
read_key(struct rd *rd, struct p11_list *l)
{
	struct span blob = rd_string(rd);
	char *label = rd_cstring(rd, P11_LABEL_MAX);
	uint32_t token = rd_u32(rd);
	struct key *k = NULL;
	int r = rd_err(rd);

	if (r == 0)
		r = key_from_blob(blob, &k);
	if (r == 0 && key_is_cert(k))
		r = ERR_KEY_TYPE;
	if (r == 0)
		r = p11_list_add_key(l, k, label, token);
	else
		key_free(k);
	free(label);
	return r;
}

static int
read_token(struct rd *rd, struct p11_list *l)
{
	char *label = rd_cstring(rd, P11_LABEL_MAX);
	bool wants = rd_bool(rd), reader = rd_bool(rd);
	int r = rd_err(rd);

	if (r == 0)
		r = p11_list_add_token(l, label, wants, reader);
	free(label);
	return r;
}

/* ERR_FORMAT if a key names a token that is not in the list. */
static int
check_tokens(const struct p11_list *l)
{
	for (size_t i = 0; i < l->n_keys; i++)
		if (l->keys[i].token >= l->n_tokens)
			return ERR_FORMAT;
	return 0;
}

int
p11_read_list(struct rd *rd, struct p11_list *out)
{
	uint32_t n = rd_u32(rd);
	int r = n > P11_KEYS_MAX ? ERR_LIMIT : rd_err(rd);

	*out = (struct p11_list){ 0 };
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = read_key(rd, out);
	if (r == 0) {
		n = rd_u32(rd);
		r = n > P11_TOKENS_MAX ? ERR_LIMIT : rd_err(rd);
	}
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = read_token(rd, out);
	if (r == 0)
		r = rd_end(rd);
	if (r == 0)
		r = check_tokens(out);
	if (r != 0)
		p11_list_clear(out);
	return r;
}

int
p11_read_wanted(struct rd *rd, char **label, bool *on_reader)
{
	char *text = rd_cstring(rd, P11_LABEL_MAX);
	int r;

	*on_reader = rd_bool(rd);
	r = rd_end(rd);
	if (r == 0)
		*label = text;
	else
		free(text);
	return r;
}
