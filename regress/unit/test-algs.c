/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/algs.h"
#include "conf/tokens.h"

static void
test_lists(void **state)
{
	static const struct {
		enum algs_kind kind;
		const char *text;
		int r;
		const char *bad;
	} faults[] = {
		/* What signs a certificate is no certificate. */
		{ ALGS_CA, "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519",
		    ERR_UNSUPPORTED, "ssh-ed25519-cert-v01@openssh.com" },
		{ ALGS_CIPHER, "aes128-ctr,rot13", ERR_UNSUPPORTED, "rot13" },
		{ ALGS_CIPHER, "+rot13", ERR_UNSUPPORTED, "rot13" },
		{ ALGS_CIPHER, "^rot13", ERR_UNSUPPORTED, "rot13" },
		{ ALGS_CIPHER, "none", ERR_UNSUPPORTED, "none" },
		{ ALGS_CIPHER, "", ERR_SYNTAX, NULL },
		{ ALGS_CIPHER, ",", ERR_SYNTAX, NULL },
		{ ALGS_CIPHER, "-*", ERR_SYNTAX, NULL },
		{ ALGS_MAC, "aes128-ctr", ERR_UNSUPPORTED, "aes128-ctr" },
		{ ALGS_MAC, "aes128-cbc,hmac-sha1", ERR_UNSUPPORTED,
		    "aes128-cbc" },
		{ ALGS_CIPHER, "aes*", ERR_UNSUPPORTED, "aes*" },
		{ ALGS_HOST_KEY, "ssh-ed25519,foo*", ERR_UNSUPPORTED, "foo*" },
		{ ALGS_HOST_KEY, "ssh-dss", ERR_UNSUPPORTED, "ssh-dss" },
		{ ALGS_KEX_GSS, "gss-gex-sha256-", ERR_UNSUPPORTED,
		    "gss-gex-sha256-" },
		{ ALGS_MAC, "none", ERR_SYNTAX, NULL },
	};
	struct algs_result res;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_int_equal(algs_parse(faults[i].kind, faults[i].text,
		    &res), faults[i].r);
		assert_null(res.list);
		if (faults[i].bad != NULL)
			assert_string_equal(res.bad, faults[i].bad);
		else
			assert_null(res.bad);
		algs_result_clear(&res);
	}
}

/* What a text comes to. */
static void
expect(enum algs_kind kind, const char *text, const char *list)
{
	struct algs_result res;

	assert_int_equal(algs_parse(kind, text, &res), 0);
	assert_string_equal(res.list, list);
	algs_result_clear(&res);
}

static void
test_names(void **state)
{
	char *base = algs_default(ALGS_CIPHER), *more, *pubkeys;

	(void)state;
	expect(ALGS_CIPHER, "aes256-ctr,aes128-ctr,aes256-ctr",
	    "aes256-ctr,aes128-ctr");
	expect(ALGS_KEX_GSS, "gss-gex-sha1-,gss-group14-sha1-",
	    "gss-gex-sha1-,gss-group14-sha1-");
	/* By HPN-SSH's name, once, and in its place. */
	expect(ALGS_CIPHER, "chacha20-poly1305-mt@hpnssh.org,aes128-ctr,"
	    "chacha20-poly1305@openssh.com",
	    "chacha20-poly1305@openssh.com,aes128-ctr");
	/* Old ones are there for those who ask, and in no default. */
	xasprintf(&more, "%s,aes128-cbc,3des-cbc", base);
	expect(ALGS_CIPHER, "+aes128-cbc,3des-cbc", more);
	expect(ALGS_MAC, "hmac-md5,hmac-sha2-256", "hmac-md5,hmac-sha2-256");
	/* Not before the login. */
	expect(ALGS_MAC, "none,hmac-sha2-256,none", "hmac-sha2-256");
	expect(ALGS_KEX_SERVER,
	    "diffie-hellman-group14-sha1,curve25519-sha256",
	    "diffie-hellman-group14-sha1,curve25519-sha256");
	free(more);
	/* Patterns are for keys. */
	expect(ALGS_HOST_KEY, "ecdsa-*-nistp???",
	    "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521");
	expect(ALGS_PUBKEY, "ssh-ed255??,ssh-ed25519", "ssh-ed25519");
	expect(ALGS_HOST_KEY, "ssh-ed25519-cert-*,ssh-ed25519",
	    "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519");
	expect(ALGS_HOST_KEY, "ssh-mldsa44-*,ssh-ed25519",
	    "ssh-mldsa44-ed25519@openssh.com,"
	    "ssh-mldsa44-ed25519-cert-v01@openssh.com,ssh-ed25519");
	pubkeys = algs_default(ALGS_PUBKEY);
	expect(ALGS_PUBKEY, "+rsa-*", pubkeys);
	free(pubkeys);
	free(base);
}

