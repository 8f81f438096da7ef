/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include "base/mem.h"
#include "crypto/kdf-pi.h"
#include "crypto/kdf.h"

/* A string with its length, so that NULs may be in it. */
#define TEXT(s) { s, sizeof(s) - 1 }

/*
 * The vectors of OpenBSD's regression test and, marked by their twelve and
 * three rounds and by their letters, those of Go's x/crypto.
 */
static const struct {
	struct {
		const char *p;
		size_t len;
	} pass, salt;
	uint32_t rounds;
	const char *out;
} vectors[] = {
    {TEXT("password"), TEXT("salt"), 4,
	"5bbf0cc293587f1c3635555c27796598d47e579071bf427e9d8fbe842aba34d9"},
    {TEXT("password"), TEXT("\0"), 4, "c12b566235eee04c212598970a579a67"},
    {TEXT("\0"), TEXT("salt"), 4, "6051be18c2f4f82cbf0efee5471b4bb9"},
    {TEXT("password\0"), TEXT("salt\0"), 4,
	"7410e44cf4fa07bfaac8a928b1727fac001375e7bf7384370f48efd121743050"},
    {TEXT("pass\0wor"), TEXT("sa\0l"), 4, "c2bffd9db38f6569efef4372f4de83c0"},
    {TEXT("pass\0word"), TEXT("sa\0lt"), 4, "4ba4ac3925c0e8d7f0cdb6bb1684a56f"},
    {TEXT("password"), TEXT("salt"), 8,
	"e1367ec5151a33faac4cc1c144cd23fa15d5548493ecc99b9b5d9c0d3b27bec7"
	"6227ea66088b849b20ab7aa478010246e74bba51723fefa9f9474d6508845e8d"},
    {TEXT("password"), TEXT("salt"), 42, "833cf0dcf56db65608e8f0dc0ce882bd"},
    {TEXT("\x0d\xb3\xac\x94\xb3\xee\x53\x28"
	  "\x4f\x4a\x22\x89\x3b\x3c\x24\xae"),
	TEXT("\x3a\x62\xf0\xf0\xdb\xce\xf8\x23"
	     "\xcf\xcc\x85\x48\x56\xea\x10\x28"),
	8, "204438175eee7ce136c91b49a67923ff"},
    {TEXT("password"), TEXT("salt"), 12,
	"1ae42c05d487bc02f64921a4ebe4ea93bcacfe135fda99974c06b7b01fae149a"},
    {TEXT("passwordy\0PASSWORD\0"), TEXT("salty\0SALT\0"), 3,
	"7f310bd3e78c3280c59ce4595211a2928e8d4ec744c1ed2efc9f764e3388e0ad"},
    {TEXT("секретное слово"), TEXT("посолить немножко"), 8,
	"8df43fc6fe131fc47f0c9e39224bd94c70b6fcc8ee8135faddf61156"
	"e6cb2733ea765f315a3e1e4afc35bf8687d189254c1e05a6fe80c061"
	"7f9183d67260d6a115c6c94e3603e2303fbb43a76a64523ffda686b1"
	"d4518543"},
};

static void
test_vectors(void **state)
{
	uint8_t out[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		size_t len = strlen(vectors[i].out) / 2;

		assert_int_equal(kdf_bcrypt(vectors[i].pass.p,
				     vectors[i].pass.len,
				     (const uint8_t *)vectors[i].salt.p,
				     vectors[i].salt.len, vectors[i].rounds,
				     out, len),
		    0);
		assert_hex(out, len, vectors[i].out);
	}
}

static void
test_refused(void **state)
{
	static uint8_t out[2048];
	const uint8_t *salt = (const uint8_t *)"salt";

	(void)state;
	assert_int_equal(kdf_bcrypt("", 0, salt, 4, 4, out, 32), ERR_ARGUMENT);
	assert_int_equal(kdf_bcrypt("p", 1, salt, 0, 4, out, 32), ERR_ARGUMENT);
	assert_int_equal(kdf_bcrypt("p", 1, salt, 4, 0, out, 32), ERR_ARGUMENT);
	assert_int_equal(kdf_bcrypt("p", 1, salt, 4, 4, out, 0), ERR_ARGUMENT);
	assert_int_equal(kdf_bcrypt("p", 1, salt, 4, 4, out, 1025),
	    ERR_ARGUMENT);
}

/* Digits of pi that are known from elsewhere, at both ends. */
static void
test_pi(void **state)
{
	(void)state;
	assert_int_equal(pi_words[0], 0x243f6a88);
	assert_int_equal(pi_words[17], 0x8979fb1b);
	assert_int_equal(pi_words[18], 0xd1310ba6);
	assert_int_equal(pi_words[PI_WORDS - 1], 0x3ac372e6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pi),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("kdf-bcrypt", tests, NULL, NULL);
}
