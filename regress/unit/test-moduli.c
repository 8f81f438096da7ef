/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <fcntl.h>
#include <openssl/bn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wire.h"
#include "crypto/kem.h"
#include "crypto/moduli.h"

enum { SMALL_BITS = 512 }; /* of primes that are made here */

static bool
stop_at_once(void *arg)
{
	++*(int *)arg;
	return false;
}

static void
test_generate(void **state)
{
	struct modulus m = { 0 }, again = { 0 };
	struct buf line;
	char *text;
	bool passed = false;
	int calls = 0;

	(void)state;
	assert_int_equal(moduli_generate(SMALL_BITS, &m, NULL, NULL), 0);
	assert_int_equal(m.bits, SMALL_BITS);
	assert_true(moduli_is_usable(&m));
	buf_init(&line);
	assert_int_equal(moduli_format(&line, &m), 0);
	text = buf_dup_string(&line);
	assert_non_null(text);
	assert_int_equal(moduli_parse(text, &again), 0);
	assert_string_equal(again.time, m.time);
	assert_int_equal(again.bits, m.bits);
	assert_int_equal(buf_len(&again.prime), SMALL_BITS / 8);
	assert_memory_equal(buf_data(&again.prime), buf_data(&m.prime),
	    SMALL_BITS / 8);
	assert_int_equal(buf_len(&again.generator), 1);
	assert_int_equal(buf_data(&again.generator)[0], 2);

	again.trials = 0;
	assert_false(moduli_is_usable(&again));
	assert_int_equal(moduli_screen(&again, &passed), 0);
	assert_true(passed);
	assert_true(moduli_is_usable(&again));

	/* The same prime less 2 is none: 23 mod 24 becomes 21. */
	buf_reset(&again.prime);
	buf_put(&again.prime, buf_data(&m.prime), SMALL_BITS / 8 - 1);
	buf_put_u8(&again.prime,
	    (uint8_t)(buf_data(&m.prime)[SMALL_BITS / 8 - 1] - 2));
	assert_int_equal(moduli_screen(&again, &passed), 0);
	assert_false(passed);

	assert_int_equal(moduli_generate(2048, &again, stop_at_once, &calls),
	    ERR_CANCELLED);
	assert_int_equal(calls, 1);
	assert_int_equal(moduli_generate(64, &again, NULL, NULL),
	    ERR_ARGUMENT);
	free(text);
	buf_clear(&line);
	moduli_clear(&m);
	moduli_clear(&again);
}

/* 23 = 2 * 11 + 1; the line gives 11, or something composite. */
static void
test_screen_candidate(void **state)
{
	struct modulus m = { .type = MODULI_TYPE_SOPHIE_GERMAIN };
	bool passed = false;

	(void)state;
	buf_put_u8(&m.prime, 11);
	assert_int_equal(moduli_screen(&m, &passed), 0);
	assert_true(passed);
	assert_int_equal(m.type, MODULI_TYPE_SAFE);
	assert_int_equal(buf_data(&m.prime)[0], 23);
	moduli_clear(&m);

	m.type = MODULI_TYPE_SOPHIE_GERMAIN;
	buf_put_u8(&m.prime, 13); /* 27 is no prime */
	assert_int_equal(moduli_screen(&m, &passed), 0);
	assert_false(passed);
	m.type = 0;
	assert_int_equal(moduli_screen(&m, &passed), ERR_ARGUMENT);
	moduli_clear(&m);
}

static void
test_bad_lines(void **state)
{
	static const struct {
		const char *line;
		int want;
	} lines[] = {
		{ "", ERR_NOT_FOUND },
		{ "\n", ERR_NOT_FOUND },
		{ "  # Time Type Tests\n", ERR_NOT_FOUND },
		{ "20261120000000 2 6 64 2047 2\n", ERR_FORMAT },
		{ "20261120000000 2 6 64 2047 2 FF FF\n", ERR_FORMAT },
		{ "20261120000000 2 6 64 2047 2 FF\n", ERR_FORMAT },
		{ "20261120000000 2 6 64 7 2 FF\n", ERR_FORMAT },
		{ "2026112000000 2 6 64 7 2 FF\n", ERR_FORMAT },
		{ "20261120000000 9 6 64 7 2 FF\n", ERR_FORMAT },
		{ "20261120000000 2 6 -1 7 2 FF\n", ERR_FORMAT },
		{ "20261120000000 2 6 64 7 2 -F\n", ERR_FORMAT },
		{ "20261120000000 2 6 64 7 2 FG\n", ERR_FORMAT },
	};
	struct modulus m = { 0 };
	char *huge;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(moduli_parse(lines[i].line, &m),
		    lines[i].want);
	huge = malloc(MODULI_MAX_LINE + 1);
	assert_non_null(huge);
	memset(huge, '1', MODULI_MAX_LINE);
	huge[MODULI_MAX_LINE] = '\0';
	assert_int_equal(moduli_parse(huge, &m), ERR_LIMIT);
	free(huge);
}

