/* SPDX-License-Identifier: ISC */
#include "keys/krl.h"

#include <string.h>

#include "keys/cert.h"
#include "keys/krl-internal.h"

/* State of reading a KRL. fn gets each item; fn NULL: the KRL is only
 * checked. */
struct reader {
	krl_item_fn fn;
	void *arg;
	struct span ca; /* of the section that is being read; empty: any CA */
};

static int
give(const struct reader *rd, struct krl_item item)
{
	item.ca = rd->ca;
	return rd->fn != NULL ? rd->fn(rd->arg, &item) : 0;
}

bool
krl_is(struct span content)
{
	return content.len >= KRL_MAGIC_LEN &&
	    memcmp(content.p, KRL_MAGIC, KRL_MAGIC_LEN) == 0;
}

/* ---- certificates ------------------------------------------------------- */

static int
give_serials(const struct reader *rd, uint64_t first, uint64_t last)
{
	return give(rd, (struct krl_item){ .what = KRL_SERIALS,
			    .first = first, .last = last });
}

static int
read_list(const struct reader *rd, struct rd r)
{
	int res = 0;

	while (res == 0 && r.len > 0) {
		uint64_t n = rd_u64(&r);

		res = rd_err(&r);
		if (res == 0)
			res = give_serials(rd, n, n);
	}
	return res;
}

static int
read_range(const struct reader *rd, struct rd r)
{
	uint64_t first = rd_u64(&r), last = rd_u64(&r);

	if (rd_end(&r) != 0)
		return rd_end(&r);
	return first <= last ? give_serials(rd, first, last) : ERR_FORMAT;
}

static bool
bit(struct span bits, uint64_t n)
{
	return (bits.p[bits.len - 1 - n / 8] >> (n % 8) & 1) != 0;
}

/* A bitmap of serial numbers: bit n of the mpint stands for the number base +
 * n. Runs of bits become ranges. */
static int
read_bitmap(const struct reader *rd, struct rd r)
{
	uint64_t base = rd_u64(&r), count, first = 0;
	struct span bits = rd_mpint(&r);
	bool inside = false;
	int res = rd_end(&r);

	if (res != 0)
		return res;
	count = (uint64_t)bits.len * 8;
	while (count > 0 && !bit(bits, count - 1))
		count--;
	if (count > 0 && base > UINT64_MAX - (count - 1))
		return ERR_FORMAT;
	for (uint64_t n = 0; res == 0 && n < count; n++) {
		bool on = bit(bits, n);

		if (on && !inside)
			first = n;
		else if (!on && inside)
			res = give_serials(rd, base + first, base + n - 1);
		inside = on;
	}
	/* The highest bit that is set ends the last run. */
	return res == 0 && inside ?
	    give_serials(rd, base + first, base + count - 1) :
	    res;
}

static int
read_ids(const struct reader *rd, struct rd r)
{
	int res = 0;

	while (res == 0 && r.len > 0) {
		struct span id = rd_string(&r);

		res = rd_err(&r);
		if (res == 0)
			res = give(rd, (struct krl_item){ .what = KRL_ID,
					   .bytes = id });
	}
	return res;
}

/* No extension is known here. The writer of a critical extension wants programs
 * that do not know it to refuse the file: ERR_UNSUPPORTED. */
static int
read_extension(const struct reader *rd, struct rd r)
{
	bool critical;

	(void)rd;
	(void)rd_string(&r);
	critical = rd_bool(&r);
	(void)rd_string(&r);
	if (rd_end(&r) != 0)
		return rd_end(&r);
	return critical ? ERR_UNSUPPORTED : 0;
}

static int
read_cert_part(const struct reader *rd, uint8_t type, struct rd r)
{
	switch (type) {
	case KRL_CERT_LIST:
		return read_list(rd, r);
	case KRL_CERT_RANGE:
		return read_range(rd, r);
	case KRL_CERT_BITMAP:
		return read_bitmap(rd, r);
	case KRL_CERT_IDS:
		return read_ids(rd, r);
	case KRL_CERT_EXTENSION:
		return read_extension(rd, r);
	}
	return ERR_FORMAT;
}

/* An authority must be a plain key. One of an unknown type is accepted, as its
 * certificates are of no use here anyway. */
static int
check_ca(struct span blob)
{
	struct key *k = NULL;
	int r = blob.len > 0 ? key_from_blob(blob, &k) : 0;

	if (r == 0 && k != NULL && key_is_cert(k))
		r = ERR_FORMAT;
	key_free(k);
	return r == ERR_KEY_TYPE ? 0 : r;
}

static int
read_certs(struct reader *rd, struct rd r)
{
	int res;

	rd->ca = rd_string(&r);
	(void)rd_string(&r); /* reserved */
	res = rd_err(&r);
	if (res == 0)
		res = check_ca(rd->ca);
	while (res == 0 && r.len > 0) {
		uint8_t type = rd_u8(&r);
		struct rd part = rd_sub(&r);

		res = rd_err(&r);
		if (res == 0)
			res = read_cert_part(rd, type, part);
	}
	return res;
}

/* ---- the file ----------------------------------------------------------- */

