/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "keys/allowed-signers.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

#define ED1                                                                   \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQC" \
	"PcRLkkTIUOy2"
#define ED2                                                                   \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftjVlsrKmhoV" \
	"HNu/YpNL/zNk"

static void
test_parse(void **state)
{
	static const struct {
		const char *line;
		const char *why; /* NULL: it is good; "": it is no line */
		const char *principals, *namespaces;
		bool is_ca;
		uint64_t after, before;
	} t[] = {
		{ "", "", NULL, NULL, false, 0, 0 },
		{ "  # " ED1, "", NULL, NULL, false, 0, 0 },
		{ "a " ED1, NULL, "a", NULL, false, 0, 0 },
		{ " a,b* \t" ED1 " comment", NULL, "a,b*", NULL, false, 0,
		    0 },
		{ "\"a b,c\" " ED1, NULL, "a b,c", NULL, false, 0, 0 },
		{ "\"a \\\"b\" " ED1, NULL, "a \"b", NULL, false, 0, 0 },
		{ "a cert-authority " ED1, NULL, "a", NULL, true, 0, 0 },
		{ "a CERT-authority,Namespaces=\"x y,z\" " ED1, NULL, "a",
		    "x y,z", true, 0, 0 },
		{ "a valid-after=\"19700102Z\",valid-before=\"19700103Z\" "
		    ED1, NULL, "a", NULL, false, 86400, 172800 },
		{ "\"a " ED1, "invalid line", NULL, NULL, false, 0, 0 },
		{ "\"a\"b " ED1, "invalid line", NULL, NULL, false, 0, 0 },
		{ "\"\" " ED1, "invalid line", NULL, NULL, false, 0, 0 },
		{ "a", "missing key", NULL, NULL, false, 0, 0 },
		{ "a ", "missing key", NULL, NULL, false, 0, 0 },
		{ "a ssh-ed25519", "missing key", NULL, NULL, false, 0, 0 },
		{ "a ssh-ed25519 AAAA", "invalid key", NULL, NULL, false, 0,
		    0 },
		{ "a namespaces=\"x y\"", "missing key", NULL, NULL, false, 0,
		    0 },
		{ "a cert-authority x y", "invalid key", NULL, NULL, false, 0,
		    0 },
		{ "a foo " ED1, "bad options: unknown key option", NULL, NULL,
		    false, 0, 0 },
		{ "a cert-authorityx " ED1, "bad options: unknown key option",
		    NULL, NULL, false, 0, 0 },
		{ "a cert-authority;namespaces=\"x\" " ED1,
		    "bad options: unknown key option", NULL, NULL, false, 0,
		    0 },
		{ "a namespaces=x " ED1, "bad options: unknown key option",
		    NULL, NULL, false, 0, 0 },
		{ "a namespaces=\"x " ED1, "bad options: missing end quote",
		    NULL, NULL, false, 0, 0 },
		{ "a namespaces=\"x\",namespaces=\"x\" " ED1,
		    "bad options: multiple \"namespaces\" clauses", NULL,
		    NULL, false, 0, 0 },
		{ "a valid-after=\"19700102Z\",valid-after=\"19700102Z\" " ED1,
		    "bad options: multiple \"valid-after\" clauses", NULL,
		    NULL, false, 0, 0 },
		{ "a valid-before=\"2025\" " ED1,
		    "bad options: invalid \"valid-before\" time", NULL, NULL,
		    false, 0, 0 },
		{ "a valid-before=\"19700102Z\",valid-after=\"19700103Z\" "
		    ED1,
		    "bad options: \"valid-before\" time is before "
		    "\"valid-after\"", NULL, NULL, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct signer s;
		const char *why = NULL;
		int r = signer_parse(t[i].line, &s, &why);

		if (t[i].why != NULL) {
			assert_int_equal(r, *t[i].why == '\0' ?
				ERR_NOT_FOUND : ERR_FORMAT);
			if (*t[i].why != '\0')
				assert_string_equal(why, t[i].why);
			signer_clear(&s);
			continue;
		}
		assert_int_equal(r, 0);
		assert_string_equal(s.principals, t[i].principals);
		assert_text(s.namespaces, t[i].namespaces);
		assert_int_equal(s.is_ca, t[i].is_ca);
		assert_int_equal(s.valid_after, t[i].after);
		assert_int_equal(s.valid_before, t[i].before);
		assert_non_null(s.key);
		signer_clear(&s);
	}
}

/* ---- checking ----------------------------------------------------------- */

static int
check(const char *line, const struct signer_query *q, struct strlist *names,
    char **why)
{
	struct signer s;
	const char *bad;
	int r;

	assert_int_equal(signer_parse(line, &s, &bad), 0);
	r = signer_check(&s, q, names, why);
	signer_clear(&s);
	return r;
}

static void
test_keys(void **state)
{
	static const struct {
		const char *line, *principal, *namespace;
		uint64_t when;
		int want;
		const char *why;
	} t[] = {
		{ "a " ED1, "a", "file", 5, 0, NULL },
		{ "a " ED1, "b", "file", 5, ERR_NOT_FOUND, NULL },
		{ "a " ED2, "a", "file", 5, ERR_NOT_FOUND, NULL },
		{ "*,!b " ED1, "a", "file", 5, 0, NULL },
		{ "*,!b " ED1, "b", "file", 5, ERR_NOT_FOUND, NULL },
		{ "A " ED1, "a", "file", 5, ERR_NOT_FOUND, NULL },
		{ "a cert-authority " ED1, "a", "file", 5, ERR_NOT_FOUND,
		    NULL },
		{ "a namespaces=\"g*,file\" " ED1, "a", "file", 5, 0, NULL },
		{ "a namespaces=\"g*,!git\" " ED1, "a", "git", 5, ERR_DENIED,
		    "key is not permitted for use in signature namespace "
		    "\"git\"" },
		{ "a namespaces=\"git\" " ED1, "a", NULL, 5, 0, NULL },
		{ "a valid-after=\"19700102Z\" " ED1, "a", "x", 86400, 0,
		    NULL },
		{ "a valid-after=\"19700102Z\" " ED1, "a", "x", 86399,
		    ERR_DENIED, "key is not yet valid: verify time "
		    "1970-01-01T23:59:59 < valid-after 1970-01-02T00:00:00" },
		{ "a valid-before=\"19700102Z\" " ED1, "a", "x", 86400, 0,
		    NULL },
		{ "a valid-before=\"19700102Z\" " ED1, "a", "x", 86401,
		    ERR_DENIED, "key has expired: verify time "
		    "1970-01-02T00:00:01 > valid-before 1970-01-02T00:00:00"
		    },
	};
	struct key *k = key_of(ED1);

	(void)state;
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct signer_query q = { k, t[i].principal, t[i].namespace,
			t[i].when };
		char *why = NULL;

		assert_int_equal(check(t[i].line, &q, NULL, &why), t[i].want);
		assert_text(why, t[i].why);
		free(why);
	}
	key_free(k);
}

