/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "keys/cert.h"
#include "keys/keyfile.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

static const struct kind {
	const char *type, *alg, *cert_alg, *cert_type, *text;
	unsigned bits;
} kinds[] = {
	{ "ed25519", "ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com",
	    "ssh-ed25519-cert-v01@openssh.com", "ED25519-CERT", 0 },
	{ "ecdsa", "ecdsa-sha2-nistp256",
	    "ecdsa-sha2-nistp256-cert-v01@openssh.com",
	    "ecdsa-sha2-nistp256-cert-v01@openssh.com", "ECDSA-CERT", 256 },
	{ "ecdsa", "ecdsa-sha2-nistp384",
	    "ecdsa-sha2-nistp384-cert-v01@openssh.com",
	    "ecdsa-sha2-nistp384-cert-v01@openssh.com", "ECDSA-CERT", 384 },
	{ "ecdsa", "ecdsa-sha2-nistp521",
	    "ecdsa-sha2-nistp521-cert-v01@openssh.com",
	    "ecdsa-sha2-nistp521-cert-v01@openssh.com", "ECDSA-CERT", 521 },
	{ "rsa", "rsa-sha2-512", "rsa-sha2-512-cert-v01@openssh.com",
	    "ssh-rsa-cert-v01@openssh.com", "RSA-CERT", 1024 },
	{ "rsa", "rsa-sha2-256", "rsa-sha2-256-cert-v01@openssh.com",
	    "ssh-rsa-cert-v01@openssh.com", "RSA-CERT", 1024 },
};

static struct key *
generate(const struct kind *kind)
{
	struct key *k = NULL;

	assert_int_equal(key_generate(kind->type, kind->bits, &k), 0);
	return k;
}

static void
principals(struct cert_request *r, const char *names)
{
	assert_int_equal(strlist_split(&r->principals, names, ","), 0);
}

static struct cert_request
request_for(enum cert_kind kind, const char *names)
{
	struct cert_request r = { .kind = kind, .id = "id", .serial = 7,
		.valid_after = 100, .valid_before = 200 };

	principals(&r, names);
	return r;
}

static void
request_clear(struct cert_request *r)
{
	strlist_clear(&r->principals);
	cert_options_clear(&r->critical);
	cert_options_clear(&r->extensions);
}

static struct key *
cert_of(const struct cert_request *r)
{
	struct key *plain = generate(&kinds[0]), *ca = generate(&kinds[0]);
	struct key *cert = make_cert_by(plain, r, ca, "ssh-ed25519");

	key_free(plain);
	key_free(ca);
	return cert;
}

/* ---- reading ------------------------------------------------------------ */

/* Made by ssh-keygen: -I "vector one" -n alice,bob -z 77 -V 0x10:0x20
 * -O clear -O force-command="echo hi" -O source-address=10.0.0.0/8
 * -O permit-pty; with the key, and the authority's. */
static const char vector_line[] =
    "ssh-ed25519-cert-v01@openssh.com "
    "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIC3q/wYm"
    "osUlA3jjr4iRf9FUbd5QnTBo47yVaqfTMUNhAAAAIBo1xFDz3pfeaBrXRsUY"
    "BwiJ7Pu8uc8P72rpmCQO1xxqAAAAAAAAAE0AAAABAAAACnZlY3RvciBvbmUA"
    "AAAQAAAABWFsaWNlAAAAA2JvYgAAAAAAAAAQAAAAAAAAACAAAABEAAAADWZv"
    "cmNlLWNvbW1hbmQAAAALAAAAB2VjaG8gaGkAAAAOc291cmNlLWFkZHJlc3MA"
    "AAAOAAAACjEwLjAuMC4wLzgAAAASAAAACnBlcm1pdC1wdHkAAAAAAAAAAAAA"
    "ADMAAAALc3NoLWVkMjU1MTkAAAAg9aqkRC+9LcAz1+/n2Aft7n1RGK7S7jqk"
    "kEtyeDGwurYAAABTAAAAC3NzaC1lZDI1NTE5AAAAQMowWljEUqgKL2uzDlws"
    "i5XRzozntIvu61ZRcsGzCxUH8R2vnzqHTsO4L13UIwdQhrBsxKwT/5MFMdxu"
    "+LqKmQE= c ed25519";
static const char vector_key[] =
    "ssh-ed25519 "
    "AAAAC3NzaC1lZDI1NTE5AAAAIBo1xFDz3pfeaBrXRsUYBwiJ7Pu8uc8P72rpmCQO1xxq";
