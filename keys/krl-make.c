/* SPDX-License-Identifier: ISC */
/* Makes key revocation lists (KRLs): collects what is to be revoked, sorts it
 * and writes it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "keys/krl-internal.h"
#include "keys/krl.h"

/* A growing array of byte strings, each of them owned. */
struct pieces {
	struct piece {
		uint8_t *p;
		size_t len;
	} *v;
	size_t n;
};

/* The revoked certificates of one authority. */
struct certs {
	struct piece ca; /* the authority's key blob; empty: the certificates of
			  * any authority */
	struct krl_range *ranges;
	size_t n;
	struct pieces ids;
};

struct krl {
	struct certs *certs;
	size_t n;
	struct pieces keys, sha1, sha256;
};

int
krl_new(struct krl **out)
{
	*out = calloc(1, sizeof **out);
	return *out != NULL ? 0 : ERR_NOMEM;
}

static void
pieces_clear(struct pieces *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].p);
	free(l->v);
}

void
krl_free(struct krl *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->certs[i].ca.p);
		free(l->certs[i].ranges);
		pieces_clear(&l->certs[i].ids);
	}
	free(l->certs);
	pieces_clear(&l->keys);
	pieces_clear(&l->sha1);
	pieces_clear(&l->sha256);
	free(l);
}

/* Makes room for one more element in an array of n: the room doubles when n is
 * a power of two. Returns the array, or NULL if memory is out. */
static void *
grow(void *v, size_t n, size_t size)
{
	if ((n & (n - 1)) != 0)
		return v;
	return reallocarray(v, n == 0 ? 1 : 2 * n, size);
}

static int
copy(struct piece *to, struct span from)
{
	to->p = malloc(from.len > 0 ? from.len : 1);
	if (to->p == NULL)
		return ERR_NOMEM;
	if (from.len > 0)
		memcpy(to->p, from.p, from.len);
	to->len = from.len;
	return 0;
}

static int
add_piece(struct pieces *l, struct span s)
{
	struct piece *v = grow(l->v, l->n, sizeof *v);

	if (v == NULL)
		return ERR_NOMEM;
	l->v = v;
	if (copy(&v[l->n], s) != 0)
		return ERR_NOMEM;
	l->n++;
	return 0;
}

static int
compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = memcmp(x->p, y->p, MIN(x->len, y->len));

	if (c != 0)
		return c;
	return x->len < y->len ? -1 : x->len > y->len;
}

/* Sets *out to the certificates of the authority; an authority that is new is
 * added to l. */
static int
certs_of(struct krl *l, struct span ca, struct certs **out)
{
	struct piece wanted = { (uint8_t *)(uintptr_t)ca.p, ca.len };
	struct certs *v;

	for (size_t i = 0; i < l->n; i++) {
		if (l->certs[i].ca.len == ca.len &&
		    (ca.len == 0 ||
			compare_pieces(&l->certs[i].ca, &wanted) == 0)) {
			*out = &l->certs[i];
			return 0;
		}
	}
	v = grow(l->certs, l->n, sizeof *v);
	if (v == NULL)
		return ERR_NOMEM;
	l->certs = v;
	v[l->n] = (struct certs){ .n = 0 };
	if (copy(&v[l->n].ca, ca) != 0)
		return ERR_NOMEM;
	*out = &v[l->n++];
	return 0;
}

static int
add_serials(struct krl *l, struct span ca, uint64_t first, uint64_t last)
{
	struct certs *c;
	struct krl_range *v;
	int r = certs_of(l, ca, &c);

	if (r != 0)
		return r;
	v = grow(c->ranges, c->n, sizeof *v);
	if (v == NULL)
		return ERR_NOMEM;
	c->ranges = v;
	v[c->n++] = (struct krl_range){ first, last };
	return 0;
}

static int
add_id(struct krl *l, struct span ca, struct span id)
{
	struct certs *c;
	int r = certs_of(l, ca, &c);

	return r == 0 ? add_piece(&c->ids, id) : r;
}

int
krl_add_serials(struct krl *l, const struct key *ca, uint64_t first,
    uint64_t last)
{
	struct buf blob = { 0 };
	int r = ca != NULL ? key_to_blob(ca, &blob) : 0;

	if (first > last)
		r = ERR_ARGUMENT;
	if (r == 0)
		r = add_serials(l, buf_span(&blob), first, last);
	buf_clear(&blob);
	return r;
}

int
krl_add_id(struct krl *l, const struct key *ca, struct span id)
{
	struct buf blob = { 0 };
	int r = ca != NULL ? key_to_blob(ca, &blob) : 0;

	if (r == 0)
		r = add_id(l, buf_span(&blob), id);
	buf_clear(&blob);
	return r;
}

int
krl_add_key(struct krl *l, const struct key *k)
{
	struct buf blob = { 0 };
	int r = key_to_blob(key_identity(k), &blob);

	if (r == 0)
		r = add_piece(&l->keys, buf_span(&blob));
	buf_clear(&blob);
	return r;
}

int
krl_add_digest_of(struct krl *l, const struct key *k, enum digest_alg alg)
{
	uint8_t digest[DIGEST_MAX_LEN];
	struct buf blob = { 0 };
	int r = key_to_blob(key_identity(k), &blob);

	if (r == 0)
		r = digest_once(alg, buf_data(&blob), buf_len(&blob), digest);
	if (r == 0)
		r = add_piece(alg == DIGEST_SHA1 ? &l->sha1 : &l->sha256,
		    (struct span){ digest, digest_len(alg) });
	buf_clear(&blob);
	return r;
}