static char *
line_for(const char *before, const struct key *k)
{
	struct buf b = { 0 };
	char *line;

	buf_printf(&b, "%s ", before);
	assert_int_equal(key_format_line(k, NULL, &b), 0);
	line = buf_dup_string(&b);
	buf_clear(&b);
	return line;
}

static void
test_certificates(void **state)
{
	static const struct {
		const char *before; /* the key of the CA */
		enum cert_kind kind;
		const char *names, *principal;
		uint64_t when;
		int want;
		const char *why;
	} t[] = {
		{ "* cert-authority", CERT_USER, "a,b", "a", 50, 0, NULL },
		{ "a", CERT_USER, "a", "a", 50, ERR_NOT_FOUND, NULL },
		{ "b cert-authority", CERT_USER, "a", "a", 50, ERR_NOT_FOUND,
		    NULL },
		{ "* cert-authority", CERT_USER, "a", "c", 50, ERR_DENIED,
		    "certificate not authorized: Certificate invalid: name is "
		    "not a listed principal" },
		{ "* cert-authority", CERT_HOST, "a", "a", 50, ERR_DENIED,
		    "certificate not authorized: Certificate invalid: not a "
		    "user certificate" },
		{ "* cert-authority", CERT_USER, "a", "a", 200, ERR_DENIED,
		    "certificate not authorized: Certificate invalid: "
		    "expired" },
		{ "* cert-authority", CERT_USER, "", "a", 50, ERR_DENIED,
		    "certificate not authorized: Certificate lacks principal "
		    "list" },
	};
	struct key *plain = key_of(ED1), *ca = NULL;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct cert_request r = { .kind = t[i].kind, .id = "i",
			.valid_before = 100 };
		char *line = line_for(t[i].before, ca), *why = NULL;
		struct key *cert;
		struct signer_query q = { NULL, t[i].principal, "file",
			t[i].when };

		assert_int_equal(strlist_split(&r.principals, t[i].names, ","),
		    0);
		cert = make_cert_by(plain, &r, ca, "ssh-ed25519");
		q.key = cert;
		assert_int_equal(check(line, &q, NULL, &why), t[i].want);
		assert_text(why, t[i].why);
		/* The plain key is not what the CA vouches for. */
		q.key = plain;
		free(why);
		assert_int_equal(check(line, &q, NULL, &why), ERR_NOT_FOUND);
		free(line);
		/* Nor is it for another CA. */
		line = line_for(t[i].before, plain);
		q.key = cert;
		assert_int_equal(check(line, &q, NULL, &why), ERR_NOT_FOUND);
		free(line);
		key_free(cert);
		strlist_clear(&r.principals);
	}
	key_free(ca);
	key_free(plain);
}

