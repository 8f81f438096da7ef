/* SPDX-License-Identifier: ISC */
/* That packets are the same whoever does AES-GCM. Where this processor, or
 * this build, has no other than OpenSSL, the last test remains. */
#include "regress/unit/hex.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "cipher-gcm-wide.h"
#include "cipher.h"
#include "crypto/rand.h"

enum {
	BLOCK = 16,
	LARGE = 252 * 1024,
	PKT_MAX = GCM_WIDE_HEAD + LARGE + GCM_WIDE_TAG,
	STREAM = 40, /* large packets, far more than OpenSSL is left with */
};

static const char *const names[] = { "aes128-gcm@openssh.com",
	"aes256-gcm@openssh.com" };

struct ends {
	const struct cipher_alg *alg;
	uint8_t key[CIPHER_KEY_MAX], iv[CIPHER_IV_MAX];
	struct gcm_wide *wide; /* NULL: none here */
	uint8_t *a, *b;	       /* packets */
};

static void
ends_open(struct ends *e, const char *name)
{
	e->alg = cipher_by_name(name);
	rand_bytes(e->key, sizeof e->key);
	rand_bytes(e->iv, sizeof e->iv);
	memset(e->iv + 4, 0, 8); /* the first packet is number 0 */
	e->wide = gcm_wide_new(e->key, e->alg->key_len);
	e->a = malloc(PKT_MAX);
	e->b = malloc(PKT_MAX);
	assert_true(e->a != NULL && e->b != NULL);
}

static void
ends_close(struct ends *e)
{
	gcm_wide_free(e->wide);
	free(e->a);
	free(e->b);
}

/* A new cipher has not moved enough to do other than ask OpenSSL. */
static struct cipher *
by_openssl(const struct ends *e, bool encrypts)
{
	struct cipher *c;

	assert_int_equal(
	    cipher_new(&c, e->alg, NULL, encrypts, e->key, e->iv, NULL), 0);
	return c;
}

static void
nonce_of(const struct ends *e, uint64_t packet, uint8_t nonce[12])
{
	memcpy(nonce, e->iv, 4);
	for (int i = 11; i >= 4; i--, packet >>= 8)
		nonce[i] = (uint8_t)packet;
}

/* The same packet of len bytes at a and b. */
static void
fill(struct ends *e, size_t len)
{
	rand_bytes(e->a, GCM_WIDE_HEAD + len);
	memset(e->a + GCM_WIDE_HEAD + len, 0, GCM_WIDE_TAG);
	memcpy(e->b, e->a, GCM_WIDE_HEAD + len + GCM_WIDE_TAG);
}

static void
check_packet(struct ends *e, uint64_t packet, size_t len)
{
	const struct cipher_pos pos = { .packet = packet };
	size_t size = GCM_WIDE_HEAD + len + GCM_WIDE_TAG;
	struct cipher *c = by_openssl(e, true);
	uint8_t nonce[12], *plain = malloc(size);

	assert_non_null(plain);
	fill(e, len);
	memcpy(plain, e->a, size);
	nonce_of(e, packet, nonce);
	assert_int_equal(cipher_encrypt(c, &pos, e->a, (uint32_t)len), 0);
	gcm_wide_encrypt(e->wide, nonce, e->b, len);
	assert_memory_equal(e->a, e->b, size);
	assert_true(gcm_wide_decrypt(e->wide, nonce, e->b, len));
	assert_memory_equal(e->b, plain, GCM_WIDE_HEAD + len);
	cipher_free(c);
	free(plain);
}

static void
test_same_as_openssl(void **state)
{
	struct ends e;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ends_open(&e, names[i]);
		for (size_t len = BLOCK; e.wide != NULL && len <= 2048;
		     len += BLOCK)
			check_packet(&e, len, len);
		for (size_t len = LARGE; e.wide != NULL && len > 2048;
		     len = len / 3 / BLOCK * BLOCK)
			check_packet(&e, UINT64_MAX - len, len);
		ends_close(&e);
	}
}

