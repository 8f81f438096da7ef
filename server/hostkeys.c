/* SPDX-License-Identifier: ISC */
#include "server/hostkeys-internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "keys/sk-client.h"

void
hostkeys_forget_private(struct hostkeys *h)
{
	for (size_t i = 0; i < h->n; i++) {
		key_free(h->v[i].key);
		h->v[i].key = NULL;
		buf_clear(&h->v[i].private);
	}
}

void
hostkeys_clear(struct hostkeys *h)
{
	hostkeys_forget_private(h);
	for (size_t i = 0; i < h->n; i++) {
		buf_clear(&h->v[i].public);
		buf_clear(&h->v[i].cert);
	}
	free(h->agent);
	free(h->provider);
	h->agent = h->provider = NULL;
	h->n = 0;
}

/* Whether the blob is of the key type `wanted`. */
static bool
has_type(const struct buf *blob, const char *wanted)
{
	struct rd r = rd_from_buf(blob);
	struct span type = rd_string(&r);

	return rd_err(&r) == 0 && span_equals(type, wanted);
}

bool
hostkeys_serve_plain(const struct hostkey *hk, const char *alg)
{
	const struct key_alg *row = key_alg_by_name(alg);

	return row != NULL && sk_can_sign(alg) &&
	    has_type(&hk->public, row->key_type);
}

static bool
serves(const struct hostkey *hk, const char *alg)
{
	const struct key_alg *row = key_alg_by_cert_name(alg);

	if (row == NULL)
		return hostkeys_serve_plain(hk, alg);
	return sk_can_sign(row->name) && has_type(&hk->cert, row->cert_type);
}

const struct hostkey *
hostkeys_find(const struct hostkeys *h, const char *alg)
{
	for (size_t i = 0; i < h->n; i++)
		if (serves(&h->v[i], alg))
			return &h->v[i];
	return NULL;
}

char *
hostkeys_algs(const struct hostkeys *h, const char *wanted)
{
	const char *pos = wanted, *name;
	struct buf out = { 0 };
	char *list;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		char *alg = xstrndup(name, len);

		if (hostkeys_find(h, alg) != NULL)
			buf_printf(&out, "%s%s", buf_len(&out) > 0 ? "," : "",
			    alg);
		free(alg);
	}
	list = buf_dup_string(&out);
	buf_clear(&out);
	if (list == NULL)
		fatal("out of memory");
	return list;
}

int
hostkeys_blob(const struct hostkeys *h, const char *alg, struct span *blob)
{
	const struct hostkey *hk = hostkeys_find(h, alg);
	const struct buf *b;

	if (hk == NULL)
		return ERR_NOT_FOUND;
	b = key_alg_by_cert_name(alg) != NULL ? &hk->cert : &hk->public;
	*blob = buf_span(b);
	return 0;
}

static bool
is_blob(const struct buf *b, struct span blob)
{
	return buf_len(b) == blob.len && blob.len > 0 &&
	    memcmp(buf_data(b), blob.p, blob.len) == 0;
}

bool
hostkeys_own(const struct hostkeys *h, struct span blob)
{
	bool own = false;

	for (size_t i = 0; i < h->n; i++)
		own |= is_blob(&h->v[i].public, blob) ||
		    is_blob(&h->v[i].cert, blob);
	return own;
}

struct hostkey *
hostkeys_find_blob(struct hostkeys *h, struct span blob)
{
	for (size_t i = 0; i < h->n; i++)
		if (is_blob(&h->v[i].public, blob))
			return &h->v[i];
	return NULL;
}

void
hostkeys_export(const struct hostkeys *h, struct buf *out)
{
	buf_put_cstring(out, h->agent);
	buf_put_cstring(out, h->provider);
	buf_put_u32(out, (uint32_t)h->n);
	for (size_t i = 0; i < h->n; i++) {
		buf_put_string_buf(out, &h->v[i].public);
		buf_put_string_buf(out, &h->v[i].private);
		buf_put_string_buf(out, &h->v[i].cert);
	}
}

void
hostkeys_export_public(const struct hostkeys *h, struct buf *out)
{
	buf_put_cstring(out, "");
	buf_put_cstring(out, "");
	buf_put_u32(out, (uint32_t)h->n);
	for (size_t i = 0; i < h->n; i++) {
		buf_put_string_buf(out, &h->v[i].public);
		buf_put_cstring(out, "");
		buf_put_string_buf(out, &h->v[i].cert);
	}
}

/* Reads a path that hostkeys_export() wrote; NULL: it is empty. */
static char *
import_path(struct rd *in)
{
	char *path = rd_cstring(in, PATH_MAX);

	if (path != NULL && path[0] == '\0') {
		free(path);
		path = NULL;
	}
	return path;
}

int
hostkeys_import(struct hostkeys *h, struct rd *in)
{
	uint32_t n;

	h->agent = import_path(in);
	h->provider = import_path(in);
	n = rd_u32(in);
	if (n > HOSTKEYS_MAX)
		rd_fail(in, ERR_LIMIT);
	for (h->n = 0; h->n < n && rd_err(in) == 0; h->n++) {
		struct hostkey *hk = &h->v[h->n];
		struct span public = rd_string(in), private = rd_string(in);
		struct span cert = rd_string(in);

		memset(hk, 0, sizeof *hk);
		buf_init_secret(&hk->private);
		buf_put(&hk->public, public.p, public.len);
		buf_put(&hk->private, private.p, private.len);
		buf_put(&hk->cert, cert.p, cert.len);
	}
	return rd_err(in);
}