/* Bits of the group that is chosen, or the error. *last is the last byte of
 * the prime. */
static int
choose(const char *path, uint32_t min, uint32_t want, uint32_t max,
    uint8_t *last)
{
	struct buf prime, generator;
	int r;

	buf_init(&prime);
	buf_init(&generator);
	r = kem_choose_group(path, min, want, max, &prime, &generator);
	if (r == 0) {
		assert_int_equal(buf_len(&generator), 1);
		assert_int_equal(buf_data(&generator)[0], 2);
		r = (int)buf_len(&prime) * 8;
		*last = buf_data(&prime)[buf_len(&prime) - 1];
	}
	buf_clear(&prime);
	buf_clear(&generator);
	return r;
}

static void
test_fixed_groups(void **state)
{
	static const struct {
		uint32_t min, want, max;
		int bits;
	} cases[] = {
		{ 2048, 2048, 8192, 2048 },
		{ 1024, 1024, 8192, 2048 },
		{ 2048, 2049, 8192, 3072 },
		{ 2048, 3072, 8192, 3072 },
		{ 2048, 7680, 8192, 8192 },
		{ 2048, 8192, 8192, 8192 },
		{ 2048, 8192, 16384, 8192 },
		{ 2048, 8192, 5000, 4096 },
		{ 5000, 2048, 6200, 6144 },
		{ 5000, 5000, 5100, ERR_NOT_FOUND },
		{ 4096, 4096, 2048, ERR_NOT_FOUND },
		{ 1024, 1024, 1024, ERR_NOT_FOUND },
		{ 16384, 16384, 16384, ERR_NOT_FOUND },
	};
	uint8_t last = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(choose(NULL, cases[i].min, cases[i].want,
		    cases[i].max, &last), cases[i].bits);
		assert_int_equal(choose("/nonexistent/moduli", cases[i].min,
		    cases[i].want, cases[i].max, &last), cases[i].bits);
	}
}

/* A line that looks like a group of `bits`; its last byte is told apart. */
static void
write_line(FILE *f, int type, int tests, int bits, int last)
{
	fprintf(f, "20261120000000 %d %d 64 %d 2 ", type, tests, bits - 1);
	for (int i = 0; i < bits / 8 - 1; i++)
		fputs("FF", f);
	fprintf(f, "%02X\n", last);
}

static void
test_file(void **state)
{
	char path[] = "/tmp/test-moduli.XXXXXX";
	int fd = mkstemp(path), seen = 0;
	uint8_t last = 0;
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	fputs("# Time Type Tests Tries Size Generator Modulus\n\n", f);
	write_line(f, 2, 6, 2048, 1);
	write_line(f, 2, 6, 3072, 3);
	for (int i = 0; i < 10000; i++)
		putc('x', f); /* an overlong line is passed over */
	putc('\n', f);
	write_line(f, 2, 6, 3072, 5);
	write_line(f, 2, 7, 4096, 7);  /* failed a test */
	write_line(f, 4, 6, 4096, 9);  /* not a safe prime */
	write_line(f, 2, 2, 4096, 11); /* not tested */
	fputs("garbage\n", f);
	assert_int_equal(fclose(f), 0);

	assert_int_equal(choose(path, 2048, 2048, 8192, &last), 2048);
	assert_int_equal(last, 1);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(choose(path, 2048, 4096, 8192, &last), 3072);
		assert_true(last == 3 || last == 5);
		seen |= last;
	}
	assert_int_equal(seen, 7); /* each of them once at least */
	/* Nothing in the file fits: RFC 3526. */
	assert_int_equal(choose(path, 4096, 4096, 8192, &last), 4096);
	assert_int_equal(last, 0xff);
	unlink(path);
}