/* Reads strings of len bytes each; len 0: of any length. */
static int
read_strings(const struct reader *rd, struct rd r, enum krl_what what,
    size_t len)
{
	int res = 0;

	while (res == 0 && r.len > 0) {
		struct span s = rd_string(&r);

		res = rd_err(&r);
		if (res == 0 && len != 0 && s.len != len)
			res = ERR_FORMAT;
		if (res == 0)
			res = give(rd, (struct krl_item){ .what = what,
					   .bytes = s });
	}
	return res;
}

static int
read_section(struct reader *rd, uint8_t type, struct rd r)
{
	rd->ca = (struct span){ .len = 0 };
	switch (type) {
	case KRL_SECTION_CERTS:
		return read_certs(rd, r);
	case KRL_SECTION_KEYS:
		return read_strings(rd, r, KRL_KEY, 0);
	case KRL_SECTION_SHA1:
		return read_strings(rd, r, KRL_SHA1, digest_len(DIGEST_SHA1));
	case KRL_SECTION_SHA256:
		return read_strings(rd, r, KRL_SHA256,
		    digest_len(DIGEST_SHA256));
	case KRL_SECTION_EXTENSION:
		return read_extension(rd, r);
	}
	return ERR_FORMAT;
}

static int
read_sections(struct reader *rd, struct rd r)
{
	int res = 0;

	while (res == 0 && r.len > 0) {
		uint8_t type = rd_u8(&r);
		struct rd section = rd_sub(&r);

		/* A signature section is two strings, the signer's key and the
		 * signature. They are skipped: nobody here says whose signature
		 * to trust. */
		if (type == KRL_SECTION_SIGNATURE)
			(void)rd_string(&r);
		res = rd_err(&r);
		if (res == 0 && type != KRL_SECTION_SIGNATURE)
			res = read_section(rd, type, section);
	}
	return res;
}

int
krl_read(struct span content, struct krl_header *header, krl_item_fn fn,
    void *arg)
{
	struct reader reader = { .fn = fn, .arg = arg };
	struct krl_header unused, *h = header != NULL ? header : &unused;
	struct rd r = rd_from_span(content);
	uint32_t format;

	if (!krl_is(content))
		return ERR_FORMAT;
	(void)rd_bytes(&r, KRL_MAGIC_LEN);
	format = rd_u32(&r);
	h->version = rd_u64(&r);
	h->generated = rd_u64(&r);
	(void)rd_u64(&r);    /* flags */
	(void)rd_string(&r); /* reserved */
	h->comment = rd_string(&r);
	if (rd_err(&r) != 0)
		return rd_err(&r);
	if (format != KRL_FORMAT)
		return ERR_UNSUPPORTED;
	return read_sections(&reader, r);
}

/* ---- looking for a key -------------------------------------------------- */

/* A key in the three forms in which a KRL may list it. */
struct names {
	struct buf blob;
	uint8_t sha1[DIGEST_MAX_LEN], sha256[DIGEST_MAX_LEN];
};

struct search {
	struct names key, ca; /* ca: empty for a plain key */
	const struct cert *cert;
	bool found;
};

static int
names_of(struct names *n, const struct key *k)
{
	int r = key_to_blob(key_identity(k), &n->blob);

	if (r == 0)
		r = digest_once(DIGEST_SHA1, buf_data(&n->blob),
		    buf_len(&n->blob), n->sha1);
	if (r == 0)
		r = digest_once(DIGEST_SHA256, buf_data(&n->blob),
		    buf_len(&n->blob), n->sha256);
	return r;
}

static bool
equal(struct span s, const void *p, size_t len)
{
	return s.len == len && memcmp(s.p, p, len) == 0;
}

static bool
is_named(const struct names *n, const struct krl_item *item)
{
	if (buf_len(&n->blob) == 0)
		return false;
	switch (item->what) {
	case KRL_KEY:
		return equal(item->bytes, buf_data(&n->blob),
		    buf_len(&n->blob));
	case KRL_SHA1:
		return equal(item->bytes, n->sha1, digest_len(DIGEST_SHA1));
	case KRL_SHA256:
		return equal(item->bytes, n->sha256,
		    digest_len(DIGEST_SHA256));
	default:
		return false;
	}
}

static bool
is_cert(const struct search *s, const struct krl_item *item)
{
	const struct cert *c = s->cert;

	if (c == NULL)
		return false;
	if (item->ca.len > 0 &&
	    !equal(item->ca, buf_data(&s->ca.blob), buf_len(&s->ca.blob)))
		return false;
	if (item->what == KRL_ID)
		return equal(item->bytes, c->id, strlen(c->id));
	/* The serial number 0 means that the certificate has none. */
	return item->what == KRL_SERIALS && c->serial != 0 &&
	    c->serial >= item->first && c->serial <= item->last;
}

static int
compare(void *arg, const struct krl_item *item)
{
	struct search *s = arg;

	/* The search reads on after a match: an error later in the file makes
	 * all of it invalid. */
	s->found |= is_named(&s->key, item) || is_named(&s->ca, item) ||
	    is_cert(s, item);
	return 0;
}

int
krl_find(struct span content, const struct key *k, bool *revoked)
{
	struct search s = { .cert = key_cert(k) };
	int r = names_of(&s.key, k);

	if (r == 0 && s.cert != NULL)
		r = names_of(&s.ca, s.cert->ca);
	if (r == 0)
		r = krl_read(content, NULL, compare, &s);
	*revoked = s.found || r != 0;
	buf_clear(&s.key.blob);
	buf_clear(&s.ca.blob);
	return r;
}