/* A packet with one bit changed, wherever, is refused. */
static void
test_changed(void **state)
{
	const size_t len = 40 * BLOCK, size = 4 + len + GCM_WIDE_TAG;
	const uint8_t nonce[12] = { 1 }, other[12] = { 2 };
	struct ends e;

	(void)state;
	ends_open(&e, names[0]);
	for (size_t i = 0; e.wide != NULL && i < size; i++) {
		fill(&e, len);
		gcm_wide_encrypt(e.wide, nonce, e.a, len);
		e.a[i] ^= (uint8_t)(1 << i % 8);
		assert_false(gcm_wide_decrypt(e.wide, nonce, e.a, len));
	}
	if (e.wide != NULL) {
		fill(&e, len);
		gcm_wide_encrypt(e.wide, nonce, e.a, len);
		assert_false(gcm_wide_decrypt(e.wide, other, e.a, len));
	}
	ends_close(&e);
}

/* One packet goes from a cipher that is in use for long to one that is new,
 * or the other way. */
static void
check_between(struct ends *e, struct cipher *enc, struct cipher *dec,
    uint64_t packet)
{
	const struct cipher_pos pos = { .packet = packet };
	struct cipher *fresh = by_openssl(e, packet % 2 == 0);
	struct cipher *from = packet % 2 == 0 ? fresh : enc;
	struct cipher *to = packet % 2 == 0 ? dec : fresh;
	bool changed = packet % 8 >= 6;

	fill(e, LARGE);
	assert_int_equal(cipher_encrypt(from, &pos, e->a, LARGE), 0);
	assert_memory_not_equal(e->a + 4, e->b + 4, LARGE);
	e->a[4 + LARGE + packet % GCM_WIDE_TAG] ^= changed;
	assert_int_equal(cipher_decrypt(to, &pos, e->a, LARGE),
	    changed ? ERR_MAC : 0);
	assert_memory_equal(e->a, e->b, 4 + LARGE);
	cipher_free(fresh);
}

static void
send_streams(void)
{
	struct cipher *enc, *dec;
	struct ends e;

	for (size_t i = 0; i < 2; i++) {
		ends_open(&e, names[i]);
		enc = by_openssl(&e, true);
		dec = by_openssl(&e, false);
		for (uint64_t packet = 0; packet < 2 * STREAM; packet++)
			check_between(&e, enc, dec, packet);
		cipher_free(enc);
		cipher_free(dec);
		ends_close(&e);
	}
}

static void
test_in_the_middle_of_a_stream(void **state)
{
	(void)state;
	cipher_use_wide_gcm();
	send_streams();
}

static unsigned asked;

static struct gcm_wide *
have_none(const uint8_t *key, size_t key_len)
{
	(void)key;
	(void)key_len;
	asked++;
	return NULL;
}

/* A program that has not said so does without. */
static void
test_only_where_it_is_wanted(void **state)
{
	static const struct gcm_wide_ops ops = { .new = have_none };

	(void)state;
	cipher_gcm_take_wide(&ops);
	send_streams();
	assert_int_equal(asked, 4); /* each end of each of the two */
	cipher_gcm_take_wide(NULL);
	asked = 0;
	send_streams();
	assert_int_equal(asked, 0);
}

static unsigned opened;
static bool may_open = true;

void *
dlopen(const char *name, int flags)
{
	void *(*real)(const char *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	opened++;
	return may_open && real != NULL ? real(name, flags) : NULL;
}

/* A process that has asked for the library ahead, as before a change of its
 * root directory, never asks again, whatever became of it. The last test. */
static void
test_never_after_the_root_changed(void **state)
{
	const uint8_t key[16] = { 1 };
	struct gcm_wide *w = gcm_wide_new(key, sizeof key);

	(void)state;
	gcm_wide_free(w);
	opened = 0;
	may_open = false;
	cipher_load_wide_gcm();
	if (w != NULL)
		assert_int_equal(opened, 1);
	opened = 0;
	may_open = true;
	assert_null(gcm_wide_new(key, sizeof key));
	cipher_load_wide_gcm();
	assert_null(gcm_wide_new(key, sizeof key));
	assert_int_equal(opened, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_openssl),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_in_the_middle_of_a_stream),
		cmocka_unit_test(test_only_where_it_is_wanted),
		cmocka_unit_test(test_never_after_the_root_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
