/* SPDX-License-Identifier: ISC */
/*
 * The interface of the libraries for security keys (FIDO) that providers offer,
 * in its version 10. Libraries of others are compiled with it, so that the
 * layout of these structures cannot be changed.
 *
 * Each member of what a function returns was allocated by malloc(3) and is the
 * caller's. The arguments stay the caller's.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_API_H
#define HPN_TOKENS_SK_SK_API_H

#include <stddef.h>
#include <stdint.h>

/* The version of the interface: the high half of the result of
 * sk_api_version(). */
#define SK_API_MAJOR 0x000a0000U
#define SK_API_MAJOR_MASK 0xffff0000U

/* Results of the functions: 0, or one of these. */
enum {
	SK_API_FAILED = -1,
	SK_API_UNSUPPORTED = -2,
	SK_API_NEEDS_PIN = -3,
	SK_API_NO_DEVICE = -4,
	SK_API_HAS_KEY = -5,
};

struct sk_option {
	char *name;
	char *value;
	uint8_t required; /* a library that does not know the option fails */
};

struct sk_enroll_response {
	uint8_t flags;
	uint8_t *public_key; /* Ed25519: 32 bytes; ECDSA: a point of 65 bytes */
	size_t public_key_len;
	uint8_t *key_handle;
	size_t key_handle_len;
	uint8_t *signature;
	size_t signature_len;
	uint8_t *attestation_cert;
	size_t attestation_cert_len;
	uint8_t *authdata;
	size_t authdata_len;
};

struct sk_sign_response {
	uint8_t flags;
	uint32_t counter;
	uint8_t *sig_r; /* for Ed25519 the whole signature */
	size_t sig_r_len;
	uint8_t *sig_s;
	size_t sig_s_len;
};

struct sk_resident_key {
	uint32_t alg;
	size_t slot;
	char *application;
	struct sk_enroll_response key;
	uint8_t flags;
	uint8_t *user_id;
	size_t user_id_len;
};

/* The functions of a library. The list options ends with NULL; options may be
 * NULL itself. */
typedef int (*sk_enroll_fn)(uint32_t alg, const uint8_t *challenge,
    size_t challenge_len, const char *application, uint8_t flags,
    const char *pin, struct sk_option **options,
    struct sk_enroll_response **response);
typedef int (*sk_sign_fn)(uint32_t alg, const uint8_t *data, size_t data_len,
    const char *application, const uint8_t *key_handle,
    size_t key_handle_len, uint8_t flags, const char *pin,
    struct sk_option **options, struct sk_sign_response **response);
typedef int (*sk_load_fn)(const char *pin, struct sk_option **options,
    struct sk_resident_key ***keys, size_t *n);

/* The functions of a loaded library, or of the built-in provider. */
struct sk_api {
	sk_enroll_fn enroll;
	sk_sign_fn sign;
	sk_load_fn load;
};

#endif
