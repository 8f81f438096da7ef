/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "keys/krl-internal.h"
#include "keys/krl.h"
#include "regress/unit/make-cert.h"

/* ---- files of our making ------------------------------------------------ */

static void
begin(struct buf *b, uint32_t format)
{
	buf_reset(b);
	buf_put(b, KRL_MAGIC, KRL_MAGIC_LEN);
	buf_put_u32(b, format);
	buf_put_u64(b, 3);	  /* version */
	buf_put_u64(b, 1000);	  /* generated */
	buf_put_u64(b, 0);	  /* flags */
	buf_put_cstring(b, "");	  /* reserved */
	buf_put_cstring(b, "c");
}

static void
section(struct buf *b, uint8_t type, const struct buf *body)
{
	buf_put_u8(b, type);
	buf_put_string_buf(b, body);
}

/* A section of certificates of any CA with one part in it. */
static void
any_ca(struct buf *b, uint8_t type, const struct buf *part)
{
	struct buf body = { 0 };

	buf_put_cstring(&body, "");
	buf_put_cstring(&body, "");
	section(&body, type, part);
	begin(b, KRL_FORMAT);
	section(b, KRL_SECTION_CERTS, &body);
	buf_clear(&body);
}

/* What krl_read() finds, as a text. */
static int
note(void *arg, const struct krl_item *item)
{
	struct buf *b = arg;

	switch (item->what) {
	case KRL_SERIALS:
		buf_printf(b, "%llx-%llx ", (unsigned long long)item->first,
		    (unsigned long long)item->last);
		break;
	case KRL_ID:
		buf_printf(b, "id:%.*s ", (int)item->bytes.len,
		    (const char *)item->bytes.p);
		break;
	default:
		buf_printf(b, "%d:%zu ", item->what, item->bytes.len);
	}
	return 0;
}

static void
assert_reads(const struct buf *b, int want, const char *items)
{
	struct buf got = { 0 };
	char *text;

	assert_int_equal(krl_read(buf_span(b), NULL, note, &got), want);
	if (items != NULL) {
		text = buf_len(&got) > 0 ? buf_dup_string(&got) : strdup("");
		assert_string_equal(text, items);
		free(text);
	}
	buf_clear(&got);
}

/* ---- reading ------------------------------------------------------------ */

static void
test_serials(void **state)
{
	static const struct {
		uint8_t type;
		const char *hex;
		int want;
		const char *items;
	} t[] = {
		{ KRL_CERT_LIST, "", 0, "" },
		{ KRL_CERT_LIST, "0000000000000005" "ffffffffffffffff", 0,
		    "5-5 ffffffffffffffff-ffffffffffffffff " },
		{ KRL_CERT_LIST, "00000000000000", ERR_TRUNCATED, NULL },
		{ KRL_CERT_RANGE, "0000000000000005" "0000000000000009", 0,
		    "5-9 " },
		{ KRL_CERT_RANGE, "0000000000000005" "0000000000000004",
		    ERR_FORMAT, NULL },
		{ KRL_CERT_RANGE, "0000000000000005", ERR_TRUNCATED, NULL },
		{ KRL_CERT_RANGE, "0000000000000005" "0000000000000009" "00",
		    ERR_TRAILING, NULL },
		{ KRL_CERT_BITMAP, "0000000000000010" "00000000", 0, "" },
		{ KRL_CERT_BITMAP, "0000000000000010" "0000000101", 0,
		    "10-10 " },
		{ KRL_CERT_BITMAP, "0000000000000010" "000000020176", 0,
		    "11-12 14-16 18-18 " },
		{ KRL_CERT_BITMAP, "0000000000000000" "0000000300ffff", 0,
		    "0-f " },
		/* The highest number there is, and one too many. */
		{ KRL_CERT_BITMAP, "fffffffffffffff9" "000000017f", 0,
		    "fffffffffffffff9-ffffffffffffffff " },
		{ KRL_CERT_BITMAP, "fffffffffffffffa" "000000017f",
		    ERR_FORMAT, NULL },
		{ KRL_CERT_BITMAP, "0000000000000010" "0000000180",
		    ERR_FORMAT, NULL },
		{ KRL_CERT_BITMAP, "0000000000000010", ERR_TRUNCATED, NULL },
		{ KRL_CERT_IDS, "0000000161" "0000000262" "63", 0,
		    "id:a id:bc " },
		{ KRL_CERT_IDS, "0000000261", ERR_TRUNCATED, NULL },
		{ 0x24, "", ERR_FORMAT, NULL },
		/* Extensions: name, critical, content. */
		{ KRL_CERT_EXTENSION, "0000000161" "00" "00000000", 0, "" },
		{ KRL_CERT_EXTENSION, "0000000161" "01" "00000000",
		    ERR_UNSUPPORTED, NULL },
		{ KRL_CERT_EXTENSION, "0000000161" "00" "00000000" "00",
		    ERR_TRAILING, NULL },
	};
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct buf part = { 0 }, b = { 0 };

		buf_put(&part, bytes,
		    hex_decode(t[i].hex, bytes, sizeof bytes));
		any_ca(&b, t[i].type, &part);
		assert_reads(&b, t[i].want, t[i].items);
		buf_clear(&part);
		buf_clear(&b);
	}
}

