/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <openssl/evp.h>

#include "base/buf.h"
#include "base/mem.h"
#include "crypto/kem-group.h"
#include "crypto/kem-internal.h"
#include "crypto/kem.h"

/* One side each, with fresh buffers. */
struct pair {
	struct kem *client, *server;
	struct buf init, reply, client_secret, server_secret;
};

static struct kem *
make(const struct kem_alg *alg)
{
	static const uint8_t two = 2;
	struct kem *k = NULL;
	struct buf prime;

	if (!alg->group_exchange) {
		assert_int_equal(kem_new(&k, alg), 0);
		return k;
	}
	buf_init(&prime);
	assert_int_equal(kem_fixed_prime(2048, &prime), 0);
	assert_int_equal(kem_new_group(&k, alg, buf_span(&prime),
	    (struct span){ &two, 1 }), 0);
	buf_clear(&prime);
	return k;
}

static void
pair_init(struct pair *p, const struct kem_alg *alg)
{
	p->client = make(alg);
	p->server = make(alg);
	buf_init(&p->init);
	buf_init(&p->reply);
	buf_init_secret(&p->client_secret);
	buf_init_secret(&p->server_secret);
}

static void
pair_clear(struct pair *p)
{
	kem_free(p->client);
	kem_free(p->server);
	buf_clear(&p->init);
	buf_clear(&p->reply);
	buf_clear(&p->client_secret);
	buf_clear(&p->server_secret);
}

/* ---- the table ---------------------------------------------------------- */

static const struct {
	const char *name;
	size_t init_len, reply_len; /* bytes; 0: varies */
	size_t string_len;	    /* of the secret; 0: an mpint */
	enum digest_alg digest;
	bool post_quantum, group_exchange;
} want[] = {
	{ "mlkem768x25519-sha256", 1216, 1120, 32, DIGEST_SHA256, true,
	    false },
	{ "sntrup761x25519-sha512", 1190, 1071, 64, DIGEST_SHA512, true,
	    false },
	{ "sntrup761x25519-sha512@openssh.com", 1190, 1071, 64, DIGEST_SHA512,
	    true, false },
	{ "curve25519-sha256", 32, 32, 0, DIGEST_SHA256, false, false },
	{ "curve25519-sha256@libssh.org", 32, 32, 0, DIGEST_SHA256, false,
	    false },
	{ "ecdh-sha2-nistp256", 65, 65, 0, DIGEST_SHA256, false, false },
	{ "ecdh-sha2-nistp384", 97, 97, 0, DIGEST_SHA384, false, false },
	{ "ecdh-sha2-nistp521", 133, 133, 0, DIGEST_SHA512, false, false },
	{ "diffie-hellman-group-exchange-sha256", 0, 0, 0, DIGEST_SHA256,
	    false, true },
	{ "diffie-hellman-group16-sha512", 0, 0, 0, DIGEST_SHA512, false,
	    false },
	{ "diffie-hellman-group18-sha512", 0, 0, 0, DIGEST_SHA512, false,
	    false },
	{ "diffie-hellman-group14-sha256", 0, 0, 0, DIGEST_SHA256, false,
	    false },
	{ "mlkem768nistp256-sha256", 1249, 1153, 32, DIGEST_SHA256, true,
	    false },
	{ "diffie-hellman-group-exchange-sha1", 0, 0, 0, DIGEST_SHA1, false,
	    true },
	{ "diffie-hellman-group14-sha1", 0, 0, 0, DIGEST_SHA1, false, false },
	{ "diffie-hellman-group1-sha1", 0, 0, 0, DIGEST_SHA1, false, false },
};

static void
test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const struct kem_alg *a = kem_at(i);

		assert_non_null(a);
		assert_string_equal(a->name, want[i].name);
		assert_ptr_equal(kem_by_name(want[i].name), a);
		assert_int_equal(a->digest, want[i].digest);
		assert_int_equal(a->post_quantum, want[i].post_quantum);
		assert_int_equal(a->group_exchange, want[i].group_exchange);
		assert_int_equal(a->weak, a->digest == DIGEST_SHA1);
	}
	assert_null(kem_at(ARRAY_LEN(want)));
	assert_null(kem_by_name("none"));
	assert_null(kem_by_name(""));
}