static void
test_changes(void **state)
{
	char *base = algs_default(ALGS_KEX_SERVER), *want;
	struct algs_result res;

	(void)state;
	xasprintf(&want, "%s,diffie-hellman-group14-sha256", base);
	expect(ALGS_KEX_SERVER,
	    "+diffie-hellman-group14-sha256,curve25519-sha256", want);
	free(want);

	assert_int_equal(algs_parse(ALGS_KEX_SERVER,
	    "^ecdh-sha2-nistp521,curve25519-sha256", &res), 0);
	assert_true(str_has_prefix(res.list,
	    "ecdh-sha2-nistp521,curve25519-sha256,"));
	assert_int_equal(strlen(res.list), strlen(base));
	algs_result_clear(&res);

	assert_int_equal(algs_parse(ALGS_KEX_SERVER, "-*nistp*,unknown",
	    &res), 0);
	assert_null(strstr(res.list, "nistp"));
	assert_true(csv_has(res.list, "curve25519-sha256"));
	algs_result_clear(&res);
	free(base);
}

/* The tables say who appends DH. */
static void
test_defaults(void **state)
{
	static const enum algs_kind kinds[] = { ALGS_KEX_CLIENT,
		ALGS_KEX_SERVER, ALGS_CIPHER, ALGS_MAC, ALGS_HOST_KEY,
		ALGS_HOST_KEY_SERVER, ALGS_PUBKEY };
	char *list;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		list = algs_default(kinds[i]);
		assert_true(*list != '\0');
		assert_false(csv_has(list, "none"));
		free(list);
	}
	list = algs_default(ALGS_KEX_CLIENT);
	assert_non_null(strstr(list, "diffie-hellman-group16-sha512"));
	free(list);
}

static void
test_tokens(void **state)
{
	static const struct token tokens[] = { { 'h', "host" }, { 'x', "%h" },
		{ 'n', NULL }, { 'v', "${HOME}" } };
	static const struct {
		const char *text;
		bool env;
		int r;
		const char *out;
		char bad;
	} cases[] = {
		{ "", false, 0, "", 0 },
		{ "a%%b", false, 0, "a%b", 0 },
		{ "%h-%x-%n-%v", true, 0, "host-%h--${HOME}", 0 },
		{ "${HPN_T}", false, 0, "${HPN_T}", 0 },
		{ "${HPN_T}/%h", true, 0, "%h/host", 0 },
		{ "$HPN_T", true, 0, "$HPN_T", 0 },
		{ "%q", false, ERR_SYNTAX, NULL, 'q' },
		{ "%", false, ERR_SYNTAX, NULL, 0 },
		{ "${", true, ERR_SYNTAX, NULL, '$' },
		{ "${}", true, ERR_SYNTAX, NULL, '$' },
		{ "${HPN_NOT_THERE}", true, ERR_NOT_FOUND, NULL, '$' },
	};
	char *out, bad;
	int r;

	(void)state;
	setenv("HPN_T", "%h", 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		r = cases[i].env ?
		    tokens_expand_env(cases[i].text, tokens,
			ARRAY_LEN(tokens), &out, &bad) :
		    tokens_expand(cases[i].text, tokens, ARRAY_LEN(tokens),
			&out, &bad);
		assert_int_equal(r, cases[i].r);
		if (r == 0)
			assert_string_equal(out, cases[i].out);
		else
			assert_int_equal(bad, cases[i].bad);
		free(out);
	}
}

static void
test_tokens_limit(void **state)
{
	struct token big = { 'b', NULL };
	char value[1001], text[203], *out, bad;

	(void)state;
	memset(value, 'x', 1000);
	value[1000] = '\0';
	big.value = value;
	for (int i = 0; i < 200; i += 2)
		memcpy(text + i, "%b", 3);
	assert_int_equal(tokens_expand(text, &big, 1, &out, &bad), ERR_LIMIT);
	assert_null(out);
}

static void
test_tilde(void **state)
{
	char *out;

	(void)state;
	assert_int_equal(tokens_expand_tilde("~/a", "/h", &out), 0);
	assert_string_equal(out, "/h/a");
	free(out);
	assert_int_equal(tokens_expand_tilde("~", "/h/", &out), 0);
	assert_string_equal(out, "/h/");
	free(out);
	assert_int_equal(tokens_expand_tilde("~root", "/h", &out), 0);
	assert_string_equal(out, "/root/");
	free(out);
	assert_int_equal(tokens_expand_tilde("~", "/h", &out), 0);
	assert_string_equal(out, "/h/");
	free(out);
	assert_int_equal(tokens_expand_tilde("/a/~", "/h", &out), 0);
	assert_string_equal(out, "/a/~");
	free(out);
	assert_int_equal(tokens_expand_tilde("~root/x", "/h", &out), 0);
	assert_true(str_has_prefix(out, "/"));
	free(out);
	assert_int_equal(tokens_expand_tilde("~no-such-user/x", "/h", &out),
	    ERR_NOT_FOUND);
	assert_null(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_changes),
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_tokens),
	    cmocka_unit_test(test_tokens_limit),
	    cmocka_unit_test(test_tilde),
	};

	return cmocka_run_group_tests_name("algs", tests, NULL, NULL);
}
