/* SPDX-License-Identifier: ISC */
/*
 * The names and properties of ciphers, without their code: so a program that
 * only reads a configuration contains no cipher, and needs no library for one.
 */
#include "cipher.h"

#include <string.h>

#include "base/mem.h"
#include "compat/cpu.h"

/* One row a cipher: name, bytes of key, IV, block and tag, needs a MAC, its
 * kind, weak. */
static const struct cipher_alg algs[] = {
	{ "chacha20-poly1305@openssh.com", 64, 0, 8, 16, false,
	    CIPHER_CHACHAPOLY, false },
	{ "aes128-gcm@openssh.com", 16, 12, 16, 16, false, CIPHER_AES128_GCM,
	    false },
	{ "aes256-gcm@openssh.com", 32, 12, 16, 16, false, CIPHER_AES256_GCM,
	    false },
	{ "aes128-ctr", 16, 16, 16, 0, true, CIPHER_AES128_CTR,
	    false },
	{ "aes192-ctr", 24, 16, 16, 0, true, CIPHER_AES192_CTR,
	    false },
	{ "aes256-ctr", 32, 16, 16, 0, true, CIPHER_AES256_CTR,
	    false },
	/* For old devices, only where they are configured. */
	{ "aes128-cbc", 16, 16, 16, 0, true, CIPHER_AES128_CBC, true },
	{ "aes192-cbc", 24, 16, 16, 0, true, CIPHER_AES192_CBC, true },
	{ "aes256-cbc", 32, 16, 16, 0, true, CIPHER_AES256_CBC, true },
	{ "3des-cbc", 24, 8, 8, 0, true, CIPHER_DES3_CBC, true },
};

/* The cipher "none" cannot be named in a list of ciphers; only NoneEnabled and
 * NoneSwitch bring it in. */
static const struct cipher_alg none = { "none", 0, 0, 8, 0, true,
	CIPHER_NONE, false };

bool
cipher_is_none(const struct cipher_alg *alg)
{
	return alg == &none;
}

const struct cipher_alg *
cipher_by_name(const char *name)
{
	if (strcmp(name, none.name) == 0)
		return &none;
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		if (strcmp(name, algs[i].name) == 0)
			return &algs[i];
	}
	return NULL;
}

const struct cipher_alg *
cipher_at(size_t index)
{
	return index < ARRAY_LEN(algs) ? &algs[index] : NULL;
}

/* The order depends on the CPU: without AES instructions AES is slow, and leaks
 * through cache timing. */
const char *
cipher_default_list(void)
{
	static const char gcm_first[] =
	    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
	    "chacha20-poly1305@openssh.com,"
	    "aes128-ctr,aes192-ctr,aes256-ctr";
	static const char chacha_first[] =
	    "chacha20-poly1305@openssh.com,"
	    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
	    "aes128-ctr,aes192-ctr,aes256-ctr";

	return cpu_has_aes_gcm() ? gcm_first : chacha_first;
}
