/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <string.h>

#include "base/mem.h"
#include "keys/revoked-keys.h"
#include "regress/unit/make-cert.h"

/* Throwaway keys. */
#define ED1                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQC" \
	"PcRLkkTIUOy2"
#define ED2                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftjVlsrKmhoV" \
	"HNu/YpNL/zNk"

static struct key *
key_of(const char *line)
{
	struct key *k = NULL;

	assert_int_equal(key_parse_line(&line, &k), 0);
	return k;
}

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

static void
test_lists(void **state)
{
	static const struct {
		const char *text;
		bool revoked;
	} t[] = {
		{ "", false },
		{ "\n\n# " ED1 "\n", false },
		{ ED2 "\n", false },
		{ ED1, true },
		{ ED1 " with a comment\n", true },
		{ "  \t" ED1 "\r\n", true },
		{ "no key\nssh-ed25519 AAAA\nfake-cert AAAA\n" ED1 "\n", true },
		{ ED2 "\n" ED1 "\n" ED2 "\n", true },
		/* Options are no part of such lists. */
		{ "restrict " ED1 "\n", false },
	};
	struct key *plain = key_of(ED1);
	struct key *cert = make_cert_for(plain);
	bool revoked;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		revoked = !t[i].revoked;
		assert_int_equal(find(t[i].text, plain, &revoked), 0);
		assert_int_equal(revoked, t[i].revoked);
		/* Who revokes a key revokes its certificates. */
		assert_int_equal(find(t[i].text, cert, &revoked), 0);
		assert_int_equal(revoked, t[i].revoked);
	}
	key_free(cert);
	key_free(plain);
}

static void
test_binary_list(void **state)
{
	struct key *k = key_of(ED1);
	bool revoked;

	(void)state;
	assert_int_equal(find("SSHKRL\n\n" ED1 "\n", k, &revoked),
	    ERR_UNSUPPORTED);
	key_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_binary_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
