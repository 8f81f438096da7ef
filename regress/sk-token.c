/* SPDX-License-Identifier: ISC */
/*
 * A security key in software, as a library that hpnssh-sk-helper and the
 * helper of OpenSSH load. Its keys follow from their handles, so nothing is
 * kept. $SK_TOKEN is a comma list of what it does:
 *   pin        wants the PIN 1234 for every request
 *   nodevice   is not there
 *   exists     has a resident key already (unless told to replace it)
 *   untouched  does not wait for a touch
 *   hang, crash, leave   in each call: sleeps, faults, ends the process
 *   noisy      prints to standard output
 *   liar       signs something else; huge: has a signature of a gigabyte;
 *   empty      returns success and nothing; short: public keys of 5 bytes
 *   two        has two resident keys (of the applications ssh: and ssh:two)
 *   hostile    has one whose application would clear a terminal
 * Devices other than "token" do not exist.
 */
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tokens/sk/sk-api.h"

/* The linker's words for what a library offers. */
#define OFFERED __attribute__((visibility("default")))

enum { HANDLE_LEN = 32, HASH_LEN = 32, PIN_FLAG = 4, FORCE = 0x10 };

static bool
is_set(const char *word)
{
	const char *p = getenv("SK_TOKEN");
	size_t len = strlen(word);

	for (; p != NULL; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, len) == 0 &&
		    (p[len] == '\0' || p[len] == ','))
			return true;
	}
	return false;
}

static int
behave(const char *pin, struct sk_option **options)
{
	if (is_set("noisy")) {
		printf("the token says something\n");
		fflush(stdout);
	}
	if (is_set("crash"))
		raise(SIGSEGV);
	if (is_set("leave"))
		_exit(0);
	for (int s = 0; is_set("hang") && s < 300; s++)
		sleep(1);
	for (; options != NULL && *options != NULL; options++) {
		if (strcmp((*options)->name, "device") == 0 &&
		    strcmp((*options)->value, "token") != 0)
			return -4;
		if (strcmp((*options)->name, "device") != 0 &&
		    strcmp((*options)->name, "user") != 0 &&
		    (*options)->required)
			return -2;
	}
	if (is_set("nodevice"))
		return -4;
	if (is_set("pin") && (pin == NULL || strcmp(pin, "1234") != 0))
		return -3;
	return 0;
}

