/* SPDX-License-Identifier: ISC */
/*
 * The interface of libraries that providers of security keys (FIDO) bring,
 * version 10 of it: the layout of what goes over it is not ours to change.
 *
 * What a function returns was allocated by malloc(3), member by member, and is
 * the caller's; the arguments stay the caller's.
 *
 * Threads: one.
 */
#ifndef HPN_TOKENS_SK_SK_API_H
#define HPN_TOKENS_SK_SK_API_H

#include <stddef.h>
#include <stdint.h>

/* The high half of what sk_api_version() returns. */
#define SK_API_MAJOR 0x000a0000U
#define SK_API_MAJOR_MASK 0xffff0000U

/* What the functions return: 0 or one of these. */
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
	uint8_t required; /* who does not know the name fails */
};

struct sk_enroll_response {
	uint8_t flags;
	uint8_t *public_key; /* 32 bytes, or a point of 65 */
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
	uint8_t *sig_r; /* Ed25519: all of the signature */
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

/* options: ends with NULL; may be NULL. */
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

/* A library that was loaded, or what is built in. */
struct sk_api {
	sk_enroll_fn enroll;
	sk_sign_fn sign;
	sk_load_fn load;
};

#endif
