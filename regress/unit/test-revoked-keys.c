/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/krl.h"
#include "keys/revoked-keys.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

/* Throwaway keys. */
#define ED1                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQC" \
	"PcRLkkTIUOy2"
#define ED2                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftjVlsrKmhoV" \
	"HNu/YpNL/zNk"

static int
find(const char *text, const struct key *k, bool *revoked)
{
	struct buf list = { 0 };
	int r;

	buf_put(&list, text, strlen(text));
	r = revoked_keys_find(&list, k, revoked);
	buf_clear(&list);
	return r;
}

#define XMSS                                                                   \
	"ssh-xmss@openssh.com AAAAFHNzaC14bXNzQG9wZW5zc2guY29tAAA="

static void
test_lists(void **state)
{
	static const struct {
		const char *text;
		int want;
		bool revoked;
	} t[] = {
		{ "", 0, false },
		{ "\n\n# " ED1 "\n", 0, false },
		{ ED2 "\n", 0, false },
		{ ED1, 0, true },
		{ ED1 " with a comment\n", 0, true },
		{ "  \t" ED1 "\r\n", 0, true },
		{ ED2 "\n" ED1 "\n" ED2 "\n", 0, true },
		/* Keys that nobody can have. */
		{ XMSS "\n", 0, false },
		{ XMSS " c\n" ED1, 0, true },
		/* Whoever wrote it may have meant any key. */
		{ "no key\n", ERR_FORMAT, true },
		{ "ssh-ed25519 AAAA\n", ERR_TRUNCATED, true },
		{ "fake-cert AAAA\n", ERR_FORMAT, true },
		{ "x" XMSS "\n", ERR_FORMAT, true },
		{ "restrict " ED2 "\n", ERR_FORMAT, true },
		{ "SSHKRL\n\n" ED2 "\n", ERR_FORMAT, true },
	};
	struct key *plain = key_of(ED1);
	struct key *cert = make_cert_for(plain);
	bool revoked;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		revoked = !t[i].revoked;
		assert_int_equal(find(t[i].text, plain, &revoked), t[i].want);
		assert_int_equal(revoked, t[i].revoked);
		/* Who revokes a key revokes its certificates. */
		assert_int_equal(find(t[i].text, cert, &revoked), t[i].want);
		assert_int_equal(revoked, t[i].revoked);
	}
	key_free(cert);
	key_free(plain);
}

static void
test_authority(void **state)
{
	static const struct cert_request request = { .kind = CERT_USER,
		.id = "id", .valid_before = CERT_FOREVER };
	struct key *plain = key_of(ED2), *ca = NULL, *cert;
	struct buf line = { 0 };
	char *text;
	bool revoked;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	cert = make_cert_by(plain, &request, ca, "ssh-ed25519");
	assert_int_equal(key_format_line(ca, NULL, &line), 0);
	text = buf_dup_string(&line);
	assert_int_equal(find(text, cert, &revoked), 0);
	assert_true(revoked);
	assert_int_equal(find(text, plain, &revoked), 0);
	assert_false(revoked);
	free(text);
	buf_clear(&line);
	key_free(cert);
	key_free(ca);
	key_free(plain);
}

static void
test_binary_list(void **state)
{
	struct krl_header header = { .version = 1 };
	struct key *k = key_of(ED1), *other = key_of(ED2);
	struct krl *l = NULL;
	struct buf b = { 0 };
	bool revoked;

	(void)state;
	assert_int_equal(krl_new(&l), 0);
	assert_int_equal(krl_add_key(l, k), 0);
	assert_int_equal(krl_write(l, &header, &b), 0);
	assert_int_equal(revoked_keys_find(&b, k, &revoked), 0);
	assert_true(revoked);
	assert_int_equal(revoked_keys_find(&b, other, &revoked), 0);
	assert_false(revoked);
	buf_truncate(&b, buf_len(&b) - 1);
	assert_int_not_equal(revoked_keys_find(&b, other, &revoked), 0);
	assert_true(revoked);
	krl_free(l);
	buf_clear(&b);
	key_free(other);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_authority),
		cmocka_unit_test(test_binary_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