static const char vector_ca[] =
    "ssh-ed25519 "
    "AAAAC3NzaC1lZDI1NTE5AAAAIPWqpEQvvS3AM9fv59gH7e59URiu0u46pJBLcngxsLq2";

static void
test_vector(void **state)
{
	struct key *k = key_of(vector_line), *plain = key_of(vector_key);
	struct key *ca = key_of(vector_ca);
	const struct cert *c = key_cert(k);
	struct cert_grants g;
	const char *why;
	struct buf line = { 0 };
	char *text;

	(void)state;
	assert_non_null(c);
	assert_null(key_cert(plain));
	assert_true(key_equal_public(key_identity(k), plain));
	assert_true(key_equal_public(c->ca, ca));
	assert_string_equal(c->signature_alg, "ssh-ed25519");
	assert_int_equal(c->kind, CERT_USER);
	assert_int_equal(c->serial, 77);
	assert_string_equal(c->id, "vector one");
	assert_int_equal(c->valid_after, 0x10);
	assert_int_equal(c->valid_before, 0x20);
	assert_int_equal(c->principals.n, 2);
	assert_string_equal(c->principals.v[1], "bob");
	assert_int_equal(cert_grants_read(c, &g, &why), 0);
	assert_string_equal(g.command, "echo hi");
	assert_string_equal(g.addresses, "10.0.0.0/8");
	assert_true(g.pty && !g.user_rc && !g.x11_forwarding);
	assert_false(g.agent_forwarding || g.port_forwarding || g.no_touch ||
	    g.verify_required);
	cert_grants_clear(&g);
	assert_int_equal(key_format_line(k, "c ed25519", &line), 0);
	text = buf_dup_string(&line);
	assert_string_equal(text, vector_line);
	free(text);
	buf_clear(&line);
	key_free(ca);
	key_free(plain);
	key_free(k);
}

/* Whatever bit is turned, the certificate is none any more. */
static void
test_every_bit_is_signed(void **state)
{
	struct key *k = key_of(vector_line);
	const struct buf *blob = &key_cert(k)->blob;
	uint8_t copy[1024];
	size_t len = buf_len(blob);

	(void)state;
	assert_true(len <= sizeof copy);
	for (size_t i = 0; i < len * 8; i++) {
		struct key *other = NULL;

		memcpy(copy, buf_data(blob), len);
		copy[i / 8] ^= (uint8_t)(1 << (i % 8));
		assert_int_not_equal(
		    key_from_blob((struct span){ copy, len }, &other), 0);
		assert_null(other);
	}
	for (size_t cut = 0; cut < len; cut++) {
		struct key *other = NULL;

		assert_int_not_equal(
		    key_from_blob((struct span){ buf_data(blob), cut },
			&other), 0);
	}
	key_free(k);
}

static void
test_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *kind = &kinds[i];
		struct cert_request r = request_for(CERT_HOST, "a,b");
		struct key *plain = generate(kind), *ca = generate(kind);
		struct key *cert = make_cert_by(plain, &r, ca, kind->alg);
		struct key *other = generate(kind);
		struct buf sig = { 0 };

		assert_string_equal(key_type(cert), kind->cert_type);
		assert_string_equal(key_short_name(cert), kind->text);
		assert_int_equal(key_bits(cert), key_bits(plain));
		assert_string_equal(key_cert(cert)->signature_alg, kind->alg);
		assert_string_equal(
		    key_alg_by_cert_name(kind->cert_alg)->name, kind->alg);
		assert_null(key_alg_by_name(kind->cert_alg));
		/* Each kind of key has names of its own, so that nobody takes
		 * one for the other by mistake. */
		assert_true(key_serves(cert, kind->cert_alg));
		assert_false(key_serves(cert, kind->alg));
		assert_false(key_serves(plain, kind->cert_alg));
		assert_true(key_is_private(cert));
		assert_int_equal(key_sign(cert, kind->alg, span_text("x"),
				     &sig), ERR_KEY_TYPE);
		assert_int_equal(key_sign(cert, kind->cert_alg, span_text("x"),
				     &sig), 0);
		assert_int_equal(key_verify(cert, kind->cert_alg,
				     span_text("x"), buf_span(&sig)), 0);
		assert_int_equal(key_verify(plain, kind->alg, span_text("x"),
				     buf_span(&sig)), 0);
		assert_int_equal(key_verify(cert, kind->cert_alg,
				     span_text("y"), buf_span(&sig)),
		    ERR_SIGNATURE);
		assert_int_equal(key_verify(cert, kind->alg, span_text("x"),
				     buf_span(&sig)), ERR_KEY_TYPE);
		buf_clear(&sig);
		key_free(other);
		key_free(cert);
		key_free(ca);
		key_free(plain);
		request_clear(&r);
	}
}