static void
test_sections(void **state)
{
	static const struct {
		uint8_t type;
		const char *hex; /* of the section, with its length */
		int want;
		const char *items;
	} t[] = {
		{ KRL_SECTION_KEYS, "00000005" "0000000178", 0, "2:1 " },
		{ KRL_SECTION_KEYS, "00000004" "00000001", ERR_TRUNCATED,
		    NULL },
		{ KRL_SECTION_SHA1, "00000005" "0000000178", ERR_FORMAT, NULL },
		{ KRL_SECTION_SHA256, "00000018" "00000014"
		    "0000000000000000000000000000000000000000", ERR_FORMAT,
		    NULL },
		{ KRL_SECTION_SHA1, "00000018" "00000014"
		    "0000000000000000000000000000000000000000", 0, "3:20 " },
		{ KRL_SECTION_SIGNATURE, "0000000178" "0000000179", 0, "" },
		{ KRL_SECTION_SIGNATURE, "0000000178", ERR_TRUNCATED, NULL },
		{ KRL_SECTION_EXTENSION, "0000000a" "0000000161" "00"
		    "00000000", 0, "" },
		{ KRL_SECTION_EXTENSION, "0000000a" "0000000161" "01"
		    "00000000", ERR_UNSUPPORTED, NULL },
		{ 6, "00000000", ERR_FORMAT, NULL },
		{ KRL_SECTION_KEYS, "000000", ERR_TRUNCATED, NULL },
		/* A CA that is no key, and one of a type that is not known. */
		{ KRL_SECTION_CERTS, "0000000a" "000000020000" "00000000",
		    ERR_TRUNCATED, NULL },
		{ KRL_SECTION_CERTS, "00000018" "0000000800000004" "6e657721"
		    "00000000" "20" "0000000000", ERR_TRUNCATED, NULL },
		{ KRL_SECTION_CERTS, "00000015" "0000000800000004" "6e657721"
		    "00000000" "20" "00000000", 0, "" },
	};
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct buf b = { 0 };

		begin(&b, KRL_FORMAT);
		buf_put_u8(&b, t[i].type);
		buf_put(&b, bytes,
		    hex_decode(t[i].hex, bytes, sizeof bytes));
		assert_reads(&b, t[i].want, t[i].items);
		buf_clear(&b);
	}
}