int
krl_add_sha256(struct krl *l, struct span digest)
{
	if (digest.len != digest_len(DIGEST_SHA256))
		return ERR_FORMAT;
	return add_piece(&l->sha256, digest);
}

static int
add_item(void *arg, const struct krl_item *item)
{
	struct krl *l = arg;

	switch (item->what) {
	case KRL_SERIALS:
		return add_serials(l, item->ca, item->first, item->last);
	case KRL_ID:
		return add_id(l, item->ca, item->bytes);
	case KRL_KEY:
		return add_piece(&l->keys, item->bytes);
	case KRL_SHA1:
		return add_piece(&l->sha1, item->bytes);
	case KRL_SHA256:
		return add_piece(&l->sha256, item->bytes);
	}
	return ERR_INTERNAL;
}

int
krl_add_all(struct krl *l, struct span content, struct krl_header *header)
{
	return krl_read(content, header, add_item, l);
}

/* ---- writing ------------------------------------------------------------ */

static int
compare_ranges(const void *a, const void *b)
{
	const struct krl_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts the ranges, and joins those that touch or overlap. */
static void
merge_ranges(struct certs *c)
{
	size_t kept = 0;

	if (c->n == 0)
		return;
	qsort(c->ranges, c->n, sizeof *c->ranges, compare_ranges);
	for (size_t i = 1; i < c->n; i++) {
		struct krl_range *last = &c->ranges[kept];

		if (last->last == UINT64_MAX ||
		    c->ranges[i].first <= last->last + 1)
			last->last = MAX(last->last, c->ranges[i].last);
		else
			c->ranges[++kept] = c->ranges[i];
	}
	c->n = kept + 1;
}

static void
sort_pieces(struct pieces *l)
{
	size_t kept = 0;

	if (l->n == 0)
		return;
	qsort(l->v, l->n, sizeof *l->v, compare_pieces);
	for (size_t i = 1; i < l->n; i++) {
		if (compare_pieces(&l->v[kept], &l->v[i]) == 0)
			free(l->v[i].p);
		else
			l->v[++kept] = l->v[i];
	}
	l->n = kept + 1;
}

static void
sort(struct krl *l)
{
	for (size_t i = 0; i < l->n; i++) {
		merge_ranges(&l->certs[i]);
		sort_pieces(&l->certs[i].ids);
	}
	sort_pieces(&l->keys);
	sort_pieces(&l->sha1);
	sort_pieces(&l->sha256);
}

/* Writes a section of strings; nothing if there are no strings. */
static void
put_pieces(struct buf *out, uint8_t type, const struct pieces *l)
{
	size_t mark;

	if (l->n == 0)
		return;
	buf_put_u8(out, type);
	mark = buf_open_string(out);
	for (size_t i = 0; i < l->n; i++)
		buf_put_string(out, l->v[i].p, l->v[i].len);
	buf_close_string(out, mark);
}

static int
put_certs(struct buf *out, const struct certs *c)
{
	size_t mark;
	int r;

	buf_put_u8(out, KRL_SECTION_CERTS);
	mark = buf_open_string(out);
	buf_put_string(out, c->ca.p, c->ca.len);
	buf_put_cstring(out, ""); /* reserved */
	r = krl_put_serials(out, c->ranges, c->n);
	put_pieces(out, KRL_CERT_IDS, &c->ids);
	buf_close_string(out, mark);
	return r;
}

int
krl_write(struct krl *l, const struct krl_header *header, struct buf *out)
{
	int r = 0;

	sort(l);
	buf_put(out, KRL_MAGIC, KRL_MAGIC_LEN);
	buf_put_u32(out, KRL_FORMAT);
	buf_put_u64(out, header->version);
	buf_put_u64(out, header->generated);
	buf_put_u64(out, 0);	  /* flags */
	buf_put_cstring(out, ""); /* reserved */
	buf_put_string(out, header->comment.p, header->comment.len);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = put_certs(out, &l->certs[i]);
	put_pieces(out, KRL_SECTION_KEYS, &l->keys);
	put_pieces(out, KRL_SECTION_SHA1, &l->sha1);
	put_pieces(out, KRL_SECTION_SHA256, &l->sha256);
	return r != 0 ? r : buf_err(out);
}

static struct span
span_of_piece(const struct piece *p)
{
	return (struct span){ p->p, p->len };
}

static int
each_piece(const struct pieces *l, struct krl_item item, krl_item_fn fn,
    void *arg)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		item.bytes = span_of_piece(&l->v[i]);
		r = fn(arg, &item);
	}
	return r;
}

static int
each_cert(const struct certs *c, krl_item_fn fn, void *arg)
{
	struct krl_item item = { .what = KRL_SERIALS,
		.ca = span_of_piece(&c->ca) };
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n; i++) {
		item.first = c->ranges[i].first;
		item.last = c->ranges[i].last;
		r = fn(arg, &item);
	}
	item.what = KRL_ID;
	return r == 0 ? each_piece(&c->ids, item, fn, arg) : r;
}

int
krl_each(struct krl *l, krl_item_fn fn, void *arg)
{
	int r;

	sort(l);
	r = each_piece(&l->keys, (struct krl_item){ .what = KRL_KEY }, fn,
	    arg);
	if (r == 0)
		r = each_piece(&l->sha256,
		    (struct krl_item){ .what = KRL_SHA256 }, fn, arg);
	if (r == 0)
		r = each_piece(&l->sha1,
		    (struct krl_item){ .what = KRL_SHA1 }, fn, arg);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = each_cert(&l->certs[i], fn, arg);
	return r;
}
