/* SPDX-License-Identifier: ISC */
/* The lines of a scan: names as the port and the flags want them. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/mem.h"
#include "keys/knownhosts.h"
#include "keytools/keyscan/scan-print.h"
#include "regress/unit/make-cert.h"

static const char line[] = "ssh-ed25519 "
    "AAAAC3NzaC1lZDI1NTE5AAAAIPWqpEQvvS3AM9fv59gH7e59URiu0u46pJBLcngxsLq2";

static struct key *
the_key(void)
{
	const char *s = line;
	struct key *k = NULL;

	assert_int_equal(key_parse_line(&s, &k), 0);
	return k;
}

/* With K in place of the key's line. */
static char *
printed(const struct scan_style *s, const char *names, const struct key *k)
{
	struct buf out = { 0 };
	char *text, *at;

	assert_int_equal(scan_print_key(s, names, k, &out), 0);
	text = buf_dup_string(&out);
	while ((at = strstr(text, line)) != NULL) {
		*at = 'K';
		memmove(at + 1, at + strlen(line),
		    strlen(at + strlen(line)) + 1);
	}
	buf_clear(&out);
	return text;
}

static void
test_names(void **state)
{
	static const struct {
		struct scan_style style;
		const char *want;
	} cases[] = {
		{ { .port = 22 }, "a,b K\n" },
		{ { .port = 2222 }, "[a]:2222 K\n[b]:2222 K\n" },
	};
	struct key *k = the_key();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text = printed(&cases[i].style, "a,b", k);

		assert_string_equal(text, cases[i].want);
		free(text);
	}
	key_free(k);
}

static void
test_hashed_names(void **state)
{
	static const struct scan_style hashed = { .port = 22,
		.hash_names = true };
	struct key *k = the_key();
	char *text = printed(&hashed, "a,b", k), *space, *second;

	(void)state;
	second = strchr(text, '\n') + 1;
	space = strchr(text, ' ');
	*space = '\0';
	assert_true(knownhosts_hosts_match(text, "a"));
	*strchr(second, ' ') = '\0';
	assert_true(knownhosts_hosts_match(second, "b"));
	free(text);
	key_free(k);
}

/* RFC 4255: the digest of the key's blob. */
static void
test_records(void **state)
{
	static const struct scan_style both = { .port = 22, .records = true,
		.sha1 = true, .sha256 = true };
	uint8_t digest[DIGEST_MAX_LEN];
	struct key *k = the_key();
	struct buf blob = { 0 };
	char *want, *hex1, *hex2, *text = printed(&both, "a", k);

	(void)state;
	assert_int_equal(key_to_blob(k, &blob), 0);
	assert_int_equal(digest_once(DIGEST_SHA1, buf_data(&blob),
			     buf_len(&blob), digest), 0);
	hex1 = str_hex(digest, 20);
	assert_int_equal(digest_once(DIGEST_SHA256, buf_data(&blob),
			     buf_len(&blob), digest), 0);
	hex2 = str_hex(digest, 32);
	xasprintf(&want, "a IN SSHFP 4 1 %s\na IN SSHFP 4 2 %s\n", hex1,
	    hex2);
	assert_string_equal(text, want);
	free(want);
	free(hex1);
	free(hex2);
	free(text);
	buf_clear(&blob);
	key_free(k);
}

static void
test_certificates(void **state)
{
	static const struct scan_style plain = { .port = 2222 },
		records = { .port = 22, .records = true, .sha1 = true };
	struct key *k = the_key(), *cert = make_cert_for(k);
	struct buf out = { 0 };
	char *text = printed(&plain, "a,b", cert);

	(void)state;
	assert_true(str_has_prefix(text, "ssh-ed25519-cert-v01@openssh.com "));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_equal(scan_print_key(&records, "a", cert, &out),
	    ERR_UNSUPPORTED);
	free(text);
	key_free(cert);
	key_free(k);
	buf_clear(&out);
}

/* A server's words can neither forge a line nor reach a terminal. */
static void
test_banner(void **state)
{
	static const struct scan_style plain = { .port = 22 },
		records = { .port = 22, .records = true },
		quiet = { .port = 22, .no_banner = true };
	struct buf out = { 0 };
	char *text;

	(void)state;
	scan_print_banner(&plain, "h", "SSH-2.0-x \033[2J\rh ssh-rsa A", &out);
	scan_print_banner(&records, "h", "SSH-2.0-y", &out);
	scan_print_banner(&quiet, "h", "SSH-2.0-z", &out);
	text = buf_dup_string(&out);
	assert_string_equal(text, "# h:22 SSH-2.0-x \\033[2J\\015h ssh-rsa A\n"
				  "; h:22 SSH-2.0-y\n");
	free(text);
	buf_clear(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hashed_names),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_banner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
