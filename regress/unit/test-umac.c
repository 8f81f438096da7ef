/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdlib.h>

#include "base/mem.h"
#include "crypto/rand.h"
#include "crypto/umac-nh.h"
#include "crypto/umac.h"

static const uint8_t rfc_key[] = "abcdefghijklmnop";
static const uint64_t rfc_nonce = 0x6263646566676869; /* "bcdefghi" */

/*
 * The 64 bit tags, and the first 96 bits of the others, are in RFC 4418's
 * appendix; the last 32 bits, and the lengths around a block, are what
 * libnettle's tests have.
 */
static const struct {
	const char *unit;
	size_t len; /* the unit is repeated until then */
	uint64_t nonce;
	const char *tag64, *tag128;
} vectors[] = {
	{ "", 0, rfc_nonce, "6e155fad26900be1",
	    "32fedb100c79ad58f07ff7643cc60465" },
	{ "a", 3, rfc_nonce, "44b5cb542f220104",
	    "185e4fe905cba7bd85e4c2dc3d117d8d" },
	{ "a", 1 << 10, rfc_nonce, "26bf2f5d60118bd9",
	    "7a54abe04af82d60fb298c3cbd195bcb" },
	{ "a", 1 << 15, rfc_nonce, "27f8ef643b0d118d",
	    "7b136bd911e4b734286ef2be501f2c3c" },
	{ "a", 1 << 20, rfc_nonce, "a4477e87e9f55853",
	    "f8acfa3ac31cfeea047f7b115b03bef5" },
	{ "abc", 3, rfc_nonce, "d4d7b9f6bd4fbfcf",
	    "883c3d4b97a61976ffcf232308cba5a5" },
	{ "abc", 1500, rfc_nonce, "d4cf26ddefd5c01a",
	    "8824a260c53c66a36c9260a62cb83aa1" },
	{ "def", 1022, rfc_nonce, "2cee9784556387b3",
	    "700513397f8a210a98938d3e7ac3bd88" },
};

static void
check_tag(size_t tag_len, uint64_t nonce, const void *p, size_t len,
    const char *expected)
{
	struct umac *u;
	uint8_t tag[16];

	assert_int_equal(umac_new(&u, tag_len, rfc_key), 0);
	assert_int_equal(umac_compute(u, nonce, p, len, tag), 0);
	assert_hex(tag, tag_len, expected);
	umac_free(u);
}

static void
test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		size_t len = vectors[i].len;
		size_t unit = strlen(vectors[i].unit);
		char *p = malloc(len + 1);

		assert_non_null(p);
		for (size_t j = 0; j < len; j++)
			p[j] = vectors[i].unit[j % unit];
		check_tag(8, vectors[i].nonce, p, len, vectors[i].tag64);
		check_tag(16, vectors[i].nonce, p, len, vectors[i].tag128);
		free(p);
	}
}

/* Every implementation of NH against the first, which is plain C. */
static void
test_nh_agree(void **state)
{
	uint32_t key[NH_BLOCK_LEN / 4 + NH_SHIFT];
	uint8_t msg[NH_BLOCK_LEN + 1];
	nh_fn first = nh_at(0), fn;

	(void)state;
	rand_bytes(key, sizeof key);
	rand_bytes(msg, sizeof msg);
	for (size_t i = 1; (fn = nh_at(i)) != NULL; i++) {
		for (size_t len = 0; len <= NH_BLOCK_LEN;
		     len += NH_GROUP_LEN) {
			uint64_t a[NH_STREAMS] = { len, 1 };
			uint64_t b[NH_STREAMS] = { len, 1 };

			/* Not aligned: packets seldom are. */
			first(key, msg + 1, len, a);
			fn(key, msg + 1, len, b);
			assert_memory_equal(a, b, sizeof a);
		}
	}
}

/*
 * Hashes of 2^64 - 2^32 and above are treated apart, and are met once in
 * 2^32 blocks: this second block has one, and the tags are what
 * regress/data/make-cipher-packets.py has for it.
 */
static void
test_marked_word(void **state)
{
	uint8_t msg[NH_BLOCK_LEN + NH_GROUP_LEN];

	(void)state;
	memset(msg, 'a', NH_BLOCK_LEN);
	hex_decode(
	    "b0642853f1f22591fd49dae96d03067b5d132039f48eb569b3218152a26c2c5e",
	    msg + NH_BLOCK_LEN, NH_GROUP_LEN);
	check_tag(8, rfc_nonce, msg, sizeof msg, "ec0c6afdde206e6e");
	check_tag(16, rfc_nonce, msg, sizeof msg,
	    "b0e7ee40f4c9c8d72144718a9de5a72a");
}

/* A tag does not depend on which packets came before. */
static void
test_stateless(void **state)
{
	static uint8_t msg[5000];
	struct umac *u, *fresh;
	uint8_t a[16], b[16];

	(void)state;
	for (size_t i = 0; i < sizeof msg; i++)
		msg[i] = i % 3 == 0 ? 0xff : (uint8_t)i;
	for (size_t tag_len = 8; tag_len <= 16; tag_len += 8) {
		assert_int_equal(umac_new(&u, tag_len, rfc_key), 0);
		for (size_t len = 0; len < sizeof msg; len += 13) {
			assert_int_equal(umac_new(&fresh, tag_len, rfc_key), 0);
			assert_int_equal(umac_compute(u, len, msg, len, a), 0);
			assert_int_equal(umac_compute(fresh, len, msg, len, b),
			    0);
			assert_memory_equal(a, b, tag_len);
			umac_free(fresh);
		}
		umac_free(u);
	}
}

static void
test_limits(void **state)
{
	struct umac *u;
	uint8_t tag[16];

	(void)state;
	assert_int_equal(umac_new(&u, 4, rfc_key), ERR_ARGUMENT);
	assert_null(u);
	assert_int_equal(umac_new(&u, 8, rfc_key), 0);
	assert_int_equal(umac_compute(u, 0, "", UMAC_MAX_MSG + 1, tag),
	    ERR_LIMIT);
	umac_free(u);
	umac_free(NULL);
}

/* Vectors read no byte behind a message, nor does the tag depend on one: each
 * message ends where a page does, behind which nothing may be read. */
static void
test_at_the_end_of_a_page(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), most = 2100;
	static const uint8_t key[UMAC_KEY_LEN + 1] = "abcdefghijklmnop";
	uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t elsewhere[2200], tag[2][16];
	struct umac *u = NULL;

	(void)state;
	assert_true(pages != MAP_FAILED && page > most);
	for (size_t i = 0; i < page; i++)
		pages[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	assert_int_equal(umac_new(&u, 16, key), 0);
	for (size_t len = 0; len <= most; len++) {
		memset(elsewhere, 0xff, sizeof elsewhere);
		memcpy(elsewhere + 1, pages + page - len, len);
		assert_int_equal(umac_compute(u, len, pages + page - len, len,
				     tag[0]), 0);
		assert_int_equal(umac_compute(u, len, elsewhere + 1, len,
				     tag[1]), 0);
		assert_memory_equal(tag[0], tag[1], 16);
	}
	umac_free(u);
	assert_int_equal(munmap(pages, 2 * page), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_the_end_of_a_page),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_nh_agree),
		cmocka_unit_test(test_marked_word),
		cmocka_unit_test(test_stateless),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("umac", tests, NULL, NULL);
}