static void
hash(const void *p, size_t len, uint8_t *out)
{
	if (EVP_Digest(p, len, out, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

static uint8_t *
duplicate(const void *p, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	if (copy == NULL)
		abort();
	memcpy(copy, p, len);
	return copy;
}

/* ---- keys ---------------------------------------------------------------- */

static EVP_PKEY *
ed25519_of(const uint8_t *seed)
{
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed,
	    HASH_LEN);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static EC_KEY *
ecdsa_of(const uint8_t *seed)
{
	EC_KEY *k = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	const EC_GROUP *g = EC_KEY_get0_group(k);
	EC_POINT *q = EC_POINT_new(g);
	BIGNUM *d = BN_bin2bn(seed, HASH_LEN - 1, NULL); /* below the order */

	if (EC_POINT_mul(g, q, d, NULL, NULL, NULL) != 1 ||
	    EC_KEY_set_private_key(k, d) != 1 ||
	    EC_KEY_set_public_key(k, q) != 1)
		abort();
	BN_free(d);
	EC_POINT_free(q);
	return k;
}

/* The handle and the application make the key. */
static void
seed_of(const uint8_t *handle, const char *application, uint8_t *seed)
{
	uint8_t both[HANDLE_LEN + HASH_LEN];

	memcpy(both, handle, HANDLE_LEN);
	hash(application, strlen(application), both + HANDLE_LEN);
	hash(both, sizeof both, seed);
}

static void
put_key(uint32_t alg, const uint8_t *handle, const char *application,
    struct sk_enroll_response *e)
{
	uint8_t seed[HASH_LEN], public[65];
	size_t len = sizeof public;

	seed_of(handle, application, seed);
	if (alg == 0) {
		EC_KEY *k = ecdsa_of(seed);

		len = EC_POINT_point2oct(EC_KEY_get0_group(k),
		    EC_KEY_get0_public_key(k), POINT_CONVERSION_UNCOMPRESSED,
		    public, sizeof public, NULL);
		EC_KEY_free(k);
	} else {
		EVP_PKEY *k = ed25519_of(seed);

		EVP_PKEY_get_raw_public_key(k, public, &len);
		EVP_PKEY_free(k);
	}
	if (is_set("short"))
		len = 5;
	e->public_key = duplicate(public, len);
	e->public_key_len = len;
	e->key_handle = duplicate(handle, HANDLE_LEN);
	e->key_handle_len = HANDLE_LEN;
}

/* ---- the interface ------------------------------------------------------- */

OFFERED uint32_t sk_api_version(void);
OFFERED int sk_enroll(uint32_t, const uint8_t *, size_t, const char *,
    uint8_t, const char *, struct sk_option **, struct sk_enroll_response **);
OFFERED int sk_sign(uint32_t, const uint8_t *, size_t, const char *,
    const uint8_t *, size_t, uint8_t, const char *, struct sk_option **,
    struct sk_sign_response **);
OFFERED int sk_load_resident_keys(const char *, struct sk_option **,
    struct sk_resident_key ***, size_t *);

uint32_t
sk_api_version(void)
{
	return is_set("old") ? 0x00090000 : SK_API_MAJOR;
}

int
sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len,
    const char *application, uint8_t flags, const char *pin,
    struct sk_option **options, struct sk_enroll_response **response)
{
	uint8_t handle[HANDLE_LEN];
	struct sk_enroll_response *e;
	int r = behave(pin, options);

	if (r != 0)
		return r;
	if (is_set("exists") && (flags & FORCE) == 0)
		return -5;
	if (is_set("empty"))
		return 0;
	e = calloc(1, sizeof *e);
	hash(challenge, challenge_len, handle);
	e->flags = flags & (uint8_t)~FORCE;
	put_key(alg, handle, application, e);
	e->signature = duplicate("signature", 9);
	e->signature_len = 9;
	e->attestation_cert = duplicate("certificate", 11);
	e->attestation_cert_len = 11;
	e->authdata = duplicate("data", 4);
	e->authdata_len = 4;
	*response = e;
	return 0;
}

static void
sign_ecdsa(const uint8_t *seed, const uint8_t *p, size_t len,
    struct sk_sign_response *s)
{
	uint8_t digest[HASH_LEN], number[64];
	EC_KEY *k = ecdsa_of(seed);
	ECDSA_SIG *sig;

	hash(p, len, digest);
	sig = ECDSA_do_sign(digest, sizeof digest, k);
	s->sig_r_len = (size_t)BN_bn2bin(ECDSA_SIG_get0_r(sig), number);
	s->sig_r = duplicate(number, s->sig_r_len);
	s->sig_s_len = (size_t)BN_bn2bin(ECDSA_SIG_get0_s(sig), number);
	s->sig_s = duplicate(number, s->sig_s_len);
	ECDSA_SIG_free(sig);
	EC_KEY_free(k);
}

static void
sign_ed25519(const uint8_t *seed, const uint8_t *p, size_t len,
    struct sk_sign_response *s)
{
	uint8_t sig[64];
	size_t sig_len = sizeof sig;
	EVP_PKEY *k = ed25519_of(seed);
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (EVP_DigestSignInit(c, NULL, NULL, NULL, k) != 1 ||
	    EVP_DigestSign(c, sig, &sig_len, p, len) != 1)
		abort();
	s->sig_r = duplicate(sig, sig_len);
	s->sig_r_len = sig_len;
	EVP_MD_CTX_free(c);
	EVP_PKEY_free(k);
}

int
sk_sign(uint32_t alg, const uint8_t *data, size_t data_len,
    const char *application, const uint8_t *key_handle,
    size_t key_handle_len, uint8_t flags, const char *pin,
    struct sk_option **options, struct sk_sign_response **response)
{
	uint8_t seed[HASH_LEN], text[HASH_LEN + 5 + HASH_LEN];
	struct sk_sign_response *s;
	int r = behave(pin, options);

	if (r != 0)
		return r;
	if (key_handle_len != HANDLE_LEN)
		return -1;
	if ((flags & PIN_FLAG) != 0 && pin == NULL)
		return -3;
	if (is_set("empty"))
		return 0;
	s = calloc(1, sizeof *s);
	s->flags = (flags & 1) != 0 && !is_set("untouched") ? 1 : 0;
	if (pin != NULL)
		s->flags |= PIN_FLAG;
	s->counter = 0x01020304;
	hash(application, strlen(application), text);
	text[HASH_LEN] = s->flags;
	memcpy(text + HASH_LEN + 1, "\1\2\3\4", 4);
	hash(data, is_set("liar") ? data_len / 2 : data_len,
	    text + HASH_LEN + 5);
	seed_of(key_handle, application, seed);
	if (alg == 0)
		sign_ecdsa(seed, text, sizeof text, s);
	else
		sign_ed25519(seed, text, sizeof text, s);
	if (is_set("huge"))
		s->sig_r_len = 1 << 30;
	*response = s;
	return 0;
}

static struct sk_resident_key *
resident(uint32_t alg, const char *application, const char *user)
{
	struct sk_resident_key *k = calloc(1, sizeof *k);
	uint8_t handle[HANDLE_LEN], id[32] = { 0 };

	hash(user, strlen(user), handle);
	memcpy(id, user, strlen(user));
	k->alg = alg;
	k->application = strdup(application);
	k->flags = 0x21;
	k->key.flags = k->flags;
	k->user_id = duplicate(id, sizeof id);
	k->user_id_len = sizeof id;
	put_key(alg, handle, application, &k->key);
	return k;
}

int
sk_load_resident_keys(const char *pin, struct sk_option **options,
    struct sk_resident_key ***keys, size_t *n)
{
	int r = behave(pin, options);

	if (r != 0)
		return r;
	*n = 0;
	if (is_set("empty"))
		return 0;
	if (is_set("huge")) {
		*n = 1 << 30;
		return 0;
	}
	*keys = calloc(4, sizeof **keys);
	if (is_set("hostile"))
		(*keys)[(*n)++] = resident(1, "ssh:\033[2J", "alice");
	if (is_set("two")) {
		(*keys)[(*n)++] = resident(1, "ssh:", "");
		(*keys)[(*n)++] = resident(0, "ssh:two", "alice");
	}
	return 0;
}
