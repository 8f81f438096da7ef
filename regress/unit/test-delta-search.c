/* SPDX-License-Identifier: ISC */
/* The search for blocks of one file in another: what it finds, that it reads
 * nothing behind its buffer, and what wrong sums cost it. */
#include "regress/unit/help.h"

#include <sys/mman.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wire.h"
#include "xfer/delta/delta-search.h"

static const uint8_t seed[BLOCK_SUM_SEED] = "a seed that has its bytes";
static struct poly1305 *poly;

/* Sums as a server gives them. */
static struct delta_sums *
sums_of(const uint8_t *p, size_t len, uint32_t block)
{
	struct delta_sums *s = delta_sums_new(seed, block, len);
	uint8_t wire[BLOCK_SUM_BYTES];

	assert_non_null(s);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t weak = 0;

		for (size_t n = 0; n < block; n++)
			weak = weak * s->factor + p[i * (size_t)block + n];
		wire_put_u32(wire, weak);
		assert_int_equal(block_sum_strong(poly, seed,
		    p + i * (size_t)block, block, wire + 4), 0);
		delta_sums_put(s, i, wire, 1);
	}
	assert_int_equal(s->filled, s->count);
	assert_true(delta_sums_index(s));
	return s;
}

/* Searches p in pieces, and puts together what is found: the bytes of `old`
 * that runs name have to be those of p. Returns how many bytes were found. */
static uint64_t
search_all(struct delta_search *search, const uint8_t *old, const uint8_t *p,
    size_t len, size_t piece)
{
	uint32_t block = search->sums->block;
	size_t at = 0, have = 0, n;
	uint64_t sum = 0, until = 0;

	for (;;) {
		have = MIN(MAX(have + 1, at + piece), len);
		search->runs = 0;
		n = delta_search_scan(search, p + at, have - at);
		at += n;
		assert_int_equal(at, search->at);
		for (uint32_t i = 0; i < search->runs; i++) {
			const struct delta_run *r = &search->run[i];
			size_t bytes = (size_t)r->count * block;

			assert_true(r->at >= until);
			until = r->at + bytes;
			assert_true(until <= len);
			if (old != NULL)
				assert_memory_equal(p + r->at,
				    old + (size_t)r->block * block, bytes);
			sum += bytes;
		}
		if (n == 0 && have == len)
			return sum;
	}
}

/* What is put in, taken out, or changed costs no more than the blocks that it
 * touches. */
static void
test_changes(void **state)
{
	enum { BLOCK = 2048, SIZE = 300 * BLOCK + 77, MORE = 5000 };
	uint8_t *old = malloc(SIZE), *new = malloc(SIZE + MORE);
	static const size_t pieces[] = { 1, BLOCK - 1, BLOCK, 3 * BLOCK + 1,
		SIZE + MORE };
	struct delta_sums *sums;

	(void)state;
	fill_bytes(old, SIZE, 1);
	sums = sums_of(old, SIZE, BLOCK);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct delta_search *search = delta_search_new(sums);
		size_t cut = 100 * BLOCK + 123;

		/* put in */
		memcpy(new, old, cut);
		fill_bytes(new + cut, MORE, 2);
		memcpy(new + cut + MORE, old + cut, SIZE - cut);
		assert_int_equal(search_all(search, old, new, SIZE + MORE,
		    pieces[i]), 299 * BLOCK);
		delta_search_free(search);
		/* taken out */
		search = delta_search_new(sums);
		memcpy(new, old, cut);
		memcpy(new + cut, old + cut + MORE, SIZE - cut - MORE);
		assert_int_equal(search_all(search, old, new, SIZE - MORE,
		    pieces[i]), (100 + 300 - 103) * BLOCK);
		delta_search_free(search);
		/* changed; the first and the last byte, too */
		search = delta_search_new(sums);
		memcpy(new, old, SIZE);
		new[0]++;
		new[cut]++;
		new[SIZE - 1]++;
		assert_int_equal(search_all(search, old, new, SIZE,
		    pieces[i]), 298 * BLOCK);
		delta_search_free(search);
		/* nothing in common, and less than a block */
		search = delta_search_new(sums);
		fill_bytes(new, SIZE, 3);
		assert_int_equal(search_all(search, old, new, SIZE,
		    pieces[i]), 0);
		delta_search_free(search);
		search = delta_search_new(sums);
		assert_int_equal(search_all(search, old, old, BLOCK - 1,
		    pieces[i]), 0);
		delta_search_free(search);
	}
	delta_sums_free(sums);
	free(old);
	free(new);
}

/* Blocks that are equal are found as often as they are there. */
static void
test_equal_blocks(void **state)
{
	enum { BLOCK = 2048, BLOCKS = 5000 };
	uint8_t *old = calloc(BLOCKS, BLOCK);
	struct delta_sums *sums = sums_of(old, (size_t)BLOCKS * BLOCK, BLOCK);
	struct delta_search *search = delta_search_new(sums);
	uint32_t i = 0, n = 1;

	(void)state;
	assert_int_equal(search_all(search, old, old, (size_t)BLOCKS * BLOCK,
	    100000), (uint64_t)BLOCKS * BLOCK);
	for (; sums->same[i] != 0; i = sums->same[i])
		n++;
	assert_int_equal(n, BLOCKS);
	delta_search_free(search);
	delta_sums_free(sums);
	free(old);
}