/* Certificate and private half stay together in files and for an agent. */
static void
test_private_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *kind = &kinds[i];
		struct key *plain = generate(kind), *back = NULL;
		struct key *cert = make_cert_for(plain), *public = NULL;
		struct buf b = { 0 }, sig = { 0 };
		struct rd r;

		assert_int_equal(key_private_to_wire(cert, &b), 0);
		buf_put_cstring(&b, "what follows");
		r = rd_from_buf(&b);
		assert_int_equal(key_private_from_wire(&r, &back), 0);
		assert_true(span_equals(rd_string(&r), "what follows"));
		assert_true(key_equal_public(back, cert));
		assert_true(key_is_private(back));
		assert_int_equal(key_sign(back, kind->cert_alg,
				     span_text("x"), &sig), 0);
		key_free(back);
		buf_reset(&b);
		back = NULL;
		assert_int_equal(keyfile_format_private(cert, KEYFILE_OPENSSH,
				     NULL, "c", NULL, 0, &b), 0);
		assert_int_equal(keyfile_parse_private(buf_span(&b), NULL,
				     &back, NULL), 0);
		assert_true(key_equal_public(back, cert));
		assert_int_equal(key_public_of(back, &public), 0);
		assert_false(key_is_private(public));
		assert_int_equal(key_private_to_wire(public, &b),
		    ERR_ARGUMENT);
		key_free(public);
		key_free(back);
		key_free(cert);
		key_free(plain);
		buf_clear(&sig);
		buf_clear(&b);
	}
}

/* A private half that is another key's would give that away. */
static void
test_private_half_of_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *one = generate(&kinds[i]);
		struct key *two = generate(&kinds[i]);
		struct key *cert = make_cert_for(one), *back = NULL;
		struct key *cert_two = make_cert_for(two);
		struct buf b = { 0 }, mixed = { 0 };
		struct rd r;
		struct span rest;

		assert_int_equal(key_private_to_wire(cert_two, &b), 0);
		r = rd_from_buf(&b);
		(void)rd_string(&r);
		(void)rd_string(&r);
		rest = rd_rest(&r);
		buf_put_cstring(&mixed, key_type(cert));
		buf_put_string_buf(&mixed, &key_cert(cert)->blob);
		buf_put(&mixed, rest.p, rest.len);
		r = rd_from_buf(&mixed);
		assert_int_equal(key_private_from_wire(&r, &back), ERR_FORMAT);
		assert_null(back);
		buf_clear(&mixed);
		buf_clear(&b);
		key_free(cert_two);
		key_free(cert);
		key_free(two);
		key_free(one);
	}
}

/* Writes a certificate that cert_make() would not, signed all the same. */
struct odd {
	uint32_t kind;
	size_t principals;
	const char *critical, *id; /* as they are, id with its length */
	size_t critical_len, id_len;
	bool ca_is_cert, trailing;
};

static int
read_odd(const struct odd *o)
{
	struct key *ca = generate(&kinds[0]), *k = NULL;
	struct key *ca_cert = make_cert_for(ca);
	struct buf b = { 0 }, blob = { 0 }, sig = { 0 };
	struct span data;
	size_t mark;
	int r;

	buf_put_cstring(&b, "ssh-ed25519-cert-v01@openssh.com");
	buf_put_cstring(&b, "nonce");
	assert_int_equal(key_to_blob(ca, &blob), 0);
	data = buf_span(&blob);
	buf_put(&b, data.p + data.len - 36, 36);
	buf_put_u64(&b, 1);
	buf_put_u32(&b, o->kind);
	buf_put_string(&b, o->id, o->id_len);
	mark = buf_open_string(&b);
	for (size_t i = 0; i < o->principals; i++)
		buf_put_cstring(&b, "p");
	buf_close_string(&b, mark);
	buf_put_u64(&b, 0);
	buf_put_u64(&b, CERT_FOREVER);
	buf_put_string(&b, o->critical, o->critical_len);
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	buf_reset(&blob);
	assert_int_equal(key_to_blob(o->ca_is_cert ? ca_cert : ca, &blob), 0);
	buf_put_string_buf(&b, &blob);
	assert_int_equal(key_sign(ca, "ssh-ed25519", buf_span(&b), &sig), 0);
	buf_put_string_buf(&b, &sig);
	if (o->trailing)
		buf_put_u8(&b, 0);
	r = key_from_blob(buf_span(&b), &k);
	key_free(k);
	buf_clear(&sig);
	buf_clear(&blob);
	buf_clear(&b);
	key_free(ca_cert);
	key_free(ca);
	return r;
}