/* Both sides get the same, in the right form, and not twice the same. */
static void
check_round_trip(size_t i)
{
	struct pair p, q;
	struct rd r;
	struct span secret;

	pair_init(&p, kem_at(i));
	pair_init(&q, kem_at(i));
	assert_int_equal(kem_client_init(p.client, &p.init), 0);
	assert_int_equal(kem_server_reply(p.server, buf_span(&p.init), &p.reply,
	    &p.server_secret), 0);
	assert_int_equal(kem_client_finish(p.client, buf_span(&p.reply),
	    &p.client_secret), 0);
	assert_int_equal(buf_len(&p.client_secret), buf_len(&p.server_secret));
	assert_memory_equal(buf_data(&p.client_secret),
	    buf_data(&p.server_secret), buf_len(&p.server_secret));

	r = rd_from_buf(&p.client_secret);
	secret = want[i].string_len != 0 ? rd_string(&r) : rd_mpint(&r);
	assert_int_equal(rd_end(&r), 0);
	if (want[i].string_len != 0)
		assert_int_equal(secret.len, want[i].string_len);
	assert_true(secret.len > 16);
	if (want[i].init_len != 0) {
		assert_int_equal(buf_len(&p.init), want[i].init_len);
		assert_int_equal(buf_len(&p.reply), want[i].reply_len);
	}

	assert_int_equal(kem_client_init(q.client, &q.init), 0);
	assert_false(buf_len(&p.init) == buf_len(&q.init) &&
	    memcmp(buf_data(&p.init), buf_data(&q.init),
		buf_len(&p.init)) == 0);
	pair_clear(&p);
	pair_clear(&q);
}

static void
test_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		check_round_trip(i);
		if (i < 5) /* an mpint's length varies with luck */
			for (int n = 0; n < 10; n++)
				check_round_trip(i);
	}
}

/* ---- bad values --------------------------------------------------------- */

/* Both directions refuse the value. */
static void
refuse(const struct kem_alg *alg, const void *init, size_t init_len,
    const void *reply, size_t reply_len)
{
	struct pair p;

	pair_init(&p, alg);
	assert_int_equal(kem_server_reply(p.server,
	    (struct span){ init, init_len }, &p.reply, &p.server_secret),
	    ERR_KEX_VALUE);
	assert_int_equal(buf_len(&p.server_secret), 0);
	assert_int_equal(kem_client_init(p.client, &p.init), 0);
	assert_int_equal(kem_client_finish(p.client,
	    (struct span){ reply, reply_len }, &p.client_secret),
	    ERR_KEX_VALUE);
	assert_int_equal(buf_len(&p.client_secret), 0);
	pair_clear(&p);
}

static void
test_wrong_length(void **state)
{
	static uint8_t value[2000];
	struct pair p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		if (want[i].init_len == 0)
			continue;
		pair_init(&p, kem_at(i));
		assert_int_equal(kem_client_init(p.client, &p.init), 0);
		memcpy(value, buf_data(&p.init), buf_len(&p.init));
		refuse(kem_at(i), value, want[i].init_len - 1, value,
		    want[i].reply_len - 1);
		refuse(kem_at(i), value, want[i].init_len + 1, value,
		    want[i].reply_len + 1);
		refuse(kem_at(i), value, 0, value, 0);
		pair_clear(&p);
	}
}

/* Points of low order (RFC 7748 section 6.1; the list is in the paper on
 * Curve25519 and in many libraries): the secret would be all zero. */
static const char *const low_order[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
};

