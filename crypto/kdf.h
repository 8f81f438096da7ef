/* SPDX-License-Identifier: ISC */
/*
 * Key derivation: bcrypt_pbkdf of the openssh-key-v1 format (Blowfish based
 * PBKDF with SHA-512).
 *
 * Threads: any.
 */
#ifndef HPN_CRYPTO_KDF_H
#define HPN_CRYPTO_KDF_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

int kdf_bcrypt(const void *pass, size_t pass_len, const uint8_t *salt,
    size_t salt_len, uint32_t rounds, uint8_t *out, size_t out_len) must_check;

#endif