static void
test_header(void **state)
{
	struct krl_header h;
	struct buf b = { 0 };

	(void)state;
	begin(&b, KRL_FORMAT);
	assert_true(krl_is(buf_span(&b)));
	assert_int_equal(krl_read(buf_span(&b), &h, NULL, NULL), 0);
	assert_int_equal(h.version, 3);
	assert_int_equal(h.generated, 1000);
	assert_true(span_equals(h.comment, "c"));
	for (size_t cut = 0; cut < buf_len(&b); cut++)
		assert_int_not_equal(
		    krl_read((struct span){ buf_data(&b), cut }, NULL, NULL,
			NULL), 0);
	begin(&b, 2);
	assert_int_equal(krl_read(buf_span(&b), &h, NULL, NULL),
	    ERR_UNSUPPORTED);
	assert_false(krl_is(span_text("SSHKRL\n")));
	buf_clear(&b);
}

/* ---- looking ------------------------------------------------------------ */

static struct key *
generate(void)
{
	struct key *k = NULL;

	assert_int_equal(key_generate("ed25519", 0, &k), 0);
	return k;
}

struct people {
	struct key *key, *other, *ca, *other_ca;
	struct key *cert; /* of key by ca: number 7, id "id" */
	struct key *unnumbered;
};

static void
people_make(struct people *p)
{
	struct cert_request r = { .kind = CERT_USER, .id = "id", .serial = 7,
		.valid_before = CERT_FOREVER };

	p->key = generate();
	p->other = generate();
	p->ca = generate();
	p->other_ca = generate();
	p->cert = make_cert_by(p->key, &r, p->ca, "ssh-ed25519");
	r.serial = 0;
	p->unnumbered = make_cert_by(p->key, &r, p->ca, "ssh-ed25519");
}

static void
people_free(struct people *p)
{
	key_free(p->key);
	key_free(p->other);
	key_free(p->ca);
	key_free(p->other_ca);
	key_free(p->cert);
	key_free(p->unnumbered);
}

/* Is it revoked by what add() put into a file of its own? */
static bool
revoked_by(struct krl *l, const struct key *k)
{
	struct krl_header h = { .version = 1 };
	struct buf b = { 0 };
	bool revoked;

	assert_int_equal(krl_write(l, &h, &b), 0);
	assert_int_equal(krl_find(buf_span(&b), k, &revoked), 0);
	buf_clear(&b);
	krl_free(l);
	return revoked;
}

static struct krl *
with_serials(const struct key *ca, uint64_t first, uint64_t last)
{
	struct krl *l = NULL;

	assert_int_equal(krl_new(&l), 0);
	assert_int_equal(krl_add_serials(l, ca, first, last), 0);
	return l;
}

static struct krl *
with_id(const struct key *ca, const char *id)
{
	struct krl *l = NULL;

	assert_int_equal(krl_new(&l), 0);
	assert_int_equal(krl_add_id(l, ca, span_text(id)), 0);
	return l;
}

enum way { BY_KEY, BY_SHA1, BY_SHA256 };

static struct krl *
with_key(const struct key *k, enum way way)
{
	struct krl *l = NULL;
	int r;

	assert_int_equal(krl_new(&l), 0);
	r = way == BY_KEY ? krl_add_key(l, k) :
			    krl_add_digest_of(l, k, way == BY_SHA1 ?
				DIGEST_SHA1 : DIGEST_SHA256);
	assert_int_equal(r, 0);
	return l;
}

static void
test_certificates(void **state)
{
	struct people p;

	(void)state;
	people_make(&p);
	assert_true(revoked_by(with_serials(p.ca, 7, 7), p.cert));
	assert_true(revoked_by(with_serials(NULL, 5, 9), p.cert));
	assert_false(revoked_by(with_serials(p.ca, 8, UINT64_MAX), p.cert));
	assert_false(revoked_by(with_serials(p.ca, 1, 6), p.cert));
	assert_false(revoked_by(with_serials(p.other_ca, 7, 7), p.cert));
	assert_false(revoked_by(with_serials(p.ca, 0, 9), p.unnumbered));
	assert_false(revoked_by(with_serials(p.ca, 7, 7), p.key));
	assert_true(revoked_by(with_id(p.ca, "id"), p.cert));
	assert_true(revoked_by(with_id(NULL, "id"), p.unnumbered));
	assert_false(revoked_by(with_id(p.ca, "i"), p.cert));
	assert_false(revoked_by(with_id(p.ca, "idx"), p.cert));
	assert_false(revoked_by(with_id(p.other_ca, "id"), p.cert));
	assert_false(revoked_by(with_id(p.ca, "id"), p.key));
	people_free(&p);
}