static void
test_low_order(void **state)
{
	uint8_t init[1216], reply[1120];
	struct pair p;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t n = 0; n < ARRAY_LEN(low_order); n++) {
			pair_init(&p, kem_at(i));
			assert_int_equal(kem_client_init(p.client, &p.init),
			    0);
			memcpy(init, buf_data(&p.init), buf_len(&p.init));
			memset(reply, 0, sizeof reply);
			hex_decode(low_order[n], init + want[i].init_len - 32,
			    32);
			hex_decode(low_order[n],
			    reply + want[i].reply_len - 32, 32);
			refuse(kem_at(i), init, want[i].init_len, reply,
			    want[i].reply_len);
			pair_clear(&p);
		}
	}
}

static void
test_unreduced_mlkem(void **state)
{
	const struct kem_alg *alg = kem_by_name("mlkem768x25519-sha256");
	struct buf init, reply, secret;
	struct kem *client = make(alg), *server = make(alg);
	uint8_t value[1216];

	(void)state;
	buf_init(&init);
	buf_init(&reply);
	buf_init_secret(&secret);
	assert_int_equal(kem_client_init(client, &init), 0);
	memcpy(value, buf_data(&init), sizeof value);
	value[600] = value[601] = value[602] = 0xff;
	assert_int_equal(kem_server_reply(server,
	    (struct span){ value, sizeof value }, &reply, &secret),
	    ERR_KEX_VALUE);
	buf_clear(&init);
	buf_clear(&reply);
	buf_clear(&secret);
	kem_free(client);
	kem_free(server);
}

static void
test_bad_points(void **state)
{
	uint8_t point[133];

	(void)state;
	for (size_t i = 5; i < 8; i++) {
		size_t len = want[i].init_len;
		struct pair p;

		pair_init(&p, kem_at(i));
		assert_int_equal(kem_client_init(p.client, &p.init), 0);
		memcpy(point, buf_data(&p.init), len);
		point[len - 1] ^= 1; /* off the curve */
		refuse(kem_at(i), point, len, point, len);
		point[len - 1] ^= 1;
		point[0] = 6; /* hybrid form */
		refuse(kem_at(i), point, len, point, len);
		point[0] = 2 | (point[len - 1] & 1); /* compressed */
		refuse(kem_at(i), point, 1 + (len - 1) / 2, point,
		    1 + (len - 1) / 2);
		point[0] = 0; /* infinity */
		refuse(kem_at(i), point, 1, point, 1);
		memset(point, 0xff, len); /* not below the prime */
		point[0] = 4;
		refuse(kem_at(i), point, len, point, len);
		memset(point + 1, 0, len - 1);
		refuse(kem_at(i), point, len, point, len);
		pair_clear(&p);
	}
}

/* 1 < value < p - 1 (RFC 4253 section 8), in the form of an mpint. */
static void
test_bad_dh_values(void **state)
{
	const struct kem_alg *alg =
	    kem_by_name("diffie-hellman-group14-sha256");
	const struct kem_alg *gex =
	    kem_by_name("diffie-hellman-group-exchange-sha256");
	static const struct {
		const char *hex;
	} small[] = {
		{ "" }, { "00" }, { "01" }, { "80" }, { "ff" }, { "0002" },
		{ "007f" },
	};
	static const uint8_t few[] = { 0x02, 0x07, 0x70 }, four = 0x0f;
	uint8_t value[2 + 256];
	struct buf prime, reply = { 0 }, shared = { 0 };
	struct kem *k = NULL;

	(void)state;
	/* Small powers of the generator. */
	for (size_t i = 0; i < sizeof few; i++)
		refuse(alg, few + i, 1, few + i, 1);
	assert_int_equal(kem_new(&k, alg), 0);
	assert_int_equal(kem_server_reply(k, (struct span){ &four, 1 },
			     &reply, &shared), 0);
	kem_free(k);
	buf_clear(&reply);
	buf_clear(&shared);
	for (size_t i = 0; i < ARRAY_LEN(small); i++) {
		size_t len = hex_decode(small[i].hex, value, sizeof value);

		refuse(alg, value, len, value, len);
		refuse(gex, value, len, value, len);
	}
	buf_init(&prime);
	assert_int_equal(kem_fixed_prime(2048, &prime), 0);
	value[0] = 0;
	memcpy(value + 1, buf_data(&prime), 256);
	refuse(alg, value, 257, value, 257); /* p */
	refuse(alg, value + 1, 256, value + 1, 256); /* reads as negative */
	value[256]--;
	refuse(alg, value, 257, value, 257); /* p - 1 */
	refuse(gex, value, 257, value, 257);
	memset(value + 1, 0xff, 257);
	refuse(alg, value, 258, value, 258); /* far beyond p */
	buf_clear(&prime);
}