/* The buffer ends where memory ends, and begins where it begins. */
static void
test_guard_pages(void **state)
{
	enum { BLOCK = 2048, SIZE = 8 * BLOCK };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *map = mmap(NULL, SIZE + 2 * page, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *end, *old = malloc(SIZE);
	struct delta_sums *sums;

	(void)state;
	assert_true(map != MAP_FAILED && old != NULL);
	assert_int_equal(mprotect(map + page, SIZE, PROT_READ | PROT_WRITE),
	    0);
	end = map + page + SIZE;
	fill_bytes(old, SIZE, 1);
	sums = sums_of(old, SIZE, BLOCK);
	for (size_t len = 0; len <= SIZE; len += len % 5 + 1) {
		struct delta_search *search = delta_search_new(sums);

		fill_bytes(end - len, len, 9);
		if (len > BLOCK + 7) /* a block in the midst */
			memcpy(end - len + 5, old, BLOCK);
		assert_int_equal(search_all(search, NULL, end - len, len,
		    len + 1), len > BLOCK + 7 ? BLOCK : 0);
		delta_search_free(search);
	}
	fill_bytes(map + page, SIZE, 9);
	for (size_t len = 0; len <= SIZE; len += 97) {
		struct delta_search *search = delta_search_new(sums);

		(void)search_all(search, NULL, map + page, len, len + 1);
		delta_search_free(search);
	}
	delta_sums_free(sums);
	free(old);
	munmap(map, SIZE + 2 * page);
}

static uint64_t
cost(const struct delta_search *search)
{
	return search->rolled + search->hashed + 8 * search->steps;
}

/* Sums that a hostile server has made for this very file: each position has the
 * weak sum of blocks, and none their strong one. */
static void
test_crafted(void **state)
{
	enum { BLOCK = 2048, SIZE = 2000 * BLOCK };
	uint8_t *p = malloc(SIZE);
	uint8_t wire[BLOCK_SUM_BYTES] = { 0 };
	struct delta_sums *sums = sums_of(memset(p, 0, SIZE), SIZE, BLOCK);
	struct delta_search *search = delta_search_new(sums);
	uint64_t usual;

	(void)state;
	fill_bytes(p, SIZE, 5);
	assert_int_equal(search_all(search, NULL, p, SIZE, SIZE), 0);
	usual = cost(search);
	assert_true(usual >= SIZE - BLOCK && usual < SIZE + SIZE / 4);
	delta_search_free(search);
	delta_sums_free(sums);
	for (int kind = 0; kind < 2; kind++) {
		sums = delta_sums_new(seed, BLOCK, SIZE);
		/* Zeros have the weak sum 0. Kind 1: all in one chain. */
		memset(p, 0, SIZE);
		for (uint32_t i = 0; i < sums->count; i++) {
			wire_put_u32(wire, kind == 0 ? 0 : i % 13);
			wire_put_u32(wire + 4, i);
			delta_sums_put(sums, i, wire, 1);
		}
		assert_true(delta_sums_index(sums));
		search = delta_search_new(sums);
		assert_int_equal(search_all(search, NULL, p, SIZE, SIZE), 0);
		assert_true(search->rolled >= SIZE - BLOCK - 1);
		assert_true(cost(search) <= 3 * usual);
		delta_search_free(search);
		delta_sums_free(sums);
	}
	free(p);
}

/* Wrong sums in the midst of right ones do not hide these for long. */
static void
test_credit_comes_back(void **state)
{
	enum { BLOCK = 2048, SIZE = 400 * BLOCK };
	uint8_t *old = malloc(SIZE), *new = calloc(1, SIZE);
	struct delta_sums *sums;
	struct delta_search *search;
	uint8_t wire[BLOCK_SUM_BYTES] = { 0 };

	(void)state;
	fill_bytes(old, SIZE, 1);
	sums = delta_sums_new(seed, BLOCK, SIZE);
	for (uint32_t i = 0; i < sums->count; i++) {
		wire_put_u32(wire, 0);
		wire[4] = 1;
		if (i % 2 == 0) {
			wire_put_u32(wire, block_sum_weak(sums->factor, 0,
			    old + i * BLOCK, BLOCK));
			assert_int_equal(block_sum_strong(poly, seed,
			    old + i * BLOCK, BLOCK, wire + 4), 0);
		}
		delta_sums_put(sums, i, wire, 1);
	}
	assert_true(delta_sums_index(sums));
	/* zeros, each of which looks like a block; then what is there */
	memcpy(new + 200 * BLOCK, old, 200 * BLOCK);
	search = delta_search_new(sums);
	assert_true(search_all(search, NULL, new, SIZE, SIZE) >=
	    (uint64_t)90 * BLOCK);
	delta_search_free(search);
	delta_sums_free(sums);
	free(old);
	free(new);
}

static void
test_sizes(void **state)
{
	(void)state;
	assert_null(delta_sums_new(seed, 2048, 2047));
	assert_null(delta_sums_new(seed, 2049, 1 << 20));
	assert_null(delta_sums_new(seed, 2048, (uint64_t)2048 << 20));
	assert_int_equal(delta_block_for(1), 2048);
	assert_int_equal(delta_block_for(UINT64_C(64) << 20), 16384);
	assert_int_equal(delta_block_for(UINT64_C(10) << 30), 131072);
	assert_int_equal(delta_block_for(UINT64_C(128) << 30), 1 << 20);
	assert_int_equal(delta_block_for(UINT64_C(129) << 30), 0);
	assert_int_equal(delta_block_for(UINT64_MAX), 0);
	for (uint64_t size = 1 << 18; size <= UINT64_C(128) << 30;
	     size += size / 7) {
		struct delta_sums *s = delta_sums_new(seed,
		    delta_block_for(size), size);

		assert_non_null(s);
		delta_sums_free(s);
	}
}

static int
begin(void **state)
{
	(void)state;
	return poly1305_new(&poly);
}

static int
end(void **state)
{
	(void)state;
	poly1305_free(poly);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_equal_blocks),
		cmocka_unit_test(test_guard_pages),
		cmocka_unit_test(test_crafted),
		cmocka_unit_test(test_credit_comes_back),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
