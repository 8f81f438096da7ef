/* SPDX-License-Identifier: ISC */
/*
 * Keys and signatures of ML-DSA-44 in constant time: valgrind runs them with a
 * seed and randomness that count as undefined, so that it complains of each
 * branch and each index that depends on them. What ct_reveal() names is
 * allowed. And a signature that only a signer who does not reject gives out.
 */
#include "regress/unit/hex.h"

#include <stdlib.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define HAVE_MEMCHECK
#define ct_reveal(p, len) ((void)VALGRIND_MAKE_MEM_DEFINED(p, len))
#endif
#endif

#include "crypto/fallback/mldsa44-poly.c"
#include "crypto/fallback/mldsa44-own.c"

static uint8_t public[MLDSA44_PUBLIC_LEN], signature[MLDSA44_SIGNATURE_LEN];

#ifdef HAVE_MEMCHECK
/* What valgrind runs: "sign", or "leak" for a branch on the seed. */
static int
run(const char *what)
{
	static const uint8_t text[] = "text";
	struct mldsa44_message m = { { text, 4 }, { text, 4 } };
	uint8_t seed[MLDSA44_SEED_LEN] = { 1 };
	uint8_t random[MLDSA44_RANDOM_LEN] = { 2 };

	/* Several, so that every reason for rejection comes up. */
	for (uint8_t i = 0; i < 3; i++) {
		seed[0] = i;
		VALGRIND_MAKE_MEM_UNDEFINED(seed, sizeof seed);
		VALGRIND_MAKE_MEM_UNDEFINED(random, sizeof random);
		if (strcmp(what, "leak") == 0 && seed[0] == 1)
			random[0] ^= 1;
		mldsa44_own_public(public, seed);
		VALGRIND_MAKE_MEM_DEFINED(public, sizeof public);
		if (mldsa44_own_sign(signature, seed, &m, random) != 0 ||
		    mldsa44_own_verify(signature, public, &m) != 0)
			return 2;
	}
	return 0;
}

static int
under_valgrind(const char *program, const char *what)
{
	char command[4096];

	snprintf(command, sizeof command,
	    "valgrind -q --error-exitcode=9 '%s' %s >/dev/null 2>&1", program,
	    what);
	return system(command);
}
#endif

static const char *own_path;

static void
test_constant_time(void **state)
{
	(void)state;
#ifdef HAVE_MEMCHECK
	if (system("valgrind --version >/dev/null 2>&1") != 0) {
		print_message("valgrind is not installed\n");
		skip();
	}
#ifdef __SANITIZE_ADDRESS__
	print_message("valgrind does not run a sanitizer's program\n");
	skip();
#endif
	/* It sees what it is to see, */
	assert_int_equal(under_valgrind(own_path, "leak"), 9 << 8);
	assert_int_equal(under_valgrind(own_path, "sign"), 0);
#else
	print_message("valgrind's headers are not installed\n");
	skip();
#endif
}

/* A response that is too large, in a signature that is right otherwise. */
static void
test_large_response(void **state)
{
	static const uint8_t seed[MLDSA44_SEED_LEN] = { 8 };
	static struct expanded x;
	static struct attempt t;
	struct mldsa44_message m = { { NULL, 0 }, { NULL, 0 } };
	uint8_t mu[CRH_LEN], mask_seed[CRH_LEN] = { 1 };
	bool found = false, large;
	uint32_t other;

	(void)state;
	expand_key(&x, public, seed);
	assert_int_equal(hash_message(mu, x.tr, &m), 0);
	for (int i = 0; i < K; i++) {
		ntt(&x.s1.v[i]);
		ntt(&x.s2.v[i]);
		ntt(&x.t0.v[i]);
	}
	for (unsigned round = 0; round < 100 && !found; round++) {
		commit(&t, &x, mu, mask_seed, L * round);
		large = respond(&t, &x) != 0;
		other = check_low(&t, &x) | make_hints(&t, &x);
		for (int i = 0; i < L; i++)
			other |= poly_reaches(&t.z.v[i], GAMMA1);
		found = large && other == 0;
	}
	assert_true(found);
	put_signature(signature, &t);
	assert_int_equal(mldsa44_own_verify(signature, public, &m),
	    ERR_SIGNATURE);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant_time),
		cmocka_unit_test(test_large_response),
	};

#ifdef HAVE_MEMCHECK
	if (argc == 2)
		return run(argv[1]);
#endif
	(void)argc;
	own_path = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
