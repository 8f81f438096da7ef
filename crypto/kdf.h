/* SPDX-License-Identifier: ISC */
/*
 * Key derivation of the openssh-key-v1 format: bcrypt_pbkdf, a PBKDF made of
 * Blowfish and SHA-512. ERR_ARGUMENT: pass or salt is empty, the salt has more
 * than 1 MiB, rounds is 0, or out_len is 0 or more than 1024.
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