/* The file that we install: every line is good, some of each size. */
static void
test_installed_file(void **state)
{
	static const int sizes[] = { 2048, 3072, 4096 };
	const char *srcdir = getenv("srcdir");
	char path[4096], line[MODULI_MAX_LINE];
	struct modulus m = { 0 };
	uint8_t last;
	FILE *f;

	(void)state;
	snprintf(path, sizeof path, "%s/contrib/moduli",
	    srcdir != NULL ? srcdir : ".");
	f = fopen(path, "re");
	if (f == NULL) {
		print_message(
		    "started from elsewhere than the build directory\n");
		skip();
	}
	while (fgets(line, sizeof line, f) != NULL) {
		if (line[0] == '#')
			continue;
		assert_int_equal(moduli_parse(line, &m), 0);
		assert_true(moduli_is_usable(&m));
	}
	fclose(f);
	moduli_clear(&m);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		assert_int_equal(choose(path, 2048, (uint32_t)sizes[i], 8192,
		    &last), sizes[i]);
		assert_int_not_equal(last, 0xff); /* not RFC 3526's */
	}
}

/* ---- candidates --------------------------------------------------------- */

enum { SIEVE_BITS = 520, DIVISORS = 1 << 20, CHECKED = 10 };

/* Is there a divisor below DIVISORS? */
static bool
has_divisor(const BIGNUM *n, const uint8_t *composite)
{
	for (size_t s = 3; s < DIVISORS; s += 2)
		if (!composite[s] && BN_mod_word(n, s) == 0)
			return true;
	return false;
}

struct expected {
	BIGNUM *next;	/* the number to try next */
	uint8_t *composite;
	size_t count;
};

/* Between two candidates there is no number that should be one. */
static int
check_candidate(void *arg, const struct modulus *m)
{
	struct expected *e = arg;
	BIGNUM *q = BN_bin2bn(buf_data(&m->prime), (int)buf_len(&m->prime),
	    NULL);
	BIGNUM *p = BN_new();

	assert_int_equal(m->type, MODULI_TYPE_SOPHIE_GERMAIN);
	assert_int_equal(m->bits, SIEVE_BITS - 1);
	assert_int_equal(BN_num_bits(q), SIEVE_BITS - 1);
	for (;; BN_add_word(e->next, 2)) {
		bool useless;

		assert_true(BN_cmp(e->next, q) <= 0);
		assert_true(BN_lshift1(p, e->next) && BN_add_word(p, 1));
		useless = has_divisor(e->next, e->composite) ||
		    has_divisor(p, e->composite);
		assert_int_equal(useless, BN_cmp(e->next, q) != 0);
		if (!useless)
			break;
	}
	BN_add_word(e->next, 2);
	BN_free(p);
	BN_free(q);
	return ++e->count == CHECKED ? ERR_CANCELLED : 0;
}

static void
test_candidates(void **state)
{
	struct expected e = { .next = BN_new(),
		.composite = calloc(DIVISORS, 1) };
	struct buf start = { 0 };

	(void)state;
	for (size_t i = 2; i < DIVISORS; i++)
		for (size_t j = 2 * i; !e.composite[i] && j < DIVISORS; j += i)
			e.composite[j] = 1;
	/* 519 bits, even: the window begins with the next number. */
	buf_put_u8(&start, 0x55);
	for (int i = 1; i < 65; i++)
		buf_put_u8(&start, (uint8_t)(i * 37));
	assert_non_null(BN_bin2bn(buf_data(&start), (int)buf_len(&start),
	    e.next));
	assert_false(BN_is_odd(e.next));
	BN_add_word(e.next, 1);
	assert_int_equal(moduli_candidates(SIEVE_BITS, &start,
			     check_candidate, &e), ERR_CANCELLED);
	assert_int_equal(e.count, CHECKED);
	/* A start of another length, and sizes that are not made. */
	assert_int_equal(moduli_candidates(SIEVE_BITS + 1, &start,
			     check_candidate, &e), ERR_ARGUMENT);
	assert_int_equal(moduli_candidates(512, NULL, check_candidate, &e),
	    ERR_ARGUMENT);
	assert_int_equal(moduli_candidates(MODULI_MAX_BITS + 1, NULL,
			     check_candidate, &e), ERR_ARGUMENT);
	buf_clear(&start);
	free(e.composite);
	BN_free(e.next);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generate),
		cmocka_unit_test(test_screen_candidate),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_fixed_groups),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_installed_file),
		cmocka_unit_test(test_candidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