static void
test_limits(void **state)
{
	static char large[CERT_BLOB_MAX];

	(void)state;
	assert_int_equal(read_odd(&(struct odd){ .kind = 1 }), 0);
	assert_int_equal(read_odd(&(struct odd){ .kind = 2 }), 0);
	assert_int_equal(read_odd(&(struct odd){ .kind = 0 }), ERR_FORMAT);
	assert_int_equal(read_odd(&(struct odd){ .kind = 3 }), ERR_FORMAT);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .principals = 256 }), 0);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .principals = 257 }), ERR_LIMIT);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .critical = "\0\0\0\1x\0\0\0\1",
			     .critical_len = 9 }), ERR_TRUNCATED);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .id = "a\0b", .id_len = 3 }), ERR_FORMAT);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .ca_is_cert = true }), ERR_FORMAT);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .trailing = true }), ERR_TRAILING);
	assert_int_equal(read_odd(&(struct odd){ .kind = 1,
			     .critical = large,
			     .critical_len = sizeof large }), ERR_LIMIT);
}

static int
sign_by_another(void *arg, struct span data, struct buf *signature)
{
	return key_sign(arg, "ssh-ed25519", data, signature);
}

static void
test_make_refuses(void **state)
{
	struct cert_request r = request_for(CERT_USER, "a");
	struct key *k = generate(&kinds[0]), *ca = generate(&kinds[0]);
	struct key *other = generate(&kinds[0]), *cert = make_cert_for(k);
	struct key *out = NULL;

	(void)state;
	assert_int_equal(cert_make(k, &r, ca, sign_by_another, other, &out),
	    ERR_SIGNATURE);
	assert_int_equal(cert_make(cert, &r, ca, sign_by_another, ca, &out),
	    ERR_ARGUMENT);
	assert_int_equal(cert_make(k, &r, cert, sign_by_another, cert, &out),
	    ERR_ARGUMENT);
	assert_null(out);
	key_free(cert);
	key_free(other);
	key_free(ca);
	key_free(k);
	request_clear(&r);
}

/* ---- checking ----------------------------------------------------------- */