static void
test_keys(void **state)
{
	struct people p;

	(void)state;
	people_make(&p);
	for (int way = BY_KEY; way <= BY_SHA256; way++) {
		assert_true(revoked_by(with_key(p.key, way), p.key));
		assert_true(revoked_by(with_key(p.key, way), p.cert));
		assert_true(revoked_by(with_key(p.cert, way), p.key));
		assert_true(revoked_by(with_key(p.ca, way), p.cert));
		assert_false(revoked_by(with_key(p.ca, way), p.key));
		assert_false(revoked_by(with_key(p.other, way), p.cert));
	}
	people_free(&p);
}

/* The file has to be good up to its end, also behind what was looked for. */
static void
test_bad_end(void **state)
{
	struct krl_header h = { .version = 1 };
	struct key *k = generate(), *other = generate();
	struct krl *l = with_key(k, BY_KEY);
	struct buf b = { 0 };
	bool revoked = false;

	(void)state;
	assert_int_equal(krl_write(l, &h, &b), 0);
	buf_put_u8(&b, 99);
	assert_int_not_equal(krl_find(buf_span(&b), other, &revoked), 0);
	assert_true(revoked);
	krl_free(l);
	buf_clear(&b);
	key_free(other);
	key_free(k);
}

/* ---- making ------------------------------------------------------------- */

static void
test_order(void **state)
{
	static const struct {
		uint64_t first, last;
	} in[] = { { 20, 30 }, { 5, 5 }, { 7, 7 }, { 6, 6 }, { 25, 40 },
		{ 41, 41 }, { 43, 43 }, { UINT64_MAX, UINT64_MAX },
		{ UINT64_MAX - 5, UINT64_MAX }, { 5, 5 }, { 22, 23 } };
	struct krl_header h = { .version = 9, .comment = { NULL, 0 } };
	struct buf b = { 0 }, again = { 0 }, text = { 0 };
	struct krl *l = NULL, *copy = NULL;
	char *got;

	(void)state;
	assert_int_equal(krl_new(&l), 0);
	for (size_t i = 0; i < ARRAY_LEN(in); i++)
		assert_int_equal(krl_add_serials(l, NULL, in[i].first,
				     in[i].last), 0);
	assert_int_equal(krl_add_id(l, NULL, span_text("b")), 0);
	assert_int_equal(krl_add_id(l, NULL, span_text("a")), 0);
	assert_int_equal(krl_add_id(l, NULL, span_text("b")), 0);
	assert_int_equal(krl_add_id(l, NULL, span_text("")), 0);
	assert_int_equal(krl_add_serials(l, NULL, 3, 2), ERR_ARGUMENT);
	assert_int_equal(krl_write(l, &h, &b), 0);
	assert_reads(&b, 0, "5-7 14-29 2b-2b fffffffffffffffa-ffffffffffffffff"
			    " id: id:a id:b ");
	assert_int_equal(krl_each(l, note, &text), 0);
	got = buf_dup_string(&text);
	assert_string_equal(got, "5-7 14-29 2b-2b "
				 "fffffffffffffffa-ffffffffffffffff id: "
				 "id:a id:b ");
	free(got);
	/* Read and written again it is the same. */
	assert_int_equal(krl_new(&copy), 0);
	assert_int_equal(krl_add_all(copy, buf_span(&b), &h), 0);
	assert_int_equal(krl_write(copy, &h, &again), 0);
	assert_int_equal(buf_len(&again), buf_len(&b));
	assert_memory_equal(buf_data(&again), buf_data(&b), buf_len(&b));
	krl_free(copy);
	krl_free(l);
	buf_clear(&text);
	buf_clear(&again);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_serials),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_bad_end),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
