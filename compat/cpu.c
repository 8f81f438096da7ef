/* SPDX-License-Identifier: ISC */
#include "compat/cpu.h"

#if defined(__x86_64__) || defined(__i386__)

bool
cpu_has_aes_gcm(void)
{
	return __builtin_cpu_supports("aes") &&
	    __builtin_cpu_supports("pclmul");
}

bool
cpu_has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

#else

#if defined(__linux__)
#include <sys/auxv.h>
#endif

bool
cpu_has_aes_gcm(void)
{
#if defined(__linux__) && defined(__aarch64__)
	enum { AES = 1 << 3, PMULL = 1 << 4 }; /* bits of AT_HWCAP */
	unsigned long caps = getauxval(AT_HWCAP);

	return (caps & AES) != 0 && (caps & PMULL) != 0;
#elif defined(__linux__) && defined(__powerpc64__)
	enum { VECTOR_CRYPTO = 1 << 25 }; /* bit of AT_HWCAP2: POWER8 */

	return (getauxval(AT_HWCAP2) & VECTOR_CRYPTO) != 0;
#elif defined(__s390x__) || (defined(__APPLE__) && defined(__aarch64__))
	return true;
#else
	return false;
#endif
}

bool
cpu_has_avx2(void)
{
	return false;
}

#endif