static void
test_refusals(void **state)
{
	static const struct {
		enum cert_kind is, asked;
		const char *principals;
		uint64_t now;
		const char *name, *want;
	} t[] = {
		{ CERT_USER, CERT_USER, "alice,bob", 100, "bob", NULL },
		{ CERT_USER, CERT_USER, "alice,bob", 199, "alice", NULL },
		{ CERT_USER, CERT_HOST, "alice", 150, "alice",
		    "Certificate invalid: not a host certificate" },
		{ CERT_HOST, CERT_USER, "alice", 150, "alice",
		    "Certificate invalid: not a user certificate" },
		{ CERT_USER, CERT_USER, "alice", 99, "alice",
		    "Certificate invalid: not yet valid" },
		{ CERT_USER, CERT_USER, "alice", 200, "alice",
		    "Certificate invalid: expired" },
		{ CERT_USER, CERT_USER, "", 150, "alice",
		    "Certificate lacks principal list" },
		{ CERT_USER, CERT_USER, "", 150, NULL,
		    "Certificate lacks principal list" },
		{ CERT_USER, CERT_USER, "other", 150, NULL, NULL },
		{ CERT_USER, CERT_USER, "Alice", 150, "alice",
		    "Certificate invalid: name is not a listed principal" },
		{ CERT_USER, CERT_USER, "*", 150, "alice",
		    "Certificate invalid: name is not a listed principal" },
		{ CERT_USER, CERT_USER, "alic", 150, "alice",
		    "Certificate invalid: name is not a listed principal" },
		{ CERT_HOST, CERT_HOST, "x,*.example.org", 150,
		    "WWW.Example.org", NULL },
		{ CERT_HOST, CERT_HOST, "h?", 150, "h1", NULL },
		{ CERT_HOST, CERT_HOST, "Host", 150, "host",
		    "Certificate invalid: name is not a listed principal" },
		{ CERT_HOST, CERT_HOST, "host", 150, "*",
		    "Certificate invalid: name is not a listed principal" },
		{ CERT_HOST, CERT_HOST, "", 150, "host",
		    "Certificate lacks principal list" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct cert_request r = request_for(t[i].is, t[i].principals);
		struct key *k = cert_of(&r);

		assert_text(cert_refusal(key_cert(k), t[i].asked, t[i].now,
				t[i].name), t[i].want);
		key_free(k);
		request_clear(&r);
	}
}

static void
test_host(void **state)
{
	struct cert_request r = request_for(CERT_HOST, "h");
	struct key *k = cert_of(&r);

	(void)state;
	assert_null(cert_host_refusal(key_cert(k), 150, "h",
	    "rsa-sha2-512,ssh-ed25519"));
	assert_string_equal(
	    cert_host_refusal(key_cert(k), 150, "h", "rsa-sha2-512"),
	    "Certificate signed with disallowed algorithm");
	assert_string_equal(
	    cert_host_refusal(key_cert(k), 50, "h", "ssh-ed25519"),
	    "Certificate invalid: not yet valid");
	key_free(k);
	assert_int_equal(cert_options_add(&r.critical, "x", NULL), 0);
	k = cert_of(&r);
	assert_string_equal(
	    cert_host_refusal(key_cert(k), 150, "h", "ssh-ed25519"),
	    "Certificate contains unsupported critical options");
	key_free(k);
	request_clear(&r);
}

static void
test_grants(void **state)
{
	static const struct {
		const char *critical, *value, *extension, *extension_value;
		bool twice;
		int want;
	} t[] = {
		{ NULL, NULL, NULL, NULL, false, 0 },
		{ "force-command", "x", "permit-pty", NULL, false, 0 },
		{ "force-command", "x", NULL, NULL, true, ERR_DENIED },
		{ "source-address", "x", NULL, NULL, true, ERR_DENIED },
		{ "force-command", NULL, NULL, NULL, false, ERR_DENIED },
		{ "source-address", NULL, NULL, NULL, false, ERR_DENIED },
		{ "verify-required", NULL, NULL, NULL, false, 0 },
		{ "verify-required", "x", NULL, NULL, false, ERR_DENIED },
		{ "unknown@example.org", NULL, NULL, NULL, false, ERR_DENIED },
		/* Known, but as an extension. */
		{ "permit-pty", NULL, NULL, NULL, false, ERR_DENIED },
		{ NULL, NULL, "permit-pty", "x", false, ERR_DENIED },
		{ NULL, NULL, "unknown@example.org", "x", false, 0 },
		/* No critical option, so it forces nothing. */
		{ NULL, NULL, "force-command", "x", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct cert_request r = request_for(CERT_USER, "a");
		struct cert_grants g;
		const char *why = NULL;
		struct key *k;

		for (int n = t[i].critical == NULL ? 2 : !t[i].twice; n < 2;
		    n++)
			assert_int_equal(cert_options_add(&r.critical,
					     t[i].critical, t[i].value), 0);
		if (t[i].extension != NULL)
			assert_int_equal(cert_options_add(&r.extensions,
					     t[i].extension,
					     t[i].extension_value), 0);
		k = cert_of(&r);
		assert_int_equal(cert_grants_read(key_cert(k), &g, &why),
		    t[i].want);
		if (t[i].want == ERR_DENIED)
			assert_non_null(why);
		assert_int_equal(g.command != NULL, t[i].want == 0 &&
		    t[i].critical != NULL &&
		    strcmp(t[i].critical, "force-command") == 0);
		assert_int_equal(g.ignored.n, t[i].want == 0 &&
		    t[i].extension != NULL &&
		    strcmp(t[i].extension, "permit-pty") != 0);
		cert_grants_clear(&g);
		key_free(k);
		request_clear(&r);
	}
}

static void
test_options_are_sorted(void **state)
{
	struct cert_options o = { 0 };
	static const char *const names[] = { "b", "a", "permit-x", "permit-X",
		"c" };
	static const char *const want[] = { "a", "b", "c", "permit-X",
		"permit-x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(cert_options_add(&o, names[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(o.v[i].name, want[i]);
	assert_true(cert_options_has(&o, "c"));
	assert_false(cert_options_has(&o, "d"));
	cert_options_clear(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_every_bit_is_signed),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_private_form),
		cmocka_unit_test(test_private_half_of_another),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_make_refuses),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_options_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