static void
test_bad_groups(void **state)
{
	const struct kem_alg *gex =
	    kem_by_name("diffie-hellman-group-exchange-sha256");
	static const uint8_t zero = 0, one = 1, two = 2;
	struct span good = { &two, 1 };
	uint8_t p[1025];
	struct kem *k = NULL;

	(void)state;
	memset(p, 0xff, sizeof p);
	/* Too small, too large. */
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 128 }, good),
	    ERR_KEX_VALUE);
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 255 }, good),
	    ERR_KEX_VALUE);
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 1025 },
	    good), ERR_KEX_VALUE);
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 0 }, good),
	    ERR_KEX_VALUE);
	/* Generators. */
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 256 },
	    (struct span){ &zero, 1 }), ERR_KEX_VALUE);
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 256 },
	    (struct span){ &one, 1 }), ERR_KEX_VALUE);
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 256 },
	    (struct span){ p, 256 }), ERR_KEX_VALUE);
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 256 },
	    (struct span){ p, 0 }), ERR_KEX_VALUE);
	/* Even. */
	p[255] = 0xfe;
	assert_int_equal(kem_new_group(&k, gex, (struct span){ p, 256 }, good),
	    ERR_KEX_VALUE);
	assert_null(k);
}

/* ---- wrong order of calls ----------------------------------------------- */

static void
test_misuse(void **state)
{
	static const uint8_t two = 2;
	uint8_t p[256];
	struct buf out;
	struct kem *k = NULL;

	(void)state;
	memset(p, 0xff, sizeof p);
	assert_int_equal(kem_new(&k,
	    kem_by_name("diffie-hellman-group-exchange-sha256")),
	    ERR_ARGUMENT);
	assert_int_equal(kem_new_group(&k, kem_by_name("curve25519-sha256"),
	    (struct span){ p, 256 }, (struct span){ &two, 1 }), ERR_ARGUMENT);
	buf_init_secret(&out);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		k = make(kem_at(i));
		assert_int_equal(kem_client_finish(k,
		    (struct span){ p, sizeof p }, &out), ERR_ARGUMENT);
		assert_int_equal(kem_client_init(k, &out), 0);
		assert_int_equal(kem_client_init(k, &out), ERR_ARGUMENT);
		kem_free(k);
	}
	buf_clear(&out);
	kem_free(NULL);
}

/* ---- known answers ------------------------------------------------------ */

/* RFC 7748 section 6.1. */
static void
test_x25519(void **state)
{
	uint8_t private[32], peer[32], secret[32];
	EVP_PKEY *key;

	(void)state;
	hex_decode("77076d0a7318a57d3c16c17251b26645"
	    "df4c2f87ebc0992ab177fba51db92c2a", private, sizeof private);
	hex_decode("de9edb7d7b7dc1b4d35b61c2ece43537"
	    "3f8343c85b78674dadfc7e146f882b4f", peer, sizeof peer);
	key = EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, private,
	    sizeof private);
	assert_non_null(key);
	assert_int_equal(x25519_derive(key, peer, secret), 0);
	assert_hex(secret, sizeof secret,
	    "4a5d9d5ba4ce2de1728e3bf480350f25"
	    "e07e21c947d19e3376f09b3c1e161742");
	EVP_PKEY_free(key);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_wrong_length),
		cmocka_unit_test(test_low_order),
		cmocka_unit_test(test_unreduced_mlkem),
		cmocka_unit_test(test_bad_points),
		cmocka_unit_test(test_bad_dh_values),
		cmocka_unit_test(test_bad_groups),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_x25519),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
