/* SPDX-License-Identifier: ISC */
#include "server/hostkeys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "keys/keyfile.h"

static int
load_one(struct hostkey *hk, const char *path, int min_rsa_bits)
{
	int r;

	buf_init(&hk->public);
	buf_init_secret(&hk->private);
	hk->key = NULL;
	r = keyfile_load_private(path, NULL, true, &hk->key, NULL);
	if (r == 0)
		r = key_check_length(hk->key, (unsigned)min_rsa_bits);
	if (r == 0)
		r = key_to_blob(hk->key, &hk->public);
	if (r == 0)
		r = key_private_to_wire(hk->key, &hk->private);
	if (r != 0) {
		key_free(hk->key);
		hk->key = NULL;
		buf_clear(&hk->public);
		buf_clear(&hk->private);
	}
	return r;
}

static void
report(const char *path, int r, int saved)
{
	if (r == ERR_PERMISSION) {
		log_error("Permissions for '%s' are too open: others can "
			  "read this private key, so it is not used.",
		    path);
		return;
	}
	errno = saved;
	log_error("Unable to load host key \"%s\": %s", path, err_text(r));
}

size_t
hostkeys_load(struct hostkeys *h, const struct strlist *paths, bool given,
    int min_rsa_bits)
{
	for (size_t i = 0; i < paths->n && h->n < HOSTKEYS_MAX; i++) {
		int r = load_one(&h->v[h->n], paths->v[i], min_rsa_bits);
		int saved = errno;

		if (r == 0)
			h->n++;
		else if (given || access(paths->v[i], F_OK) == 0)
			report(paths->v[i], r, saved);
	}
	return h->n;
}

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
	for (size_t i = 0; i < h->n; i++)
		buf_clear(&h->v[i].public);
	h->n = 0;
}

/* Key type in front of the public blob, against what alg is made with. */
static bool
serves(const struct hostkey *hk, const char *alg)
{
	const struct key_alg *row = key_alg_by_name(alg);
	struct rd r = rd_from_buf(&hk->public);
	struct span type = rd_string(&r);

	return row != NULL && rd_err(&r) == 0 &&
	    span_equals(type, row->key_type);
}

static const struct hostkey *
find(const struct hostkeys *h, const char *alg)
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

		if (find(h, alg) != NULL)
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
	const struct hostkey *hk = find(h, alg);

	if (hk == NULL)
		return ERR_NOT_FOUND;
	*blob = (struct span){ buf_data(&hk->public), buf_len(&hk->public) };
	return 0;
}

static int
sign_with(struct hostkey *hk, const char *alg, struct span data,
    struct buf *signature)
{
	int r;

	if (hk->key == NULL) {
		struct rd rd = rd_from_buf(&hk->private);

		if ((r = key_private_from_wire(&rd, &hk->key)) != 0)
			return r;
	}
	return key_sign(hk->key, alg, data, signature);
}

int
hostkeys_sign(struct hostkeys *h, const char *alg, struct span data,
    struct buf *signature)
{
	struct hostkey *hk = (struct hostkey *)(uintptr_t)find(h, alg);

	return hk != NULL ? sign_with(hk, alg, data, signature) :
			    ERR_NOT_FOUND;
}

static struct hostkey *
find_blob(struct hostkeys *h, struct span blob)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct buf *b = &h->v[i].public;

		if (buf_len(b) == blob.len &&
		    memcmp(buf_data(b), blob.p, blob.len) == 0)
			return &h->v[i];
	}
	return NULL;
}

int
hostkeys_prove(struct hostkeys *h, struct span blob, const char *rsa_alg,
    struct span session_id, struct buf *signature)
{
	struct hostkey *hk = find_blob(h, blob);
	struct rd r = rd_from_span(blob);
	struct span type = rd_string(&r);
	struct buf data = { 0 };
	char *alg;
	int err;

	if (hk == NULL)
		return ERR_NOT_FOUND;
	/* But for RSA the algorithm is called like the type. */
	alg = serves(hk, rsa_alg) ? xstrdup(rsa_alg) : span_dup(type);
	buf_put_cstring(&data, "hostkeys-prove-00@openssh.com");
	buf_put_string(&data, session_id.p, session_id.len);
	buf_put_string(&data, blob.p, blob.len);
	err = alg != NULL ? buf_err(&data) : ERR_NOMEM;
	if (err == 0)
		err = sign_with(hk, alg,
		    (struct span){ buf_data(&data), buf_len(&data) },
		    signature);
	buf_clear(&data);
	free(alg);
	return err;
}

void
hostkeys_export(const struct hostkeys *h, bool with_private, struct buf *out)
{
	buf_put_u32(out, (uint32_t)h->n);
	for (size_t i = 0; i < h->n; i++) {
		buf_put_string_buf(out, &h->v[i].public);
		if (with_private)
			buf_put_string_buf(out, &h->v[i].private);
		else
			buf_put_string(out, NULL, 0);
	}
}

int
hostkeys_import(struct hostkeys *h, struct rd *in)
{
	uint32_t n = rd_u32(in);

	if (n > HOSTKEYS_MAX)
		rd_fail(in, ERR_LIMIT);
	for (h->n = 0; h->n < n && rd_err(in) == 0; h->n++) {
		struct hostkey *hk = &h->v[h->n];
		struct span public = rd_string(in), private = rd_string(in);

		memset(hk, 0, sizeof *hk);
		buf_init(&hk->public);
		buf_init_secret(&hk->private);
		buf_put(&hk->public, public.p, public.len);
		buf_put(&hk->private, private.p, private.len);
	}
	return rd_err(in);
}