/* A line that names a certificate is for this one, and for no other: neither
 * for its key, nor for what else its CA has made. */
static void
test_certificate_in_a_line(void **state)
{
	struct key *plain = key_of(ED1), *ca = NULL;
	struct cert_request r = { .kind = CERT_USER, .id = "i",
		.valid_before = 100 };
	struct signer_query q = { .principal = "a", .when = 500 };
	struct key *cert, *other;
	char *line, *dated, *ca_line, *why = NULL;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	cert = make_cert_by(plain, &r, ca, "ssh-ed25519");
	r.serial = 2;
	other = make_cert_by(plain, &r, ca, "ssh-ed25519");
	line = line_for("a", cert);
	dated = line_for("a valid-before=\"19700101000010Z\"", cert);
	ca_line = line_for("a cert-authority", cert);
	q.key = cert; /* its own dates do not matter */
	assert_int_equal(check(line, &q, NULL, &why), 0);
	assert_int_equal(check(dated, &q, NULL, &why), ERR_DENIED);
	free(why);
	assert_int_equal(check(ca_line, &q, NULL, &why), ERR_NOT_FOUND);
	q.key = other;
	assert_int_equal(check(line, &q, NULL, &why), ERR_NOT_FOUND);
	q.key = plain;
	assert_int_equal(check(line, &q, NULL, &why), ERR_NOT_FOUND);
	free(line);
	free(dated);
	free(ca_line);
	key_free(cert);
	key_free(other);
	key_free(ca);
	key_free(plain);
}

static void
test_names(void **state)
{
	struct cert_request r = { .kind = CERT_USER, .id = "i",
		.valid_before = 100 };
	struct key *plain = key_of(ED1), *ca = NULL, *cert;
	struct signer_query q = { plain, NULL, NULL, 50 };
	struct strlist names = { 0 };
	char *line, *why = NULL;

	(void)state;
	assert_int_equal(check("\"a,b c\" " ED1, &q, &names, &why), 0);
	assert_int_equal(names.n, 2);
	assert_string_equal(names.v[1], "b c");
	strlist_clear(&names);
	assert_int_equal(check("a valid-before=\"19700101000010Z\" " ED1, &q,
			     &names, &why), ERR_DENIED);
	assert_int_equal(names.n, 0);
	free(why);
	assert_int_equal(strlist_split(&r.principals, "x,ay,az", ","), 0);
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	cert = make_cert_by(plain, &r, ca, "ssh-ed25519");
	q.key = cert;
	line = line_for("a* cert-authority", ca);
	assert_int_equal(check(line, &q, &names, &why), 0);
	assert_int_equal(names.n, 2);
	assert_string_equal(names.v[0], "ay");
	strlist_clear(&names);
	free(line);
	line = line_for("b cert-authority", ca);
	assert_int_equal(check(line, &q, &names, &why), ERR_DENIED);
	assert_string_equal(why, "no valid principals found");
	assert_int_equal(names.n, 0);
	free(why);
	free(line);
	key_free(cert);
	key_free(ca);
	key_free(plain);
	strlist_clear(&r.principals);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_certificate_in_a_line),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
